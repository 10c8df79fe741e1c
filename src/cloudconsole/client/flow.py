"""The protocol without I/O: sessions, login, calls, session renewal and retries, as generators of steps."""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from copy import copy
from functools import partial
from typing import Any, Final, Literal, TypeVar
from urllib.parse import urlencode

import msgspec

from cloudconsole.client import decoding
from cloudconsole.client.cookies import CookieJar, csrf_token
from cloudconsole.client.exceptions import (
    ConnectionFailed,
    ConsoleError,
    CsrfFailed,
    InvalidCredentials,
    LoginRequired,
    NotFound,
    ProtocolError,
    RateLimited,
    RegionRequired,
    RequestRefused,
    ServerError,
)
from cloudconsole.client.models import About, Consumption, Domain, Flavors, NewsItem, Url, UsageLimits
from cloudconsole.client.responses import REDIRECTS, HttpResponse, check_login, check_logout, decode_data, error_of
from cloudconsole.client.retry import RetryPolicy
from cloudconsole.client.session import Credentials, SavedCookie, Session
from cloudconsole.client.steps import Pause, Renew, Send, Steps
from cloudconsole.spec.actions import (
    GET_CONSUMPTIONS_ESTIMATED,
    GET_DOMAIN_DETAIL,
    GET_FLAVORS,
    GET_NEWS,
    GET_URL_LIST,
    GET_USAGE_LIMITS,
)
from cloudconsole.spec.constants import FORM, JSON, SESSION_COOKIE, is_utf8_encodable
from cloudconsole.spec.operations import CALL_ACTION, LOGIN, LOGOUT, OPEN_SESSION, Operation

T = TypeVar("T")


class RequestSender:
    """Those with one console."""

    def __init__(self, base_url: str, cookies: tuple[SavedCookie, ...]) -> None:
        self._referer = base_url + CALL_ACTION.path
        self._cookies = CookieJar(base_url, cookies)
        self._is_logging_in = False

    @property
    def cookies(self) -> tuple[SavedCookie, ...]:
        return self._cookies.all()

    def token_for(self, operation: Operation) -> str | None:
        return csrf_token(self._cookies.sent_to(operation.path))

    @contextmanager
    def logging_in(self) -> Generator[None]:
        """Within, and for what was sent before, no answer but the login's own sets a cookie."""
        self._cookies.begin_era()
        self._is_logging_in = True
        try:
            yield
        finally:
            self._is_logging_in = False
            self._cookies.begin_era()

    def clear(self) -> None:
        self._cookies.begin_era(forget=True)

    def send(
        self,
        operation: Operation,
        read: Callable[[HttpResponse], T],
        retry_policy: RetryPolicy,
        *,
        media_type: str | None = None,
        body: bytes = b"",
        may_repeat: bool = True,
        for_login: bool = False,
    ) -> Steps[T]:
        """One request, repeated while that may help and there is time; gives what is read from its answer."""
        refused: ConsoleError | None = None
        while True:
            era = self._cookies.era if for_login or not self._is_logging_in else None
            sent = self._cookies.sent_to(operation.path)
            try:
                response = yield Send(operation, self._headers(sent, media_type), body, retry_policy)
                self._cookies.take(response.set_cookies, era)
                return read(response)
            except (RateLimited, ServerError) as problem:
                wait = retry_policy.wait_after(problem, may_repeat=may_repeat)
                if wait is None:
                    raise
                refused = problem
            except ConnectionFailed as problem:
                wait = retry_policy.wait_after(problem, may_repeat=may_repeat)
                if wait is None:
                    # What was answered before says more than that the time is over.
                    raise refused or problem from None
            yield Pause(wait)

    def _headers(self, sent: tuple[SavedCookie, ...], media_type: str | None) -> dict[str, str]:
        headers = {"Cookie": "; ".join(f"{cookie.name}={cookie.value}" for cookie in sent)} if sent else {}
        if media_type is None:
            return headers
        # The token is that of the very cookies that go along: some consoles change it at login. Some demand a Referer.
        return headers | {"Content-Type": media_type, "X-CSRFToken": csrf_token(sent) or "", "Referer": self._referer}


