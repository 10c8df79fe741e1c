"""Changes of the profiles file: lines are added, replaced or removed, and all others stay as they are."""

import fcntl
import json
import os
import re
import stat
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

from cloudconsole.cli import messages
from cloudconsole.cli.config import check_profiles, load_toml
from cloudconsole.cli.errors import CommandError, UsageError, system_error
from cloudconsole.cli.i18n import translate

_DEFAULT: Final = re.compile(r"""\s*(?:default|"default"|'default')\s*=""")
_BARE: Final = re.compile(r"[A-Za-z0-9_-]+")
_PRIVATE: Final = 0o600


def add_profile(file: Path, name: str, values: Mapping[str, str]) -> None:
    with _locked(file):
        text, content = load_toml(file)
        lines = [*_lines(text), *([""] if text else []), f"[profiles.{name if _BARE.fullmatch(name) else _toml(name)}]"]
        lines += [f"{key} = {_toml(value)}" for key, value in values.items()]
        _write(file, lines, content | {"profiles": {**content.get("profiles", {}), name: dict(values)}})


def remove_profile(file: Path, name: str) -> bool:
    """Remove a profile; return whether it was the default one, which is then none."""
    with _locked(file):
        text, content = load_toml(file)
        is_default = content.get("default") == name
        gone = {"profiles", "default"} if is_default else {"profiles"}
        lines = _without_table(_lines(text), name)
        remaining = {key: table for key, table in content.get("profiles", {}).items() if key != name}
        expected = {key: value for key, value in content.items() if key not in gone}
        if is_default:
            lines = _with_default(lines, None)
        _write(file, lines, expected | ({"profiles": remaining} if remaining else {}))
    return is_default


def set_default(file: Path, name: str) -> None:
    with _locked(file):
        text, content = load_toml(file)
        _write(file, _with_default(_lines(text), name), content | {"default": name})


@contextmanager
def _locked(file: Path) -> Iterator[None]:
    """Let one command at a time read and replace the file."""
    directory = None
    try:
        parent = file.resolve().parent
        parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        directory = os.open(parent, os.O_RDONLY | os.O_DIRECTORY)
        fcntl.flock(directory, fcntl.LOCK_EX)
        yield
    except OSError as problem:
        raise CommandError(f"{file}: {system_error(problem)}") from None
    finally:
        if directory is not None:
            os.close(directory)


def _lines(text: str) -> list[str]:
    return text.removesuffix("\n").split("\n") if text else []


def _with_default(lines: list[str], name: str | None) -> list[str]:
    line = [] if name is None else [f"default = {_toml(name)}"]
    for number, old in enumerate(lines):
        if old.lstrip().startswith("["):
            break
        if _DEFAULT.match(old):
            return [*lines[:number], *line, *lines[number + 1 :]]
    return [*line, *([""] if lines and lines[0] else []), *lines]


def _without_table(lines: list[str], name: str) -> list[str]:
    """Remove a table, but not the comment above the next one."""
    kept: list[str] = []
    comment: list[str] = []
    is_inside = False
    for line in lines:
        if line.lstrip().startswith("["):
            if is_inside:
                kept += comment
            is_inside, comment = _is_header_of(line, name), []
        if not is_inside:
            kept.append(line)
        elif line.lstrip().startswith("#"):
            comment.append(line)
        else:
            comment = []
    return kept


def _is_header_of(line: str, name: str) -> bool:
    try:
        return tomllib.loads(line) == {"profiles": {name: {}}}
    except tomllib.TOMLDecodeError:
        return False


def _toml(value: str) -> str:
    return json.dumps(value, ensure_ascii=False)


def _write(file: Path, lines: list[str], expected: dict[str, Any]) -> None:
    """Replace the file atomically, if the lines mean what is expected and are valid."""
    text = "\n".join(lines).strip("\n") + "\n"
    try:
        if tomllib.loads(text) != expected:
            raise UsageError(translate(messages.CANNOT_EDIT, file=file))
    except tomllib.TOMLDecodeError:
        raise UsageError(translate(messages.CANNOT_EDIT, file=file)) from None
    check_profiles(file, text, expected)
    # A link, as into a repository of such files, stays one.
    target = file.resolve()
    mode = stat.S_IMODE(target.stat().st_mode) if target.exists() else _PRIVATE
    new = target.with_name(f".{target.name}.new")
    with suppress(FileNotFoundError):
        new.unlink()
    with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _PRIVATE), "w", encoding="utf-8") as opened:
        opened.write(text)
        os.fchmod(opened.fileno(), mode)
    new.replace(target)
