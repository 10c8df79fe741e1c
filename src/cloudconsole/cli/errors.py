"""Why a command is not done, in lines for people, and the exit code that tells programs."""

import sys
from typing import Final

from cloudconsole.spec.text import escape

EXIT_OK: Final = 0
EXIT_FAILED: Final = 1
EXIT_USAGE: Final = 2
EXIT_NOT_CONNECTED: Final = 3


class CommandError(Exception):
    """The service, or this machine, does not do it."""

    exit_code = EXIT_FAILED


class UsageError(CommandError):
    """What the call was given cannot be used; each line of the text says one thing."""

    exit_code = EXIT_USAGE


def print_error(text: str) -> None:
    """Say it on standard error, each line with our name; what is in it does not control a terminal."""
    sys.stderr.writelines(f"cloudconsole: {escape(line)}\n" for line in text.split("\n"))
