"""The protocol without I/O: sessions, login, calls, session renewal and retries, as generators of steps."""

from collections.abc import Callable
from copy import copy
from typing import Any, Final, Literal, TypeVar
from urllib.parse import urlencode

import msgspec

from cloudconsole.client import decoding
from cloudconsole.client.exceptions import (
    ConnectionFailed,
    ConsoleError,
    CsrfFailed,
    InvalidCredentials,
    LoginRequired,
    NotFound,
    ProtocolError,
    RegionRequired,
    RequestRefused,
    ServerError,
)
from cloudconsole.client.models import About
from cloudconsole.client.responses import (
    REDIRECTS,
    HttpResponse,
    check_login,
    check_logout,
    decode_data,
    decode_welcome,
)
from cloudconsole.client.retry import RetryPolicy
from cloudconsole.client.sending import RequestSender
from cloudconsole.client.session import Credentials, Session
from cloudconsole.client.steps import Renew, Steps
from cloudconsole.spec.operations import CALL_ACTION, FORM, JSON, LOGIN, LOGOUT, OPEN_SESSION
from cloudconsole.spec.set_cookie import SESSION_COOKIE
from cloudconsole.spec.text_escaping import is_utf8_encodable

T = TypeVar("T")

_MAX_RENEWALS: Final = 2

SendAs = Literal["json", "form"]


