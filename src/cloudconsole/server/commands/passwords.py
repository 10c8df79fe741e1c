"""Password prompts; warn of passwords on the command line."""

import argparse
import getpass
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

from cloudconsole.cli.i18n import translate
from cloudconsole.core.resources import Role
from cloudconsole.operator.errors import OperatorError
from cloudconsole.operator.password_policy import LONGEST, PasswordPolicy, is_acceptable_password, read_password_file
from cloudconsole.server.commands import messages
from cloudconsole.server.commands.i18n import localized

_LINE_BYTES: Final = 4 * LONGEST + 3


def add_password_arguments(parser: argparse.ArgumentParser) -> None:
    sources = parser.add_mutually_exclusive_group()
    sources.add_argument("--password-stdin", action="store_true", help=translate(messages.PASSWORD_STDIN_FLAG))
    sources.add_argument("--password-file", metavar="FILE", type=Path, help=translate(messages.PASSWORD_FILE_FLAG))


def read_new_password(arguments: argparse.Namespace, policy: PasswordPolicy, role: Role) -> str:
    """Read a password for an account of this role and check it against the policy."""

    def checked(password: str) -> str:
        if problem := policy.problem(password, role):
            raise OperatorError(problem)
        return password

    # At a terminal the policy is checked before the confirmation prompt.
    return checked(_read(arguments, lambda: _prompt_twice(checked)))


def read_password(arguments: argparse.Namespace) -> str:
    """Read an existing password."""
    return _check_length(_read(arguments, _prompt_once))


def _read(arguments: argparse.Namespace, prompt: Callable[[], str]) -> str:
    if arguments.password_file is not None:
        return _from_file(arguments.password_file)
    if arguments.password_stdin:
        return _from_standard_input()
    if not sys.stdin.isatty():
        raise OperatorError(translate(messages.NO_TERMINAL))
    return prompt()


def _from_file(file: Path) -> str:
    try:
        return read_password_file(file)
    except ValueError as problem:
        raise OperatorError(f"{file} {localized(problem.args[0])}") from None


def _from_standard_input() -> str:
    try:
        line = sys.stdin.buffer.readline(_LINE_BYTES).decode("utf-8")
    except UnicodeDecodeError:
        raise OperatorError(translate(messages.STDIN_NOT_UTF8)) from None
    return line.removesuffix("\n").removesuffix("\r")


def _prompt_once() -> str:
    try:
        password = getpass.getpass(translate(messages.PASSWORD_PROMPT))
        password.encode()
    except (EOFError, UnicodeError):
        raise OperatorError(translate(messages.NO_PASSWORD)) from None
    return password


def _prompt_twice(checked: Callable[[str], str]) -> str:
    try:
        password = checked(getpass.getpass(translate(messages.NEW_PASSWORD_PROMPT)))
        password.encode()
        again = getpass.getpass(translate(messages.REPEAT_PASSWORD_PROMPT))
    except (EOFError, UnicodeError):
        raise OperatorError(translate(messages.NO_PASSWORD)) from None
    if again != password:
        raise OperatorError(translate(messages.PASSWORDS_DIFFER))
    return password


def _check_length(password: str) -> str:
    if not is_acceptable_password(password):
        raise OperatorError(translate(messages.PASSWORD_LENGTH, longest=LONGEST))
    return password


def warn_password_in_arguments(database: str | None) -> None:
    """Warn on standard error without failing: the password is already exposed."""
    if database is None or not _has_password(database):
        return
    sys.stderr.write(f"cloudconsole: {translate(messages.PASSWORD_IN_ARGUMENTS)}\n")


def _has_password(database: str) -> bool:
    try:
        from cloudconsole.store.postgres.dsn import holds_password

        return holds_password(database)
    except (ImportError, ValueError):
        # Parsing the setting reports this.
        return False
