"""`cloudconsole profile`: list, show, select, add and remove profiles."""

import argparse
import os
from operator import attrgetter
from pathlib import Path
from typing import Final

from cloudconsole.cli import messages, output
from cloudconsole.cli.argument_parser import Parser, add_completion
from cloudconsole.cli.config import OutputSettings, Profile, Profiles, output_settings, read_profiles
from cloudconsole.cli.errors import EXIT_OK, CommandError, UsageError, print_error
from cloudconsole.cli.flags import add_account_flags, add_output_flags, profile_names
from cloudconsole.cli.i18n import FLAG, LANGUAGES, translate
from cloudconsole.cli.output import Field, Table
from cloudconsole.cli.passwords import STANDARD_INPUT
from cloudconsole.cli.paths import PREFIX, profiles_file
from cloudconsole.cli.profile_edits import add_profile, remove_profile, set_default

_VERBS: Final = ("list", "show", "use", "add", "remove")
_ACCOUNT: Final = ("url", "region", "project", "username", "password_file", "ca_file")


def add_arguments(parser: Parser) -> None:
    parser.add_argument("verb", metavar="VERB", choices=_VERBS, help=translate(messages.PROFILE_VERB_ARGUMENT))
    name = parser.add_argument("name", metavar="NAME", nargs="?", help=translate(messages.PROFILE_NAME_ARGUMENT))
    add_completion(name, profile_names)
    add_account_flags(parser.add_argument_group(translate(messages.PROFILE_OPTIONS)))
    add_output_flags(parser, messages.PROFILE_OUTPUT_FLAG)
    parser.add_argument(FLAG, choices=LANGUAGES, help=translate(messages.PROFILE_LANG_FLAG))


def run(arguments: argparse.Namespace) -> int:
    try:
        _run(arguments, profiles_file())
    except CommandError as problem:
        print_error(str(problem))
        return problem.exit_code
    return EXIT_OK


def _run(arguments: argparse.Namespace, file: Path) -> None:
    profiles, name = read_profiles(file), arguments.name
    if arguments.verb != "add" and any(getattr(arguments, key) is not None for key in _ACCOUNT):
        raise UsageError(translate(messages.ONLY_WITH_ADD))
    if arguments.verb not in ("list", "show") and (arguments.query or arguments.columns):
        raise UsageError(translate(messages.ONLY_TO_SHOW))
    if arguments.verb == "list":
        if name is not None:
            raise UsageError(translate(messages.UNEXPECTED_ARGUMENT, given=name))
        _list(profiles, output_settings(arguments, None))
    elif arguments.verb == "show":
        _show(profiles.get(name or _selected(profiles)), output_settings(arguments, None))
    elif name is None:
        raise UsageError(translate(messages.PROFILE_NAME_REQUIRED))
    else:
        _change(arguments, profiles, name)


def _change(arguments: argparse.Namespace, profiles: Profiles, name: str) -> None:
    file = profiles.file
    if arguments.verb == "add":
        if name in profiles.named:
            raise UsageError(translate(messages.PROFILE_EXISTS, name=name, file=file))
        add_profile(file, _valid_name(name), _values(arguments))
        done = messages.PROFILE_ADDED
    elif arguments.verb == "use":
        set_default(file, profiles.get(name).name)
        done = messages.PROFILE_USED
    else:
        was_default = remove_profile(file, profiles.get(name).name)
        done = messages.DEFAULT_PROFILE_REMOVED if was_default else messages.PROFILE_REMOVED
    output.print_line(translate(done, name=name, file=file))


def _valid_name(name: str) -> str:
    if not name.strip() or not name.isprintable():
        raise UsageError(translate(messages.INVALID_PROFILE_NAME))
    return name


def _values(arguments: argparse.Namespace) -> dict[str, str]:
    if arguments.url is None:
        raise UsageError(translate(messages.PROFILE_NEEDS_URL))
    if arguments.password_file == STANDARD_INPUT:
        raise UsageError(translate(messages.PROFILE_NEEDS_PASSWORD_FILE))
    if arguments.password_file is not None and arguments.username is None:
        raise UsageError(translate(messages.PASSWORD_FILE_NEEDS_USERNAME))
    given = {key: getattr(arguments, key) for key in (*_ACCOUNT, "output")} | {"language": arguments.lang}
    # In the file, relative paths start at its directory.
    return {
        key: str(value.absolute()) if isinstance(value, Path) else value
        for key, value in given.items()
        if value is not None
    }


def _selected(profiles: Profiles) -> str:
    name = os.environ.get(f"{PREFIX}PROFILE") or profiles.default
    if name is None:
        raise UsageError(translate(messages.NO_PROFILE_SELECTED))
    return name


def _list(profiles: Profiles, settings: OutputSettings) -> None:
    def is_default(profile: Profile) -> bool:
        return profile.name == profiles.default

    fields = [
        Field("name", translate(messages.PROFILE_NAME), attrgetter("name")),
        Field("default", None, is_default),
        Field(
            None,
            translate(messages.PROFILE_DEFAULT),
            lambda profile: translate(messages.YES) if is_default(profile) else "",
        ),
        *(Field(key, translate(text), attrgetter(key)) for key, text in messages.PROFILE_COLUMNS.items()),
    ]
    records = list(profiles.named.values())
    data = [{field.name: field.value(profile) for field in fields if field.name} for profile in records]
    output.show(settings, lambda: data, lambda: Table(fields, records))


def _show(profile: Profile, settings: OutputSettings) -> None:
    fields = [Field(key, key, attrgetter(key)) for key in Profile._fields]
    data = {key: str(value) if isinstance(value, Path) else value for key, value in profile._asdict().items()}
    output.show(settings, lambda: data, lambda: Table(fields, [profile], is_record=True))
