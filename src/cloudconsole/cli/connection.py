"""A command's connection to a console: session, login, and a deadline enforced whatever the server does."""

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
from cloudconsole.cli.account_selection import Account, NoConsole, Source
from cloudconsole.cli.config import ACCOUNT_ARGUMENTS, Settings, read_settings
from cloudconsole.cli.errors import CommandError, UsageError, print_error, system_error
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
from cloudconsole.spec.console_url import normalise_base_url
from cloudconsole.spec.text_escaping import LONG_LENGTH, escape_and_truncate, is_utf8_encodable

_ALARM_REPEAT: Final = 0.25
"""Seconds until the alarm repeats: the first may be taken for a lost connection and retried."""

_GRACE: Final = 0.25
"""Extra seconds: code with its own timeout reports the cause better."""


@contextmanager
def deadline(seconds: float, failure: Callable[[], Exception]) -> Iterator[None]:
    """Raise the failure if the block takes longer than this."""
    if threading.current_thread() is not threading.main_thread():
        # Signals are delivered to the main thread only.
        yield
        return

    def on_alarm(*_: object) -> None:
        raise failure()

    previous = signal.signal(signal.SIGALRM, on_alarm)
    signal.setitimer(signal.ITIMER_REAL, seconds + _GRACE, _ALARM_REPEAT)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)


@contextmanager
def deadline_paused() -> Iterator[None]:
    """Pause the deadline while the user types or a secret store is queried."""
    remaining, _ = signal.setitimer(signal.ITIMER_REAL, 0)
    try:
        yield
    finally:
        if remaining:
            signal.setitimer(signal.ITIMER_REAL, remaining, _ALARM_REPEAT)


T = TypeVar("T")

TIMEOUT: Final = 10.0
DEADLINE: Final = 30.0


