"""Password prompts; warn of passwords on the command line."""

import argparse
import getpass
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

from cloudconsole.core.resources import Role
from cloudconsole.operator.errors import OperatorError
from cloudconsole.operator.password_policy import LONGEST, PasswordPolicy, is_acceptable_password, read_password_file

_LINE_BYTES: Final = 4 * LONGEST + 3


def add_password_arguments(parser: argparse.ArgumentParser) -> None:
    sources = parser.add_mutually_exclusive_group()
    sources.add_argument(
        "--password-stdin", action="store_true", help="read the password from standard input (one line)"
    )
    sources.add_argument("--password-file", metavar="FILE", type=Path, help="read the password from a file")


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
        raise OperatorError("no terminal for the password prompt: pass --password-stdin or --password-file")
    return prompt()


def _from_file(file: Path) -> str:
    try:
        return read_password_file(file)
    except ValueError as problem:
        raise OperatorError(f"{file} {problem}") from None


def _from_standard_input() -> str:
    try:
        line = sys.stdin.buffer.readline(_LINE_BYTES).decode("utf-8")
    except UnicodeDecodeError:
        raise OperatorError("the password on standard input must be UTF-8 text") from None
    return line.removesuffix("\n").removesuffix("\r")


def _prompt_once() -> str:
    try:
        password = getpass.getpass("Password: ")
        password.encode()
    except (EOFError, UnicodeError):
        raise OperatorError("no password given") from None
    return password


def _prompt_twice(checked: Callable[[str], str]) -> str:
    try:
        password = checked(getpass.getpass("New password: "))
        password.encode()
        again = getpass.getpass("Repeat password: ")
    except (EOFError, UnicodeError):
        raise OperatorError("no password given") from None
    if again != password:
        raise OperatorError("passwords do not match")
    return password


def _check_length(password: str) -> str:
    if not is_acceptable_password(password):
        raise OperatorError(f"a password must have 1 to {LONGEST} characters")
    return password


def warn_password_in_arguments(database: str | None) -> None:
    """Warn on standard error without failing: the password is already exposed."""
    if database is None or not _has_password(database):
        return
    sys.stderr.write(
        "cloudconsole: other users of this machine can see a password on the command line: use a password file, "
        "CLOUDCONSOLE_DATABASE or PGPASSFILE instead\n"
    )


def _has_password(database: str) -> bool:
    try:
        from cloudconsole.store.postgres.dsn import holds_password

        return holds_password(database)
    except (ImportError, ValueError):
        # Parsing the setting reports this.
        return False
