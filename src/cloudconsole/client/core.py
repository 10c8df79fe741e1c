"""The protocol, once for `Console` and `AsyncConsole`: a call is a generator of steps, which they perform."""

from collections.abc import Callable
from copy import copy
from functools import partial
from http.cookiejar import CookieJar
from typing import Any, Final, Literal, TypeVar
from urllib.parse import urlencode

import msgspec

from cloudconsole.client import reading
from cloudconsole.client.answers import Answer, check_login, check_logout, data_of, what_it_says
from cloudconsole.client.errors import (
    ConnectionFailed,
    ConsoleError,
    CsrfFailed,
    InvalidCredentials,
    LoginRequired,
    ProtocolError,
    RateLimited,
    RegionRequired,
    ServerError,
)
from cloudconsole.client.identity import Identity
from cloudconsole.client.patience import Patience
from cloudconsole.client.records import About, Consumption, Domain, Flavors, NewsItem, Url, UsageLimits
from cloudconsole.client.session import Session, csrf_token, has_session, kept_cookies, put_back
from cloudconsole.client.steps import Pause, Renew, Send, Steps
from cloudconsole.spec.actions import (
    GET_CONSUMPTIONS_ESTIMATED,
    GET_DOMAIN_DETAIL,
    GET_FLAVORS,
    GET_NEWS,
    GET_URL_LIST,
    GET_USAGE_LIMITS,
)
from cloudconsole.spec.operations import CALL, LOG_IN, LOG_OUT, OPEN, Operation
from cloudconsole.spec.wire import FORM, JSON

T = TypeVar("T")


SendAs = Literal["json", "form"]

_MOST_RENEWALS: Final = 2


