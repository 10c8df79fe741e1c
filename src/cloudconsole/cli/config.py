"""Configuration of the tenant commands: flags, environment variables and profiles in the XDG directories."""

import argparse
import os
import re
import stat
import tomllib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from cloudconsole.cli import messages
from cloudconsole.cli.account import Account, Source, choose_account
from cloudconsole.cli.errors import UsageError
from cloudconsole.cli.i18n import LANGUAGES, set_language, translate
from cloudconsole.cli.passwords import in_file, in_variable, reject_untrusted
from cloudconsole.cli.paths import PREFIX, profiles_file
from cloudconsole.spec.i18n import Text
from cloudconsole.spec.urls import normalise_base_url

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
            raise UsageError(translate(messages.NO_SUCH_PROFILE, name=name, file=self.file, known=known)) from None


class Wrong(Exception):
    """A value cannot be used; says why."""

    def __init__(self, text: Text, **values: object) -> None:
        super().__init__(translate(text, **values))


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
        wrong((key,), translate(messages.NO_SUCH_KEY, known="default, [profiles.NAME]"))
    if not isinstance(tables, dict):
        wrong((_TABLE,), translate(messages.MUST_BE_TABLES))
        tables = {}
    named: dict[str, Profile] = {}
    for name, table in tables.items():
        if not isinstance(table, dict):
            wrong((_TABLE, name), translate(messages.MUST_BE_TABLES))
            continue
        values = {}
        for key in table:
            try:
                values[key] = _read(key, table, file.parent)
            except Wrong as reason:
                wrong((_TABLE, name, key), reason)
        named[name] = Profile(name, **{key: value for key, value in values.items() if key in _KEYS})
    if default is not None and (not isinstance(default, str) or default not in tables):
        wrong(("default",), translate(messages.NO_SUCH_DEFAULT, known=", ".join(tables) or "-"))
    if problems:
        raise UsageError("\n".join(problems))
    return Profiles(file, named, default)


def _content(file: Path) -> tuple[str, dict[str, Any]]:
    try:
        # A pipe is not waited for.
        with os.fdopen(os.open(file, os.O_RDONLY | os.O_NONBLOCK), encoding="utf-8-sig") as opened:
            kind = os.fstat(opened.fileno()).st_mode
            if not stat.S_ISREG(kind):
                raise UsageError(translate(messages.NOT_A_FILE, file=file))
            reject_untrusted(file, opened.fileno())
            text = opened.read()
        return text, tomllib.loads(text)
    except (FileNotFoundError, NotADirectoryError):
        return "", {}
    except OSError as problem:
        raise UsageError(f"{file}: {problem.strerror}") from None
    except UnicodeDecodeError:
        raise UsageError(translate(messages.NOT_UTF8, file=file)) from None
    except (ValueError, RecursionError) as problem:
        raise UsageError(translate(messages.NOT_TOML, file=file, problem=problem)) from None


def _read(key: str, table: Mapping[str, Any], folder: Path) -> Any:
    value = table[key]
    if key == "password":
        raise Wrong(messages.NO_PASSWORD_HERE)
    if key not in _KEYS:
        raise Wrong(messages.NO_SUCH_KEY, known=", ".join(_KEYS))
    if not isinstance(value, str) or not value.strip() or "\0" in value:
        raise Wrong(messages.MUST_BE_TEXT)
    if key == "password_file" and not {"url", "username"} <= table.keys():
        # It would go to whatever address a flag names.
        raise Wrong(messages.PASSWORD_FOR_WHOM)
    return _KEYS[key](value, folder)


def _url(value: str, _: Path) -> str:
    try:
        return normalise_base_url(value)
    except ValueError:
        raise Wrong(messages.MUST_BE_ADDRESS) from None


def _text(value: str, _: Path) -> str:
    return value


def _path(value: str, folder: Path) -> Path:
    try:
        return folder / Path(value).expanduser()
    except RuntimeError:
        raise Wrong(messages.NO_SUCH_HOME) from None


def _one_of(choices: tuple[str, ...]) -> Callable[[str, Path], str]:
    def read(value: str, _: Path) -> str:
        if value not in choices:
            raise Wrong(messages.MUST_BE_ONE_OF, choices=", ".join(choices))
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


VARIABLES: Final = frozenset(PREFIX + name for name in ("URL", "REGION", "USERNAME", "PASSWORD", "PROFILE", "DEBUG"))

OF_SETTINGS: Final = ("profile", "url", "region", "username", "password_file", "ca_file", "insecure", "timeout")
"""What is read of the arguments besides the language and the form of output."""


class Settings(NamedTuple):
    account: Account
    profile: str | None
    output: str
    ca_file: Path | None
    is_insecure: bool
    timeout: float | None


def read_settings(arguments: argparse.Namespace, environment: Mapping[str, str], last_login: Source | None) -> Settings:
    set_here = {name: text for name, text in environment.items() if text}
    profiles = read_profiles(profiles_file(environment))
    name = arguments.profile or set_here.get(f"{PREFIX}PROFILE") or profiles.default
    profile = profiles.get(name) if name else None
    if profile is not None and profile.language and not arguments.lang:
        set_language(next(language for language in LANGUAGES if language == profile.language))
    places = [_of_flags(arguments), _of_variables(set_here), _of_openstack(set_here)]
    if profile is not None:
        # Where it is named is how much it is meant.
        place = 1 if arguments.profile else 2 if f"{PREFIX}PROFILE" in set_here else 3
        places.insert(place, _of_profile(profile))
    account = choose_account(places, last_login)
    if profile is not None and profile.url not in (None, account.url):
        profile = None
    return Settings(
        account=account,
        profile=profile.name if profile else None,
        output=getattr(arguments, "output", None) or (profile and profile.output) or "table",
        ca_file=arguments.ca_file or (profile and profile.ca_file),
        is_insecure=bool(arguments.insecure),
        timeout=arguments.timeout,
    )


def _of_flags(arguments: argparse.Namespace) -> Source:
    return Source(
        translate(messages.A_FLAG),
        arguments.url,
        arguments.region,
        arguments.username,
        in_file("--password-file", arguments.password_file),
        is_by_hand=True,
    )


def _of_variables(environment: Mapping[str, str]) -> Source:
    url = environment.get(f"{PREFIX}URL")
    try:
        clean = normalise_base_url(url) if url else None
    except ValueError:
        raise UsageError(f"{PREFIX}URL: {translate(messages.MUST_BE_ADDRESS)}") from None
    region, username = environment.get(f"{PREFIX}REGION"), environment.get(f"{PREFIX}USERNAME")
    password = in_variable(f"{PREFIX}PASSWORD", environment.get(f"{PREFIX}PASSWORD"))
    return Source(f"{PREFIX}…", clean, region, username, password)


def _of_openstack(environment: Mapping[str, str]) -> Source:
    password = in_variable("OS_PASSWORD", environment.get("OS_PASSWORD"))
    region, username = environment.get("OS_AUTH_URL"), environment.get("OS_USERNAME")
    return Source("OS_…", None, region, username, password, is_of_others=True)


def _of_profile(profile: Profile) -> Source:
    password = in_file(f"password_file ({profile.name})", profile.password_file)
    return Source(
        translate(messages.A_PROFILE, name=profile.name), profile.url, profile.region, profile.username, password
    )