SendAs = Literal["json", "form"]

_MOST_RENEWALS: Final = 2


class ProtocolFlow:
    """What all callers of one console share: the identity, the cookies, and what is known of the session."""

    def __init__(self, identity: Credentials, *, session: Session | None, deadline: float, send_as: SendAs) -> None:
        self._identity = identity
        self._exchanges = RequestSender(identity.base_url, () if session is None else session.cookies)
        self._deadline = deadline
        self._send_as = send_as
        self._about: About | None = None
        # Sessions are numbered, so that a caller can tell that another has logged in meanwhile.
        self._made = self._current = self._proven = 0 if session is None else 1
        self._attempts = 0
        self._last_failure: ConsoleError | None = None
        self._has_left = False

    @property
    def session(self) -> Session | None:
        identity, cookies = self._identity, self._exchanges.cookies
        is_there = any(cookie.name == SESSION_COOKIE for cookie in cookies)
        if not (self._current and is_there and identity.username):
            return None
        return Session(base_url=identity.base_url, username=identity.username, region=identity.region, cookies=cookies)

    def usage_limits(self) -> Steps[UsageLimits]:
        return self.call(GET_USAGE_LIMITS.name, {}, decoding.usage_limits)

    def flavors(self) -> Steps[Flavors]:
        return self.call(GET_FLAVORS.name, {}, decoding.flavors)

    def urls(self) -> Steps[list[Url]]:
        return self.call(GET_URL_LIST.name, {}, decoding.urls)

    def domain(self, domain_id: str) -> Steps[Domain]:
        return self.call(GET_DOMAIN_DETAIL.name, {"domainId": domain_id}, decoding.domain)

    def news(self) -> Steps[list[NewsItem]]:
        retry_policy = self.retry_policy()
        about = yield from self._acquainted(retry_policy)
        return (yield from self.call(GET_NEWS.name, {}, partial(decoding.news, about=about), retry_policy))

    def consumption(self) -> Steps[Consumption]:
        retry_policy = self.retry_policy()
        about = yield from self._acquainted(retry_policy)
        read = partial(decoding.consumption, about=about)
        return (yield from self.call(GET_CONSUMPTIONS_ESTIMATED.name, {}, read, retry_policy))

    def _acquainted(self, retry_policy: RetryPolicy) -> Steps[About]:
        """What the console says of itself; where nobody is logged in yet, the login asks it anyway."""
        if not self._current:
            yield Renew(0, self._attempts, retry_policy)
        return self._about or (yield from self._open(retry_policy))

    def call(
        self, action: str, fields: dict[str, Any], read: Callable[[Any], T], retry_policy: RetryPolicy | None = None
    ) -> Steps[T]:
        retry_policy = retry_policy or self.retry_policy()
        body, media_type = _body({**fields, "action": action}, self._send_as)
        # By the interface's own naming, what is called Get changes nothing.
        reads = action.startswith("Get")
        for renewals in range(_MOST_RENEWALS + 1):
            if not self._current:
                yield Renew(0, self._attempts, retry_policy)
            seen = self._current
            try:
                result = yield from self._exchanges.send(
                    CALL_ACTION,
                    lambda response: _read(response, read),
                    retry_policy,
                    media_type=media_type,
                    body=body,
                    may_repeat=reads,
                )
            except (LoginRequired, CsrfFailed) as refusal:
                self._judge(refusal, seen, renewals, reads=reads)
                yield Renew(seen, self._attempts, retry_policy)
            else:
                self._proven = max(self._proven, seen)
                return result
        raise AssertionError("the last refusal is raised")

    def _judge(self, refusal: ConsoleError, seen: int, renewals: int, *, reads: bool) -> None:
        """Raise what a new login would not mend, or may not repeat."""
        is_unproven = self._proven < seen and self._current in (0, seen)
        if is_unproven and isinstance(refusal, LoginRequired) and refusal.error is None:
            self._current = 0
            failure = InvalidCredentials(
                "the console took the login, but says to the first call that nobody is logged in: the credentials are "
                "wrong, or its cookies do not come back to it",
                code=refusal.code,
                request_id=refusal.request_id,
            )
            self._last_failure = copy(failure)
            raise failure from refusal
        is_hopeless = is_unproven and refusal.error is None
        # The way to another page may also be the way on from what was done.
        may_be_done = not reads and refusal.code in REDIRECTS
        if is_hopeless or may_be_done or renewals >= (1 if is_unproven else _MOST_RENEWALS):
            raise refusal

    def renew(self, asked: Renew) -> Steps[None]:
        """To be performed by one caller at a time: whoever waited meanwhile shares what came of it."""
        if self._has_left:
            raise LoginRequired("logged out: log in again first")
        if self._current not in (0, asked.seen):
            return
        if self._attempts != asked.attempts and self._last_failure is not None:
            raise copy(self._last_failure)
        yield from self.login(asked.retry)

    def login(self, retry_policy: RetryPolicy) -> Steps[None]:
        try:
            with self._exchanges.logging_in():
                yield from self._login(retry_policy)
        except ConsoleError as problem:
            self._attempts += 1
            # That one caller's time was too short is no answer for another.
            is_answer = not isinstance(problem, ConnectionFailed | ServerError)
            self._last_failure = copy(problem) if is_answer else None
            raise
        self._attempts += 1
        self._last_failure = None
        self._has_left = False
        self._made += 1
        self._current = self._made

    def _login(self, retry_policy: RetryPolicy) -> Steps[None]:
        username, region = self._identity.username, self._identity.region
        if username is None or self._identity.password is None:
            raise LoginRequired("nobody is logged in, and no username and password are given to log in with")
        about = yield from self._open(retry_policy, for_login=True)
        fields = {
            "csrfmiddlewaretoken": self._exchanges.token_for(LOGIN) or "",
            "username": username,
            "region": region or _only_region(about),
            "password": self._password(retry_policy),
        }
        body = urlencode(fields).encode()
        yield from self._exchanges.send(LOGIN, check_login, retry_policy, media_type=FORM, body=body, for_login=True)

    def _password(self, retry_policy: RetryPolicy) -> str:
        password = self._identity.password
        if callable(password):
            with retry_policy.held():
                password = password()
        if not isinstance(password, str) or not is_utf8_encodable(password):
            raise LoginRequired("there is no password, or it has characters that cannot be sent")
        return password

    def logout(self, retry_policy: RetryPolicy) -> Steps[None]:
        """Ends the session, if there is one; afterwards nobody is logged in here, whatever the console says."""
        had_session = self.session is not None
        self._has_left, self._current = True, 0
        try:
            if had_session:
                yield from self._exchanges.send(LOGOUT, check_logout, retry_policy, media_type=FORM)
        finally:
            self._exchanges.clear()

    def about(self) -> Steps[About]:
        return self._about or (yield from self._open(self.retry_policy()))

    def retry_policy(self) -> RetryPolicy:
        return RetryPolicy(self._deadline)

    def _open(self, retry_policy: RetryPolicy, *, for_login: bool = False) -> Steps[About]:
        welcome = None
        try:
            welcome = yield from self._exchanges.send(OPEN_SESSION, error_of, retry_policy, for_login=for_login)
        except (LoginRequired, CsrfFailed, NotFound, RequestRefused):
            # Whatever it says: that it sets the cookies is all that the interface demands.
            if self._exchanges.token_for(LOGIN) is None:
                raise
        if for_login and self._exchanges.token_for(LOGIN) is None:
            raise ProtocolError("the console set no cookie csrftoken", payload=welcome, field="csrftoken")
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
        odd = [name for name, value in fields.items() if type(value) not in (str, int)]
        if odd:
            raise TypeError(f"as form data, {odd[0]} must be text or a whole number")
        return urlencode(fields).encode(), FORM
    return msgspec.json.encode(fields), JSON


def _only_region(about: About) -> str:
    if len(about.regions) == 1:
        return about.regions[0]
    offered = f"the console offers {', '.join(about.regions)}" if about.regions else "the console does not say which"
    raise RegionRequired(f"a region is needed: {offered}", about.regions)