class Core:
    """What all callers of one console share: the identity, the cookies, and what is known of the session."""

    def __init__(
        self, identity: Identity, jar: CookieJar, *, session: Session | None, deadline: float, send_as: SendAs
    ) -> None:
        self._identity = identity
        self._jar = jar
        self._deadline = deadline
        self._send_as = send_as
        self._about: About | None = None
        # Sessions are numbered, so that a caller can tell that another has logged in meanwhile.
        self._made = self._current = self._proven = 0 if session is None else 1
        self._attempts = 0
        self._last_failure: ConsoleError | None = None
        self._has_left = False
        if session is not None:
            put_back(jar, session.cookies)

    @property
    def session(self) -> Session | None:
        identity = self._identity
        if not self._current or not has_session(self._jar) or identity.username is None:
            return None
        return Session(
            base_url=identity.base_url,
            username=identity.username,
            region=identity.region,
            cookies=kept_cookies(self._jar),
        )

    def usage_limits(self) -> Steps[UsageLimits]:
        return self.call(GET_USAGE_LIMITS.name, {}, reading.usage_limits)

    def flavors(self) -> Steps[Flavors]:
        return self.call(GET_FLAVORS.name, {}, reading.flavors)

    def urls(self) -> Steps[list[Url]]:
        return self.call(GET_URL_LIST.name, {}, reading.urls)

    def domain(self, domain_id: str) -> Steps[Domain]:
        return self.call(GET_DOMAIN_DETAIL.name, {"domainId": domain_id}, reading.domain)

    def news(self) -> Steps[list[NewsItem]]:
        patience = Patience(self._deadline)
        about = yield from self._acquainted(patience)
        return (yield from self.call(GET_NEWS.name, {}, partial(reading.news, about=about), patience))

    def consumption(self) -> Steps[Consumption]:
        patience = Patience(self._deadline)
        about = yield from self._acquainted(patience)
        read = partial(reading.consumption, about=about)
        return (yield from self.call(GET_CONSUMPTIONS_ESTIMATED.name, {}, read, patience))

    def _acquainted(self, patience: Patience) -> Steps[About]:
        """What the console says of itself; where nobody is logged in yet, the login asks it anyway."""
        if not self._current:
            yield Renew(0, self._attempts, patience)
        return self._about or (yield from self._open(patience))

    def call(
        self, action: str, fields: dict[str, Any], read: Callable[[Any], T], patience: Patience | None = None
    ) -> Steps[T]:
        patience = patience or Patience(self._deadline)
        body, media_type = _body({**fields, "action": action}, self._send_as)
        for renewals in range(_MOST_RENEWALS + 1):
            if not self._current:
                yield Renew(0, self._attempts, patience)
            seen = self._current
            try:
                # By the interface's own naming, what is called Get changes nothing.
                result = yield from self._exchange(
                    CALL,
                    lambda answer: _read(answer, read),
                    media_type,
                    body,
                    patience,
                    reads=action.startswith("Get"),
                )
            except (LoginRequired, CsrfFailed) as refusal:
                self._judge(refusal, seen, renewals)
                yield Renew(seen, self._attempts, patience)
            else:
                self._proven = max(self._proven, seen)
                return result
        raise AssertionError("the last refusal is raised")

    def _judge(self, refusal: ConsoleError, seen: int, renewals: int) -> None:
        """Raise what a new login would not mend."""
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
        if renewals >= (1 if is_unproven else _MOST_RENEWALS):
            raise refusal

    def renew(self, asked: Renew) -> Steps[None]:
        """To be performed by one caller at a time: whoever waited meanwhile shares what came of it."""
        if self._has_left:
            raise LoginRequired("logged out: log in again first")
        if self._current not in (0, asked.seen):
            return
        if self._attempts != asked.attempts and self._last_failure is not None:
            raise copy(self._last_failure)
        yield from self.log_in(asked.patience)

    def log_in(self, patience: Patience | None = None) -> Steps[None]:
        try:
            yield from self._log_in(patience or Patience(self._deadline))
        except ConsoleError as problem:
            self._attempts += 1
            self._last_failure = copy(problem)
            raise
        self._attempts += 1
        self._last_failure = None
        self._has_left = False
        self._made += 1
        self._current = self._made

    def _log_in(self, patience: Patience) -> Steps[None]:
        username, password = self._identity.username, self._identity.password
        if username is None or password is None:
            raise LoginRequired("nobody is logged in, and no username and password are given to log in with")
        about = yield from self._open(patience)
        fields = {
            "csrfmiddlewaretoken": csrf_token(self._jar) or "",
            "username": username,
            "password": password if isinstance(password, str) else password(),
            "region": self._identity.region or _only_region(about),
        }
        yield from self._exchange(LOG_IN, check_login, FORM, urlencode(fields).encode(), patience)

    def log_out(self) -> Steps[None]:
        """Ends the session, if there is one; afterwards nobody is logged in here, whatever the console says."""
        had_session = self.session is not None
        self._has_left, self._current = True, 0
        try:
            if had_session:
                yield from self._exchange(LOG_OUT, check_logout, FORM, b"", Patience(self._deadline))
        finally:
            self._jar.clear()

    def about(self) -> Steps[About]:
        return self._about or (yield from self._open(Patience(self._deadline)))

    def _open(self, patience: Patience) -> Steps[About]:
        welcome = yield from self._exchange(OPEN, what_it_says, None, b"", patience)
        if csrf_token(self._jar) is None:
            raise ProtocolError("the console set no cookie csrftoken", payload=welcome, field="csrftoken")
        self._about = reading.about(welcome)
        return self._about

    def _exchange(
        self,
        operation: Operation,
        read: Callable[[Answer], T],
        media_type: str | None,
        body: bytes,
        patience: Patience,
        *,
        reads: bool = True,
    ) -> Steps[T]:
        """One request, repeated while that may help and there is time."""
        while True:
            headers = {}
            if media_type is not None:
                # From the jar each time: some consoles change it at login.
                headers = {"Content-Type": media_type, "X-CSRFToken": csrf_token(self._jar) or ""}
            try:
                answer = yield Send(operation, headers, body, patience)
                return read(answer)
            except (RateLimited, ServerError, ConnectionFailed) as problem:
                wait = patience.wait_after(problem, reads=reads)
                if wait is None:
                    raise
            yield Pause(wait)


def _read(answer: Answer, read: Callable[[Any], T]) -> T:
    try:
        return read(data_of(answer))
    except ProtocolError as problem:
        problem.request_id = answer.request_id
        raise


def _body(fields: dict[str, Any], send_as: SendAs) -> tuple[bytes, str]:
    if send_as == "form":
        return urlencode(fields).encode(), FORM
    return msgspec.json.encode(fields), JSON


def _only_region(about: About) -> str:
    if len(about.regions) == 1:
        return about.regions[0]
    offered = f"the console offers {', '.join(about.regions)}" if about.regions else "the console does not say which"
    raise RegionRequired(f"a region is needed: {offered}", about.regions)
