"""Configuration of the tenant commands: flags, environment variables and profiles in the XDG directories."""

import argparse
import os
import re
import stat
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from cloudconsole.cli import messages
from cloudconsole.cli.account_selection import Account, Source, choose_account
from cloudconsole.cli.errors import UsageError, system_error
from cloudconsole.cli.i18n import LANGUAGES, set_language, translate
from cloudconsole.cli.passwords import in_file, in_variable, reject_untrusted
from cloudconsole.cli.paths import PREFIX, profiles_file
from cloudconsole.spec.console_url import normalise_base_url
from cloudconsole.spec.i18n import Text

if TYPE_CHECKING:
    from cloudconsole.cli.query import Query

TABLE_OUTPUTS: Final = ("table", "csv", "markdown")
DATA_OUTPUTS: Final = ("json", "yaml")
OUTPUTS: Final = ("table", "json", "yaml", "csv", "markdown")
_TABLE: Final = "profiles"


class Profile(NamedTuple):
    name: str
    url: str | None = None
    region: str | None = None
    project: str | None = None
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
            text = messages.UNKNOWN_PROFILE if self.named else messages.NO_PROFILES
            raise UsageError(translate(text, name=name, file=self.file, known=", ".join(self.named))) from None


class _InvalidValue(Exception):
    """A value in the profiles file is invalid."""

    def __init__(self, text: Text, **values: object) -> None:
        super().__init__(translate(text, **values))


def read_profiles(file: Path) -> Profiles:
    """Read the profiles and report all problems at once; a missing file has no profiles."""
    return check_profiles(file, *load_toml(file))


def check_profiles(file: Path, text: str, content: Mapping[str, Any]) -> Profiles:
    content = dict(content)
    problems: list[str] = []

    def report(path: tuple[str, ...], reason: object) -> None:
        line = _line_of(text, path)
        location = f"{file}:{line}" if line else str(file)
        problems.append(f"{location}: {'.'.join(path)}: {reason}")

    tables = content.pop(_TABLE, {})
    default = content.pop("default", None)
    for key in content:
        report((key,), translate(messages.UNKNOWN_KEY, known="default, [profiles.NAME]"))
    if not isinstance(tables, dict):
        report((_TABLE,), translate(messages.MUST_BE_TABLES))
        tables = {}
    named: dict[str, Profile] = {}
    for name, table in tables.items():
        if not isinstance(table, dict):
            report((_TABLE, name), translate(messages.MUST_BE_TABLES))
            continue
        values = {}
        for key in table:
            try:
                values[key] = _read(key, table, file.parent)
            except _InvalidValue as reason:
                report((_TABLE, name, key), reason)
        named[name] = Profile(name, **{key: value for key, value in values.items() if key in _KEYS})
    if default is not None and (not isinstance(default, str) or default not in tables):
        report(("default",), translate(messages.UNKNOWN_DEFAULT, known=", ".join(tables) or "-"))
    if problems:
        raise UsageError("\n".join(problems))
    return Profiles(file, named, default)


def load_toml(file: Path) -> tuple[str, dict[str, Any]]:
    try:
        # Do not block on a pipe.
        with os.fdopen(os.open(file, os.O_RDONLY | os.O_NONBLOCK), encoding="utf-8-sig") as opened:
            if not stat.S_ISREG(os.fstat(opened.fileno()).st_mode):
                raise UsageError(translate(messages.NOT_A_FILE, file=file))
            reject_untrusted(file, opened.fileno())
            text = opened.read()
        return text, tomllib.loads(text)
    except (FileNotFoundError, NotADirectoryError):
        return "", {}
    except OSError as problem:
        raise UsageError(f"{file}: {system_error(problem)}") from None
    except UnicodeDecodeError:
        raise UsageError(translate(messages.NOT_UTF8, file=file)) from None
    except (ValueError, RecursionError) as problem:
        raise UsageError(translate(messages.NOT_TOML, file=file, problem=problem)) from None


