"""Password prompts; warn of passwords on the command line."""

import argparse
import getpass
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

from cloudconsole.core.resources import Role
from cloudconsole.operator.errors import OperatorError
from cloudconsole.operator.parsing import LONGEST, PasswordPolicy, is_acceptable_password, read_password_file

_LINE_BYTES: Final = 4 * LONGEST + 3


def add_password_arguments(parser: argparse.ArgumentParser) -> None:
    sources = parser.add_mutually_exclusive_group()
    sources.add_argument(
        "--password-stdin", action="store_true", help="read the password, one line, from standard input"
    )
    sources.add_argument("--password-file", metavar="FILE", type=Path, help="read the password from a file")


def read_new_password(arguments: argparse.Namespace, policy: PasswordPolicy, role: Role) -> str:
    """Read a password for an account of this role, and hold it to the policy."""

    def checked(password: str) -> str:
        if problem := policy.problem(password, role):
            raise OperatorError(problem)
        return password

    # Asked for at a terminal, it is checked before it is asked for again.
    return checked(_read(arguments, lambda: _asked_twice(checked)))


def read_password(arguments: argparse.Namespace) -> str:
    """One that somebody has already."""
    return _fit(_read(arguments, _asked_once))


def _read(arguments: argparse.Namespace, asked: Callable[[], str]) -> str:
    if arguments.password_file is not None:
        return _from_file(arguments.password_file)
    if arguments.password_stdin:
        return _from_standard_input()
    if not sys.stdin.isatty():
        raise OperatorError("there is no terminal to ask for the password: give --password-stdin or --password-file")
    return asked()


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


def _asked_once() -> str:
    try:
        password = getpass.getpass("Password: ")
        password.encode()
    except (EOFError, UnicodeError):
        raise OperatorError("no password was given") from None
    return password


def _asked_twice(checked: Callable[[str], str]) -> str:
    try:
        password = checked(getpass.getpass("New password: "))
        password.encode()
        again = getpass.getpass("The same again: ")
    except (EOFError, UnicodeError):
        raise OperatorError("no password was given") from None
    if again != password:
        raise OperatorError("the two passwords differ")
    return password


def _fit(password: str) -> str:
    if not is_acceptable_password(password):
        raise OperatorError(f"a password has 1 to {LONGEST} characters")
    return password


def warn_password_in_arguments(database: str | None) -> None:
    """Say so on standard error; the command goes on, since the password has been seen by then."""
    if database is None or not _has_password(database):
        return
    sys.stderr.write(
        "cloudconsole: everyone on this machine sees the password among the arguments: give it by a password file, "
        "CLOUDCONSOLE_DATABASE or PGPASSFILE instead\n"
    )


def _has_password(database: str) -> bool:
    try:
        from cloudconsole.store.postgres.dsn import holds_password

        return holds_password(database)
    except (ImportError, ValueError):
        # It is refused for that.
        return False
