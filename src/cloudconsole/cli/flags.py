"""Flags shared by all tenant commands."""

import argparse
import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from cloudconsole.cli import messages
from cloudconsole.cli.argument_parser import Parser, add_completion
from cloudconsole.cli.config import OUTPUTS, read_profiles
from cloudconsole.cli.errors import UsageError
from cloudconsole.cli.i18n import FLAG, LANGUAGES, translate
from cloudconsole.cli.paths import profiles_file
from cloudconsole.spec.console_url import normalise_base_url
from cloudconsole.spec.i18n import Text

if TYPE_CHECKING:
    from cloudconsole.cli.query import Query

MIN_INTERVAL: Final = 0.5


def add_connection_flags(
    parser: argparse.ArgumentParser, *, outputs: Sequence[str] = OUTPUTS, with_language: bool = True
) -> None:
    """Add the options of all commands that call a console; `outputs` are the formats that this one has."""
    group = parser.add_argument_group(translate(messages.CONNECTION_OPTIONS))

    profile = group.add_argument("--profile", metavar="NAME", help=translate(messages.PROFILE_FLAG))
    add_completion(profile, profile_names)
    add_account_flags(group)
    group.add_argument("--insecure", action="store_true", help=translate(messages.INSECURE_FLAG))
    group.add_argument("--timeout", metavar="SECONDS", type=seconds, help=translate(messages.TIMEOUT_FLAG))
    if outputs:
        add_output_flags(group, messages.OUTPUT_FLAG, outputs)
    if with_language:
        group.add_argument(FLAG, choices=LANGUAGES, help=translate(messages.LANG_FLAG))
    group.add_argument("-v", "--verbose", action="store_true", help=translate(messages.VERBOSE_FLAG))
    group.add_argument("--debug", action="store_true", help=translate(messages.DEBUG_FLAG))


def add_output_flags(group: argparse._ActionsContainer, output_help: Text, outputs: Sequence[str] = OUTPUTS) -> None:
    group.add_argument("-o", "--output", choices=outputs, help=translate(output_help))
    selection = group.add_mutually_exclusive_group()
    selection.add_argument("--query", metavar="EXPRESSION", type=_query, help=translate(messages.QUERY_FLAG))
    if "table" in outputs:
        selection.add_argument("--columns", metavar="NAMES", type=_columns, help=translate(messages.COLUMNS_FLAG))


def add_account_flags(group: argparse._ArgumentGroup) -> None:
    """Add the options that say which console and account to use, as a profile can."""

    def add(flag: str, metavar: str, help_text: Text, **options: Any) -> None:
        group.add_argument(flag, metavar=metavar, help=translate(help_text), **options)

    add("--url", "URL", messages.URL_FLAG, type=_url)
    add("--region", "URL", messages.REGION_FLAG)
    add("--project", "NAME", messages.PROJECT_FLAG)
    add("--username", "NAME", messages.USERNAME_FLAG)
    add("--password-file", "FILE", messages.PASSWORD_FILE_FLAG, type=Path)
    add("--ca-file", "FILE", messages.CA_FILE_FLAG, type=Path)


def split_leading_options(words: Sequence[str]) -> tuple[list[list[str]], list[str]]:
    """Split off the connection options before the command, each with its value."""
    parser = Parser(add_help=False)
    add_connection_flags(parser)
    options, rest = [], list(words)
    while rest and rest[0].startswith("-"):
        flag, equals, _ = rest[0].partition("=")
        option = parser._option_string_actions.get(flag)
        if option is None:
            # A short option may have its value attached.
            option, equals = parser._option_string_actions.get(flag[:2]), flag[2:]
            if option is None or flag.startswith("--"):
                break
        length = 1 if option.nargs == 0 or equals else 2
        options.append(rest[:length])
        del rest[:length]
    return options, rest


def seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 < value <= 86_400:
        raise argparse.ArgumentTypeError(translate(messages.MUST_BE_SECONDS))
    return value


def interval(text: str) -> float:
    value = seconds(text)
    if value < MIN_INTERVAL:
        raise argparse.ArgumentTypeError(translate(messages.MUST_BE_INTERVAL, least=MIN_INTERVAL))
    return value


def whole_number(text: str) -> int:
    if not text.isascii() or not text.isdecimal() or not 1 <= len(text) <= 9 or int(text) == 0:
        raise argparse.ArgumentTypeError(translate(messages.MUST_BE_INTEGER))
    return int(text)


def _url(text: str) -> str:
    try:
        return normalise_base_url(text)
    except ValueError:
        raise argparse.ArgumentTypeError(translate(messages.MUST_BE_URL)) from None


def _query(text: str) -> "Query":
    # Imported late, for Tab and help.
    from cloudconsole.cli.query import Query

    return Query(text)


def _columns(text: str) -> list[str]:
    names = [name.strip() for name in text.split(",")]
    if not all(names):
        raise argparse.ArgumentTypeError(translate(messages.MUST_BE_COLUMNS))
    return names


def profile_names() -> list[str]:
    try:
        return list(read_profiles(profiles_file()).named)
    except UsageError:
        return []