def _read(key: str, table: Mapping[str, Any], directory: Path) -> Any:
    value = table[key]
    if key == "password":
        raise _InvalidValue(messages.PASSWORD_NOT_ALLOWED)
    if key not in _KEYS:
        raise _InvalidValue(messages.UNKNOWN_KEY, known=", ".join(_KEYS))
    if not isinstance(value, str) or not value.strip() or "\0" in value:
        raise _InvalidValue(messages.MUST_BE_TEXT)
    if key == "password_file" and not {"url", "username"} <= table.keys():
        # Otherwise it would be sent to any URL that a flag names.
        raise _InvalidValue(messages.PASSWORD_NEEDS_ACCOUNT)
    return _KEYS[key](value, directory)


def _url(value: str, _: Path) -> str:
    try:
        return normalise_base_url(value)
    except ValueError:
        raise _InvalidValue(messages.MUST_BE_URL) from None


def _text(value: str, _: Path) -> str:
    return value


def _path(value: str, directory: Path) -> Path:
    try:
        return directory / Path(value).expanduser()
    except RuntimeError:
        raise _InvalidValue(messages.NO_HOME_DIRECTORY) from None


def _one_of(choices: tuple[str, ...]) -> Callable[[str, Path], str]:
    def read(value: str, _: Path) -> str:
        if value not in choices:
            raise _InvalidValue(messages.MUST_BE_ONE_OF, choices=", ".join(choices))
        return value

    return read


_KEYS: Final[dict[str, Callable[[str, Path], Any]]] = {
    "url": _url,
    "region": _text,
    "project": _text,
    "username": _text,
    "password_file": _path,
    "ca_file": _path,
    "output": _one_of(OUTPUTS),
    "language": _one_of(LANGUAGES),
}


def _line_of(text: str, path: tuple[str, ...]) -> int | None:
    """Find the line number of a key or table, if written in one of the usual ways."""
    *table, key = path
    pattern = re.compile(rf"""\s*["']?{re.escape(key)}["']?\s*=""")
    for number, (inside, line) in enumerate(_lines(text), 1):
        if (inside == table and pattern.match(line)) or (inside == list(path) and line.lstrip().startswith("[")):
            return number
    return None


def _lines(text: str) -> Iterator[tuple[list[str], str]]:
    """Yield each line with its enclosing table."""
    inside: list[str] = []
    for line in text.splitlines():
        if line.lstrip().startswith("["):
            inside = [part.strip(" \"'") for part in line.strip().strip("[]").split(".")]
        yield inside, line


VARIABLES: Final = frozenset(
    PREFIX + name for name in ("URL", "REGION", "PROJECT", "USERNAME", "PASSWORD", "PROFILE", "DEBUG")
)

ACCOUNT_ARGUMENTS: Final = (
    "profile",
    "url",
    "region",
    "project",
    "username",
    "password_file",
    "ca_file",
    "insecure",
    "timeout",
    "debug",
)
"""Arguments that `read_settings` uses besides the language and the output format."""


class OutputSettings(NamedTuple):
    output: str
    """One of OUTPUTS, or "value": text as it is, other data as JSON."""
    columns: Sequence[str] = ()
    """CSV columns to show; all if empty."""
    query: "Query | None" = None


class Settings(NamedTuple):
    account: Account
    profile: str | None
    output: OutputSettings
    ca_file: Path | None
    is_insecure: bool
    timeout: float | None
    is_debug: bool


def use_profile_language(arguments: argparse.Namespace) -> None:
    """Use the language of the selected profile, in commands that need nothing else of it and no valid profiles."""
    if not getattr(arguments, "lang", None):
        with suppress(UsageError):
            _use_language_of(_selected_profile(None, os.environ))


def _selected_profile(name: str | None, environment: Mapping[str, str]) -> Profile | None:
    profiles = read_profiles(profiles_file(environment))
    selected = name or environment.get(f"{PREFIX}PROFILE") or profiles.default
    return profiles.get(selected) if selected else None


