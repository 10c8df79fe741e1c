"""The flags that every command of a tenant takes."""

import argparse
import math
from pathlib import Path
from typing import Any, Final

from cloudconsole.cli import texts
from cloudconsole.cli.completion.words import completed_by
from cloudconsole.cli.places import profiles_file
from cloudconsole.cli.problems import UsageProblem
from cloudconsole.cli.profiles import OUTPUTS, read_profiles
from cloudconsole.cli.speaking import FLAG, LANGUAGES, say
from cloudconsole.spec.urls import clean_address

LEAST_INTERVAL: Final = 0.5


def add_call_flags(parser: argparse.ArgumentParser, *, with_output: bool = True) -> None:
    group = parser.add_argument_group(say(texts.OF_THE_CALL))

    def add(flag: str, metavar: str, help_text: Any, **options: Any) -> argparse.Action:
        return group.add_argument(flag, metavar=metavar, help=say(help_text), **options)

    completed_by(add("--profile", "NAME", texts.PROFILE_FLAG), _profile_names)
    add("--url", "URL", texts.URL_FLAG, type=_url)
    add("--region", "ADDRESS", texts.REGION_FLAG)
    add("--username", "NAME", texts.USERNAME_FLAG)
    add("--password-file", "FILE", texts.PASSWORD_FILE_FLAG, type=Path)
    add("--ca-file", "FILE", texts.CA_FILE_FLAG, type=Path)
    group.add_argument("--insecure", action="store_true", help=say(texts.INSECURE_FLAG))
    add("--timeout", "SECONDS", texts.TIMEOUT_FLAG, type=seconds)
    if with_output:
        group.add_argument("--output", choices=OUTPUTS, help=say(texts.OUTPUT_FLAG))
    group.add_argument(FLAG, choices=LANGUAGES, help=say(texts.LANG_FLAG))
    group.add_argument("-v", "--verbose", action="store_true", help=say(texts.VERBOSE_FLAG))


def seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 < value <= 86_400:
        raise argparse.ArgumentTypeError(say(texts.MUST_BE_SECONDS))
    return value


def interval(text: str) -> float:
    value = seconds(text)
    if value < LEAST_INTERVAL:
        raise argparse.ArgumentTypeError(say(texts.MUST_BE_INTERVAL, least=LEAST_INTERVAL))
    return value


def whole_number(text: str) -> int:
    if not text.isascii() or not text.isdecimal() or not 1 <= len(text) <= 9 or int(text) == 0:
        raise argparse.ArgumentTypeError(say(texts.MUST_BE_WHOLE))
    return int(text)


def _url(text: str) -> str:
    try:
        return clean_address(text)
    except ValueError:
        raise argparse.ArgumentTypeError(say(texts.MUST_BE_ADDRESS)) from None


def _profile_names() -> list[str]:
    try:
        return list(read_profiles(profiles_file()).named)
    except UsageProblem:
        return []
