"""Profiles: consoles and accounts by name, in a TOML file of the user."""

import os
import re
import stat
import tomllib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from cloudconsole.cli import texts
from cloudconsole.cli.file_trust import reject_untrusted
from cloudconsole.cli.problems import UsageProblem
from cloudconsole.cli.speaking import LANGUAGES, say
from cloudconsole.spec.i18n import Text
from cloudconsole.spec.urls import clean_address

OUTPUTS: Final = ("table", "json", "csv")
_TABLE: Final = "profiles"


class Profile(NamedTuple):
    name: str
    url: str | None = None
    region: str | None = None
    username: str | None = None
    password_file: Path | None = None
    ca_file: Path | None = None
    output: str | None = None
    language: str | None = None


class Profiles(NamedTuple):
    file: Path
    named: Mapping[str, Profile] = {}
    default: str | None = None

    def get(self, name: str) -> Profile:
        try:
            return self.named[name]
        except KeyError:
            known = ", ".join(self.named) or "-"
            raise UsageProblem(say(texts.NO_SUCH_PROFILE, name=name, file=self.file, known=known)) from None


class Wrong(Exception):
    """A value cannot be used; says why."""

    def __init__(self, text: Text, **values: object) -> None:
        super().__init__(say(text, **values))


def read_profiles(file: Path) -> Profiles:
    """What the file says; all that is wrong with it is told at once. None are a file that is not there."""
    text, content = _content(file)
    problems: list[str] = []

    def wrong(path: tuple[str, ...], reason: object) -> None:
        line = _line_of(text, path)
        place = f"{file}:{line}" if line else str(file)
        problems.append(f"{place}: {'.'.join(path)}: {reason}")

    tables = content.pop(_TABLE, {})
    default = content.pop("default", None)
    for key in content:
        wrong((key,), say(texts.NO_SUCH_KEY, known="default, [profiles.NAME]"))
    if not isinstance(tables, dict):
        wrong((_TABLE,), say(texts.MUST_BE_TABLES))
        tables = {}
    named: dict[str, Profile] = {}
    for name, table in tables.items():
        if not isinstance(table, dict):
            wrong((_TABLE, name), say(texts.MUST_BE_TABLES))
            continue
        values = {}
        for key in table:
            try:
                values[key] = _read(key, table, file.parent)
            except Wrong as reason:
                wrong((_TABLE, name, key), reason)
        named[name] = Profile(name, **{key: value for key, value in values.items() if key in _KEYS})
    if default is not None and (not isinstance(default, str) or default not in tables):
        wrong(("default",), say(texts.NO_SUCH_DEFAULT, known=", ".join(tables) or "-"))
    if problems:
        raise UsageProblem("\n".join(problems))
    return Profiles(file, named, default)


def _content(file: Path) -> tuple[str, dict[str, Any]]:
    try:
        # A pipe is not waited for.
        with os.fdopen(os.open(file, os.O_RDONLY | os.O_NONBLOCK), encoding="utf-8-sig") as opened:
            kind = os.fstat(opened.fileno()).st_mode
            if not stat.S_ISREG(kind):
                raise UsageProblem(say(texts.NOT_A_FILE, file=file))
            reject_untrusted(file, opened.fileno())
            text = opened.read()
        return text, tomllib.loads(text)
    except (FileNotFoundError, NotADirectoryError):
        return "", {}
    except OSError as problem:
        raise UsageProblem(f"{file}: {problem.strerror}") from None
    except UnicodeDecodeError:
        raise UsageProblem(say(texts.NOT_UTF8, file=file)) from None
    except (ValueError, RecursionError) as problem:
        raise UsageProblem(say(texts.NOT_TOML, file=file, problem=problem)) from None


def _read(key: str, table: Mapping[str, Any], folder: Path) -> Any:
    value = table[key]
    if key == "password":
        raise Wrong(texts.NO_PASSWORD_HERE)
    if key not in _KEYS:
        raise Wrong(texts.NO_SUCH_KEY, known=", ".join(_KEYS))
    if not isinstance(value, str) or not value.strip() or "\0" in value:
        raise Wrong(texts.MUST_BE_TEXT)
    if key == "password_file" and not {"url", "username"} <= table.keys():
        # It would go to whatever address a flag names.
        raise Wrong(texts.PASSWORD_FOR_WHOM)
    return _KEYS[key](value, folder)


def _url(value: str, _: Path) -> str:
    try:
        return clean_address(value)
    except ValueError:
        raise Wrong(texts.MUST_BE_ADDRESS) from None


def _text(value: str, _: Path) -> str:
    return value


def _path(value: str, folder: Path) -> Path:
    try:
        return folder / Path(value).expanduser()
    except RuntimeError:
        raise Wrong(texts.NO_SUCH_HOME) from None


def _one_of(choices: tuple[str, ...]) -> Callable[[str, Path], str]:
    def read(value: str, _: Path) -> str:
        if value not in choices:
            raise Wrong(texts.MUST_BE_ONE_OF, choices=", ".join(choices))
        return value

    return read


_KEYS: Final[dict[str, Callable[[str, Path], Any]]] = {
    "url": _url,
    "region": _text,
    "username": _text,
    "password_file": _path,
    "ca_file": _path,
    "output": _one_of(OUTPUTS),
    "language": _one_of(LANGUAGES),
}


def _line_of(text: str, path: tuple[str, ...]) -> int | None:
    """The line on which something stands, where it is written in one of the usual ways."""
    *table, key = path
    found = re.compile(rf"""\s*["']?{re.escape(key)}["']?\s*=""")
    for number, (inside, line) in enumerate(_lines(text), 1):
        if (inside == table and found.match(line)) or (inside == list(path) and line.lstrip().startswith("[")):
            return number
    return None


def _lines(text: str) -> Iterator[tuple[list[str], str]]:
    """Each line with the table that it stands in."""
    inside: list[str] = []
    for line in text.splitlines():
        if line.lstrip().startswith("["):
            inside = [part.strip(" \"'") for part in line.strip().strip("[]").split(".")]
        yield inside, line