class ConsoleSession:
    """One command invocation: its settings, console, and the session saved for the next one."""

    def __init__(self, arguments: argparse.Namespace) -> None:
        self._sessions_file = sessions_file()
        self._saved = self._load_saved()
        self.settings = self._read_settings(arguments)
        account = self.settings.account
        self.url, self.region, self.project = account.url, account.region, account.project
        self.username = account.username
        self.ca_file = self.settings.ca_file or self._saved.ca_file_for(self.url)
        given = account.password
        # A password to be typed is prompted for before the call, as if none were given.
        self._password = None if given is None or given.is_typed else _without_deadline(given.read)
        self._typed_password: str | None = None
        self.session: Session | None = None
        """The saved session, as loaded."""
        self.may_ask = passwords.can_ask()
        self.deadline = self.settings.timeout or DEADLINE
        self._console: Console | None = None
        self._is_verified = True

    @property
    def console(self) -> Console:
        if self._console is None:
            if self.username is None:
                self.username = self._ask_username()
            self.session = self._saved.find(self.url, self.username, self.region, self.project)
            self._console = self._open(self._password, self.session)
        return self._console

    def do(self, work: Callable[[Console], T]) -> T:
        """Run work with the console; prompt for a password if a login needs one."""
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
        """Return a context manager that enforces the call's deadline."""
        message = f"cannot reach {self.url}: no response in time"
        return deadline(self.deadline, lambda: ConnectionFailed(message))

    def limit_deadline(self, seconds: float) -> None:
        """Limit the following calls to this many seconds each."""
        self.deadline = min(self.deadline, seconds)
        self._reopen()

    def discover_region(self) -> str | None:
        """Return the region that a login uses if none is given: the console's only one."""
        with self.bounded():
            regions = self.console.about().regions
        return regions[0] if len(regions) == 1 else None

    def without_password(self) -> Console:
        """Open the console with only the saved session."""
        self.session = self._saved.find(self.url, self.username, self.region, self.project)
        self._console = self._open(None, self.session)
        return self._console

    def login(self) -> None:
        """Log in and verify it: some consoles accept any login and reject only the next call."""
        if self._password is None:
            self._ask_password()
        self._is_verified = False
        with self.bounded():
            self.console.login()
            try:
                self.console.urls()
            except (InvalidCredentials, LoginRequired, CsrfFailed, ConnectionFailed):
                raise
            except ConsoleError:
                # The console has problems, but not with the login.
                pass
        self._is_verified = True

    def save_session(self, *, is_login: bool = False) -> None:
        """Save the session for later calls if it differs from the loaded one."""
        session = self._console.session if self._console else None
        if session is not None and (is_login or _cookie_values(session) != _cookie_values(self.session)):
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
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        try:
            if self._is_verified and not isinstance(error, CommandError):
                self.save_session()
        except CommandError as problem:
            # The command itself is done, or its error is reported; the next call logs in again.
            print_error(str(problem))
        if self._console is not None:
            self._console.close()

    def _read_settings(self, arguments: argparse.Namespace) -> Settings:
        last_login = _source(self._saved.last_login)
        try:
            return read_settings(arguments, os.environ, last_login)
        except NoConsole:
            if not getattr(arguments, "may_ask_url", False) or not passwords.can_ask():
                raise
        try:
            arguments.url = normalise_base_url(passwords.ask_url())
        except ValueError:
            raise UsageError(translate(messages.MUST_BE_URL)) from None
        return read_settings(arguments, os.environ, last_login)

    def _load_saved(self) -> session_store.SavedSessions:
        try:
            return session_store.load_sessions(self._sessions_file)
        except CommandError as problem:
            print_error(str(problem))
            return session_store.SavedSessions()

    def _open(self, password: str | Callable[[], str] | None, session: Session | None) -> Console:
        verify = self._ssl_context()
        try:
            httpx2.URL(f"{self.url}/")
        except httpx2.InvalidURL:
            raise UsageError(f"{escape_and_truncate(self.url)}: {translate(messages.MUST_BE_URL)}") from None
        if not all(map(is_utf8_encodable, filter(None, (self.username, self.region, self.project)))):
            raise UsageError(translate(messages.ARGUMENT_NOT_UTF8))
        try:
            return Console(
                self.url,
                region=self.region,
                project=self.project,
                username=self.username,
                password=password,
                session=session,
                timeout=self.settings.timeout or TIMEOUT,
                deadline=self.deadline,
                language=current_language(),
                verify=verify,
                transport=self._debug_transport(verify) if self.settings.is_debug else None,
            )
        except httpx2.InvalidURL:
            # The console's own URL has been validated above.
            raise UsageError(translate(messages.INVALID_PROXY)) from None
        except ValueError as problem:
            raise UsageError(f"{translate(messages.INVALID_PROXY)}: {problem}") from None
        except OSError as problem:
            raise UsageError(translate(messages.TLS_SETUP_FAILED, why=system_error(problem))) from None
        except ImportError as problem:
            # For example, a SOCKS proxy needs an extra package.
            raise UsageError(str(problem)) from None

    def _debug_transport(self, verify: ssl.SSLContext | bool) -> httpx2.BaseTransport:
        from cloudconsole.cli.debug_log import DebugTransport

        # Loading CA certificates takes time, and only https needs them.
        return DebugTransport(verify if self.url.startswith("https:") else False)

    def _ssl_context(self) -> ssl.SSLContext | bool:
        file = self.ca_file
        if self.settings.is_insecure or file is None:
            return not self.settings.is_insecure
        try:
            return ssl.create_default_context(cafile=file)
        except ssl.SSLError:
            raise UsageError(translate(messages.NOT_A_CERTIFICATE, file=file)) from None
        except OSError as problem:
            if os.access(file, os.R_OK):
                raise UsageError(translate(messages.TLS_SETUP_FAILED, why=system_error(problem))) from None
            raise UsageError(f"{file}: {system_error(problem)}") from None

    def _ask_username(self) -> str:
        if not self.may_ask:
            raise UsageError(translate(messages.NO_USERNAME))
        return passwords.ask_username(self.url)

    def _ask_password(self) -> None:
        """Prompt before the call, so that typing does not count against its deadline."""
        if not self.may_ask:
            raise UsageError(self._no_password())
        # Report an unreachable console or a missing region before the user types anything.
        with self.bounded():
            regions = self.console.about().regions
        if self.region is None and len(regions) != 1:
            raise UsageError(
                translate(messages.REGION_REQUIRED, regions=escape_and_truncate(", ".join(regions) or "-", LONG_LENGTH))
            )
        self._typed_password = passwords.ask_password(self.username or "", self.url)
        self._reopen()

    def _reopen(self) -> None:
        session = self.console.session
        self.console.close()
        self._console = self._open(self._typed_password or self._password, session)

    def _no_password(self) -> str:
        line = translate(messages.NO_PASSWORD, username=self.username, url=self.url)
        ignored = self.settings.account.ignored_passwords
        return line + (translate(messages.IGNORED_PASSWORDS, places=", ".join(ignored)) if ignored else "")


def default_account(session: Session) -> Account | None:
    """Return the account that a command without flags uses after this login; None if there is none."""
    try:
        bare = argparse.Namespace(**dict.fromkeys(ACCOUNT_ARGUMENTS), lang=current_language())
        return read_settings(bare, os.environ, _source(session_store.owner(session))).account
    except UsageError:
        return None


def _source(owner: session_store.Owner | None) -> Source | None:
    if owner is None:
        return None
    return Source(translate(messages.LAST_LOGIN), owner.url, owner.region, owner.username, project=owner.project)


def _without_deadline(read: Callable[[], str]) -> Callable[[], str]:
    def read_without_deadline() -> str:
        with deadline_paused():
            return read()

    return read_without_deadline


def _cookie_values(session: Session | None) -> set[tuple[str, str]]:
    """Return what identifies a session; cookie expiry does not count."""
    return {(cookie.name, cookie.value) for cookie in session.cookies} if session else set()
