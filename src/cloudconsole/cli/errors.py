"""Command errors, their exit codes, and error output."""

import sys
from typing import Final

from cloudconsole.cli import messages
from cloudconsole.cli.i18n import translate
from cloudconsole.spec.text_escaping import escape

EXIT_OK: Final = 0
EXIT_FAILED: Final = 1
EXIT_USAGE: Final = 2
EXIT_NOT_CONNECTED: Final = 3


class CommandError(Exception):
    """A command failed, at the console or locally."""

    exit_code = EXIT_FAILED


class UsageError(CommandError):
    """Arguments or configuration are invalid; each line of the message is one problem."""

    exit_code = EXIT_USAGE


def system_error(problem: OSError) -> str:
    """Return what the system says, in the current language if it is a common error of files."""
    text = problem.strerror or ""
    known = messages.FILE_ERRORS.get(text)
    return translate(known) if known else text


def print_error(text: str) -> None:
    """Print each line to standard error with the program's name, escaped for terminals."""
    sys.stderr.writelines(f"cloudconsole: {escape(line)}\n" for line in text.split("\n"))