class ProtocolFlow:
    """State shared by all calls to one console: credentials, cookies and session state."""

    def __init__(self, credentials: Credentials, *, session: Session | None, send_as: SendAs) -> None:
        self._credentials = credentials
        self._sender = RequestSender(credentials.base_url, () if session is None else session.cookies)
        self.send_as = send_as
        self._about: About | None = None
        # Sessions are numbered, so that a call can tell that another one has logged in meanwhile.
        self._created = self._current = self._verified = 0 if session is None else 1
        self._attempts = 0
        self._last_failure: ConsoleError | None = None
        self._is_logged_out = False

    @property
    def session(self) -> Session | None:
        credentials, cookies = self._credentials, self._sender.cookies
        has_cookie = any(cookie.name == SESSION_COOKIE for cookie in cookies)
        if not (self._current and has_cookie and credentials.username):
            return None
        return Session(
            base_url=credentials.base_url,
            username=credentials.username,
            region=credentials.region,
            project=credentials.project,
            cookies=cookies,
        )

    def remember(self, about: About) -> None:
        """Use the console's description that another client has received."""
        self._about = about

    def description(self, retry_policy: RetryPolicy) -> Steps[About]:
        """Return the console's description; a login fetches it anyway, so log in first if needed."""
        if not self._current:
            yield Renew(0, self._attempts, retry_policy)
        return self._about or (yield from self._open(retry_policy))

    def call(
        self, action: str, fields: dict[str, Any], read: Callable[[Any], T], retry_policy: RetryPolicy
    ) -> Steps[T]:
        body, media_type = _body({**fields, "action": action}, self.send_as)
        # By the interface's naming, Get actions change nothing.
        reads = action.startswith("Get")
        for renewals in range(_MAX_RENEWALS + 1):
            if not self._current:
                yield Renew(0, self._attempts, retry_policy)
            seen = self._current
            try:
                result = yield from self._sender.send(
                    CALL_ACTION,
                    lambda response: _read(response, read),
                    retry_policy,
                    media_type=media_type,
                    body=body,
                    may_repeat=reads,
                    call=action,
                )
            except (LoginRequired, CsrfFailed) as error:
                self._raise_unless_renewable(error, seen, renewals, reads=reads)
                yield Renew(seen, self._attempts, retry_policy)
            else:
                self._verified = max(self._verified, seen)
                return result
        raise AssertionError("unreachable: the last error is raised")

    def _raise_unless_renewable(self, error: ConsoleError, seen: int, renewals: int, *, reads: bool) -> None:
        """Raise the error if a new login would not fix it, or the call must not be repeated."""
        is_unverified = self._verified < seen and self._current in (0, seen)
        if is_unverified and isinstance(error, LoginRequired) and error.error is None:
            self._current = 0
            failure = InvalidCredentials(
                "the console accepted the login but rejected the first call as not logged in: the credentials are "
                "wrong, or the console does not get its cookies back",
                code=error.code,
                request_id=error.request_id,
            )
            self._last_failure = copy(failure)
            raise failure from error
        is_rejected = is_unverified and error.error is None
        # A redirect may also follow a change that was made.
        may_be_done = not reads and error.code in REDIRECTS
        if is_rejected or may_be_done or renewals >= (1 if is_unverified else _MAX_RENEWALS):
            raise error

    def renew(self, request: Renew) -> Steps[None]:
        """Renew the session; run under the login lock, so that waiting calls share the outcome."""
        if self._is_logged_out:
            raise LoginRequired("logged out: call login() first")
        if self._current not in (0, request.seen):
            return
        if self._attempts != request.attempts and self._last_failure is not None:
            raise copy(self._last_failure)
        yield from self.login(request.retry)

    def login(self, retry_policy: RetryPolicy) -> Steps[None]:
        try:
            with self._sender.logging_in():
                yield from self._login(retry_policy)
        except ConsoleError as problem:
            self._attempts += 1
            # One call's timeout says nothing about another's.
            is_conclusive = not isinstance(problem, ConnectionFailed | ServerError)
            self._last_failure = copy(problem) if is_conclusive else None
            raise
        self._attempts += 1
        self._last_failure = None
        self._is_logged_out = False
        self._created += 1
        self._current = self._created

    def _login(self, retry_policy: RetryPolicy) -> Steps[None]:
        username, region = self._credentials.username, self._credentials.region
        if username is None or self._credentials.password is None:
            raise LoginRequired("not logged in, and no username and password to log in with")
        about = yield from self._open(retry_policy, for_login=True)
        fields = {
            "csrfmiddlewaretoken": self._sender.token_for(LOGIN) or "",
            "username": username,
            "region": region or _only_region(about),
            "password": self._password(retry_policy),
            **({"project": self._credentials.project} if self._credentials.project else {}),
        }
        self._sender.note_password(fields["password"])
        body = urlencode(fields).encode()
        yield from self._sender.send(
            LOGIN, check_login, retry_policy, media_type=FORM, body=body, for_login=True, call="login"
        )

    def _password(self, retry_policy: RetryPolicy) -> str:
        password = self._credentials.password
        if callable(password):
            with retry_policy.paused():
                password = password()
        if not isinstance(password, str) or not is_utf8_encodable(password):
            raise LoginRequired("no password, or it cannot be encoded as UTF-8")
        return password

    def logout(self, retry_policy: RetryPolicy) -> Steps[None]:
        """End the session, if there is one; the local session is dropped whatever the console responds."""
        had_session = self.session is not None
        self._is_logged_out, self._current = True, 0
        try:
            if had_session:
                yield from self._sender.send(LOGOUT, check_logout, retry_policy, media_type=FORM, call="logout")
        finally:
            self._sender.clear()

    def about(self, retry_policy: RetryPolicy) -> Steps[About]:
        return self._about or (yield from self._open(retry_policy))

    def _open(self, retry_policy: RetryPolicy, *, for_login: bool = False) -> Steps[About]:
        welcome = None
        try:
            welcome = yield from self._sender.send(
                OPEN_SESSION, decode_welcome, retry_policy, for_login=for_login, call="welcome"
            )
        except (LoginRequired, CsrfFailed, NotFound, RequestRefused) as problem:
            # The interface requires only that the response sets the cookies.
            if self._sender.token_for(LOGIN) is None:
                if isinstance(problem, NotFound):
                    problem.add_note(f"There is no console at {self._sender.base_url}: check the base URL.")
                raise
        if for_login and self._sender.token_for(LOGIN) is None:
            raise ProtocolError("the console did not set the cookie csrftoken", payload=welcome, field="csrftoken")
        self._about = decoding.about(welcome)
        return self._about


def _read(response: HttpResponse, read: Callable[[Any], T]) -> T:
    try:
        return read(decode_data(response))
    except ProtocolError as problem:
        problem.request_id, problem.code = response.request_id, response.status
        raise


def _body(fields: dict[str, Any], send_as: SendAs) -> tuple[bytes, str]:
    if send_as == "form":
        unsupported = [name for name, value in fields.items() if type(value) not in (str, int)]
        if unsupported:
            raise TypeError(f"{unsupported[0]} must be str or int in form data")
        return urlencode(fields).encode(), FORM
    return msgspec.json.encode(fields), JSON


def _only_region(about: About) -> str:
    if len(about.regions) == 1:
        return about.regions[0]
    offered = f"the console offers {', '.join(about.regions)}" if about.regions else "the console does not list any"
    raise RegionRequired(f"a region is required: {offered}", about.regions)