def _use_language_of(profile: Profile | None) -> None:
    if profile is not None and profile.language:
        set_language(next(language for language in LANGUAGES if language == profile.language))


def read_settings(arguments: argparse.Namespace, environment: Mapping[str, str], last_login: Source | None) -> Settings:
    variables = {name: text for name, text in environment.items() if text}
    profile = _selected_profile(arguments.profile, variables)
    if not arguments.lang:
        _use_language_of(profile)
    sources = [_flags_source(arguments), _variables_source(variables), _openstack_source(variables)]
    if profile is not None:
        # It ranks directly after the source that selects it.
        rank = 1 if arguments.profile else 2 if f"{PREFIX}PROFILE" in variables else 3
        sources.insert(rank, _profile_source(profile))
    account = choose_account(sources, last_login)
    if profile is not None and profile.url not in (None, account.url):
        profile = None
    return Settings(
        account=account,
        profile=profile.name if profile else None,
        output=output_settings(arguments, profile.output if profile else None),
        ca_file=arguments.ca_file or (profile and profile.ca_file),
        is_insecure=bool(arguments.insecure),
        timeout=arguments.timeout,
        is_debug=bool(arguments.debug),
    )


def output_settings(arguments: argparse.Namespace, preferred: str | None) -> OutputSettings:
    given, columns, query = (getattr(arguments, name, None) for name in ("output", "columns", "query"))
    output = given or preferred
    if query:
        if given and given not in DATA_OUTPUTS:
            raise UsageError(translate(messages.QUERY_NEEDS_DATA))
        output = output if output in DATA_OUTPUTS else "value"
    elif columns:
        if given and given not in TABLE_OUTPUTS:
            raise UsageError(translate(messages.COLUMNS_NEED_TABLE))
        output = output if output in TABLE_OUTPUTS else "table"
    return OutputSettings(output or "table", columns or (), query)


def _flags_source(arguments: argparse.Namespace) -> Source:
    return Source(
        translate(messages.COMMAND_LINE),
        arguments.url,
        arguments.region,
        arguments.username,
        in_file("--password-file", arguments.password_file),
        is_command_line=True,
        project=arguments.project,
    )


def _variables_source(environment: Mapping[str, str]) -> Source:
    url = environment.get(f"{PREFIX}URL")
    try:
        clean = normalise_base_url(url) if url else None
    except ValueError:
        raise UsageError(f"{PREFIX}URL: {translate(messages.MUST_BE_URL)}") from None
    region, username = environment.get(f"{PREFIX}REGION"), environment.get(f"{PREFIX}USERNAME")
    password = in_variable(f"{PREFIX}PASSWORD", environment.get(f"{PREFIX}PASSWORD"))
    return Source(f"{PREFIX}…", clean, region, username, password, project=environment.get(f"{PREFIX}PROJECT"))


def _openstack_source(environment: Mapping[str, str]) -> Source:
    region, username, secret = environment.get("OS_AUTH_URL"), environment.get("OS_USERNAME"), "OS_PASSWORD"
    project = environment.get("OS_PROJECT_ID") or environment.get("OS_PROJECT_NAME")
    if credential := environment.get("OS_APPLICATION_CREDENTIAL_ID"):
        username, secret = f"application_credential:{credential}", "OS_APPLICATION_CREDENTIAL_SECRET"
        # It belongs to one project.
        project = None
    password = in_variable(secret, environment.get(secret))
    return Source("OS_…", None, region, username, password, is_foreign=True, project=project)


def _profile_source(profile: Profile) -> Source:
    password = in_file(f"password_file ({profile.name})", profile.password_file)
    return Source(
        translate(messages.NAMED_PROFILE, name=profile.name),
        profile.url,
        profile.region,
        profile.username,
        password,
        project=profile.project,
    )
