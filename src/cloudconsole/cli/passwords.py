"""Passwords from a terminal, a file, standard input or the environment; files that others can change are rejected."""

import getpass
import os
import shlex
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple

from cloudconsole.cli import messages
from cloudconsole.cli.errors import UsageError, print_error, system_error
from cloudconsole.cli.i18n import translate
from cloudconsole.spec.file_trust import distrust
from cloudconsole.spec.text_escaping import escape, is_utf8_encodable


def reject_untrusted(file: Path, descriptor: int) -> None:
    """Reject a regular file that a user other than this one and root can write."""
    found, name = distrust(os.fstat(descriptor), trusts_group=False), shlex.quote(str(file))
    if found == "owner":
        raise UsageError(translate(messages.OWNED_BY_ANOTHER, file=file, command=f"chown {os.geteuid()} {name}"))
    if found == "mode":
        raise UsageError(translate(messages.WRITABLE_BY_OTHERS, file=file, command=f"chmod go-w {name}"))


STANDARD_INPUT: Final = Path("-")
_MAX_BYTES: Final = 8192


class PasswordSource(NamedTuple):
    """Source of a password; read only when a login needs it."""

    place: str
    """The flag, variable or key that names it."""
    read: Callable[[], str]
    is_typed: bool = False
    """Whether the user types it, so it must not be echoed."""


def in_variable(variable: str, password: str | None) -> PasswordSource | None:
    return PasswordSource(variable, lambda: _text(password)) if password else None


def _text(password: str) -> str:
    if not is_utf8_encodable(password):
        raise UsageError(translate(messages.ARGUMENT_NOT_UTF8))
    return password


def in_file(place: str, file: Path | None) -> PasswordSource | None:
    if file is None:
        return None
    return PasswordSource(place, lambda: _read_file(place, file), is_typed=file == STANDARD_INPUT and can_ask())


def _read_file(place: str, file: Path) -> str:
    """Return the content without its final line break."""
    try:
        if file == STANDARD_INPUT:
            content = sys.stdin.buffer.read(_MAX_BYTES)
        else:
            with file.open("rb") as opened:
                reject_untrusted(file, opened.fileno())
                content = opened.read(_MAX_BYTES)
                _warn_if_readable(file, opened.fileno())
        password = content.decode().removesuffix("\n").removesuffix("\r")
    except OSError as problem:
        raise UsageError(f"{place}: {file}: {system_error(problem)}") from None
    except UnicodeDecodeError:
        raise UsageError(translate(messages.PASSWORD_NOT_UTF8, place=place, file=file)) from None
    if not password or "\n" in password or len(content) == _MAX_BYTES:
        raise UsageError(translate(messages.INVALID_PASSWORD_FILE, place=place, file=file))
    return password


def _warn_if_readable(file: Path, descriptor: int) -> None:
    status = os.fstat(descriptor)
    if stat.S_ISREG(status.st_mode) and status.st_mode & stat.S_IROTH:
        command = f"chmod o-r {shlex.quote(str(file))}"
        print_error(translate(messages.READABLE_BY_OTHERS, file=file, command=command))


def can_ask() -> bool:
    return sys.stdin is not None and sys.stdin.isatty()


def ask_url() -> str:
    url = _ask(translate(messages.URL_PROMPT))
    if not url:
        raise UsageError(translate(messages.NO_CONSOLE))
    return url


def ask_username(url: str) -> str:
    username = _ask(translate(messages.USERNAME_PROMPT, url=url))
    if not username:
        raise UsageError(translate(messages.NO_USERNAME))
    return username


def ask_password(username: str, url: str) -> str:
    try:
        with _line_ended():
            password = getpass.getpass(escape(translate(messages.PASSWORD_PROMPT, username=username, url=url)))
        password.encode()
    except (EOFError, UnicodeError):
        password = ""
    if not password:
        raise UsageError(translate(messages.NO_PASSWORD_ENTERED))
    return password


def _ask(prompt: str) -> str:
    """Return a line typed after the prompt, empty if it is invalid."""
    try:
        with _line_ended():
            sys.stderr.write(escape(prompt))
            sys.stderr.flush()
            line = sys.stdin.readline()
            if not line:
                raise EOFError
            line.encode()
    except (EOFError, UnicodeError):
        return ""
    return line.strip()


@contextmanager
def _line_ended() -> Iterator[None]:
    """End the prompt's line after Ctrl-C and Ctrl-D, which leave it open."""
    try:
        yield
    except (EOFError, KeyboardInterrupt):
        sys.stderr.write("\n")
        raise
