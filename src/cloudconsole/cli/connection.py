"""Connection of a command to a console: session, login, and a deadline that holds whatever the server does."""

import argparse
import os
import signal
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from types import TracebackType
from typing import Final, Self, TypeVar

import httpx2

from cloudconsole.cli import messages, passwords, session_store
from cloudconsole.cli.account import Account, Source
from cloudconsole.cli.config import OF_SETTINGS, read_settings
from cloudconsole.cli.errors import CommandError, UsageError, print_error
from cloudconsole.cli.i18n import current_language, translate
from cloudconsole.cli.paths import sessions_file
from cloudconsole.client import (
    ConnectionFailed,
    Console,
    ConsoleError,
    CsrfFailed,
    InvalidCredentials,
    LoginRequired,
    Session,
)
from cloudconsole.spec.constants import is_utf8_encodable
from cloudconsole.spec.text import LONG_LENGTH, escape_and_truncate

_AGAIN: Final = 0.25
"""Seconds until it rings again: what rings may be taken for a lost connection, and be tried once more."""

_GRACE: Final = 0.25
"""So much longer, since whoever keeps the time by itself says better what went wrong."""


@contextmanager
def deadline(seconds: float, failure: Callable[[], Exception]) -> Iterator[None]:
    """Within, the failure is raised after so many seconds."""
    if threading.current_thread() is not threading.main_thread():
        # Only there signals are heard.
        yield
        return

    def ring(*_: object) -> None:
        raise failure()

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds + _GRACE, _AGAIN)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@contextmanager
def deadline_paused() -> Iterator[None]:
    """Within, no time is counted: somebody types, or some vault is asked."""
    left, _ = signal.setitimer(signal.ITIMER_REAL, 0)
    try:
        yield
    finally:
        if left:
            signal.setitimer(signal.ITIMER_REAL, left, _AGAIN)


T = TypeVar("T")

TIMEOUT: Final = 10.0
DEADLINE: Final = 30.0


class Connection:
    """One call of the command line: its settings, the console, and the session that is kept for the next call."""

    def __init__(self, arguments: argparse.Namespace) -> None:
        self._sessions_file = sessions_file()
        self._kept = self._read_kept()
        self.settings = read_settings(arguments, os.environ, _source(self._kept.last_login))
        account = self.settings.account
        self.url, self.region = account.url, account.region
        self.username = account.username
        self.ca_file = self.settings.ca_file or self._kept.ca_file_for(self.url)
        given = account.password
        # What is to be typed is asked for before a call, as where none is given.
        self._password = None if given is None or given.is_typed else _unbounded(given.read)
        self.session: Session | None = None
        """The kept one, as it was found."""
        self.may_ask = passwords.can_ask()
        self.deadline = self.settings.timeout or DEADLINE
        self._console: Console | None = None
        self._is_proven = True

    @property
    def console(self) -> Console:
        if self._console is None:
            if self.username is None:
                self.username = self._ask_username()
            self.session = self._kept.find(self.url, self.username, self.region)
            self._console = self._open(self._password, self.session)
        return self._console

    def do(self, work: Callable[[Console], T]) -> T:
        """Do something with the console; who is to be logged in for it is asked for a password where none is given."""
        if self.console.session is None and self._password is None:
            self._ask_password()
        try:
            with self.bounded():
                return work(self.console)
        except LoginRequired:
            if self._password is not None:
                raise
        self._ask_password()
        with self.bounded():
            return work(self.console)

    def bounded(self) -> AbstractContextManager[None]:
        """Within, what is done with the console takes no longer than the call may."""
        in_time = f"cannot reach {self.url}: it did not answer in time"
        return deadline(self.deadline, lambda: ConnectionFailed(in_time))

    def without_password(self) -> Console:
        """The console with nothing but the session that was kept."""
        self.session = self._kept.find(self.url, self.username, self.region)
        self._console = self._open(None, self.session)
        return self._console

    def login(self) -> None:
        """Log in anew, and prove it: there are consoles that take any login, and say so only to the next call."""
        if self._password is None:
            self._ask_password()
        self._is_proven = False
        with self.bounded():
            self.console.login()
            try:
                self.console.urls()
            except (InvalidCredentials, LoginRequired, CsrfFailed, ConnectionFailed):
                raise
            except ConsoleError:
                # It has faults, but not of the login.
                pass
        self._is_proven = True

    def save_session(self, *, is_login: bool = False) -> None:
        """Keep the session for later calls, where it is another than the one that was found."""
        session = self._console.session if self._console else None
        if session is not None and (is_login or _values(session) != _values(self.session)):
            ca_file = self.ca_file.absolute() if self.ca_file and not self.settings.is_insecure else None
            session_store.save_session(self._sessions_file, session, is_login=is_login, ca_file=ca_file)
            self.session = session

    def delete_session(self) -> None:
        if self.session is not None:
            session_store.delete_session(self._sessions_file, self.session)
            self.session = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if self._is_proven and not isinstance(error, CommandError):
                self.save_session()
        except CommandError as problem:
            # What was asked for is done, or its failure is told; the next call logs in again.
            print_error(str(problem))
        if self._console is not None:
            self._console.close()

    def _read_kept(self) -> session_store.SavedSessions:
        try:
            return session_store.load_sessions(self._sessions_file)
        except CommandError as problem:
            print_error(str(problem))
            return session_store.SavedSessions()

    def _open(self, password: str | Callable[[], str] | None, session: Session | None) -> Console:
        verify = self._trust()
        try:
            httpx2.URL(f"{self.url}/")
        except httpx2.InvalidURL:
            raise UsageError(f"{escape_and_truncate(self.url)}: {translate(messages.MUST_BE_ADDRESS)}") from None
        if not all(map(is_utf8_encodable, filter(None, (self.username, self.region)))):
            raise UsageError(translate(messages.NOT_UTF8_GIVEN))
        try:
            return Console(
                self.url,
                region=self.region,
                username=self.username,
                password=password,
                session=session,
                timeout=self.settings.timeout or TIMEOUT,
                deadline=self.deadline,
                language=current_language(),
                verify=verify,
            )
        except httpx2.InvalidURL:
            # Its own address has been looked at already.
            raise UsageError(translate(messages.NOT_A_PROXY)) from None
        except ValueError as problem:
            raise UsageError(f"{translate(messages.NOT_A_PROXY)}: {problem}") from None
        except OSError as problem:
            raise UsageError(translate(messages.NO_TRUST, why=problem.strerror)) from None
        except ImportError as problem:
            # Such as for a proxy that speaks SOCKS.
            raise UsageError(str(problem)) from None

    def _trust(self) -> ssl.SSLContext | bool:
        file = self.ca_file
        if self.settings.is_insecure or file is None:
            return not self.settings.is_insecure
        try:
            return ssl.create_default_context(cafile=file)
        except ssl.SSLError:
            raise UsageError(translate(messages.NOT_A_CERTIFICATE, file=file)) from None
        except OSError as problem:
            if os.access(file, os.R_OK):
                raise UsageError(translate(messages.NO_TRUST, why=problem.strerror)) from None
            raise UsageError(f"{file}: {problem.strerror}") from None

    def _ask_username(self) -> str:
        if not self.may_ask:
            raise UsageError(translate(messages.NO_USERNAME))
        return passwords.ask_username(self.url)

    def _ask_password(self) -> None:
        """Before the call, not in it: whoever types is not to be held to the call's deadline."""
        if not self.may_ask:
            raise UsageError(self._no_password())
        # A console that cannot be reached, or does not know where to log in, is told of before anything is typed.
        with self.bounded():
            regions = self.console.about().regions
        if self.region is None and len(regions) != 1:
            raise UsageError(
                translate(messages.REGION_NEEDED, regions=escape_and_truncate(", ".join(regions) or "-", LONG_LENGTH))
            )
        password = passwords.ask_password(self.username or "", self.url)
        session = self.console.session
        self.console.close()
        self._console = self._open(password, session)

    def _no_password(self) -> str:
        line = translate(messages.NO_PASSWORD, username=self.username, url=self.url)
        passed_over = self.settings.account.passed_over
        return line + (translate(messages.PASSED_OVER, places=", ".join(passed_over)) if passed_over else "")


def later_account(session: Session) -> Account | None:
    """Whom a command without flags means after this login; None where that cannot be said."""
    try:
        bare = argparse.Namespace(**dict.fromkeys(OF_SETTINGS), lang=current_language())
        return read_settings(bare, os.environ, _source(session_store.owner(session))).account
    except UsageError:
        return None


def _source(owner: session_store.Owner | None) -> Source | None:
    return Source(translate(messages.LAST_LOGIN), owner[0], owner[2], owner[1]) if owner else None


def _unbounded(read: Callable[[], str]) -> Callable[[], str]:
    def read_in_peace() -> str:
        with deadline_paused():
            return read()

    return read_in_peace


def _values(session: Session | None) -> set[tuple[str, str]]:
    """What makes a session another one: not that a cookie may be kept longer."""
    return {(cookie.name, cookie.value) for cookie in session.cookies} if session else set()
