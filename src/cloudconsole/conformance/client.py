"""HTTP client of the kit and the console it tests; requests are bounded in number, time and size."""

import asyncio
import json
import os
import ssl
import time
from collections.abc import Mapping
from time import monotonic
from typing import Any, Final, Literal, NamedTuple
from urllib.parse import urlencode, urlsplit

import httpx2

from cloudconsole.conformance.limits import LOGIN_PATH, RunLimits
from cloudconsole.conformance.redaction import Secrets
from cloudconsole.conformance.responses import BUSY, RawResponse
from cloudconsole.spec.actions import ACTIONS
from cloudconsole.spec.constants import CSRF_COOKIE, FORM, JSON, SESSION_COOKIE
from cloudconsole.spec.urls import normalise_base_url

LARGEST_ANSWER: Final = 8 * 1024 * 1024
MOST_KEPT: Final = 16 * 1024 * 1024
"""Bytes of answers that are kept to be looked through in the end; later ones are not."""
LONGEST_WAIT: Final = 5
"""Seconds to wait where a server asks for it by Retry-After."""
MOST_WAITING: Final = 60
"""Seconds of waiting in a whole run."""


class NoResponse(Exception):
    """A request without a whole HTTP answer; the text says what came instead."""


class Unreachable(NoResponse):
    """There is nobody at the address, or not the one that its certificate should name."""


class Sender:
    """Requests to one base address; a context manager."""

    def __init__(
        self, base: str, accounts: Mapping[str, str], *, verify: ssl.SSLContext | bool = True, timeout: float = 10.0
    ) -> None:
        """`timeout` bounds each step of a request; all of it together may take twice as long."""
        self.base = base
        self.budget = RunLimits(accounts)
        self.answers: list[tuple[str, RawResponse]] = []
        self.secrets = Secrets(accounts.values())
        self._kept = 0
        self._waited = 0
        self._timeout = timeout
        self._runner = asyncio.Runner()
        # A connection for each request: one that the server closes meanwhile would look like a fault of its own.
        limits = httpx2.Limits(max_keepalive_connections=0)
        # The authorities that vouch for https take longer to read than many requests.
        verified = verify if base.startswith("https:") else False
        self._transport = httpx2.AsyncHTTPTransport(verify=verified, trust_env=False, limits=limits)

    def __enter__(self) -> "Sender":
        return self

    def __exit__(self, *_: object) -> None:
        self._runner.run(self._transport.aclose())
        self._runner.close()

    def send(self, method: str, path: str, headers: Mapping[str, str], body: bytes = b"") -> RawResponse:
        """The answer; where a server is busy and says until when, the one after that."""
        response = self._send(method, path, headers, body)
        wait = response.retry_after
        if response.status in BUSY and wait is not None and self._may_wait(wait):
            self._waited += wait
            time.sleep(wait)
            response = self._send(method, path, headers, body)
        return response

    def _may_wait(self, seconds: int) -> bool:
        return seconds <= LONGEST_WAIT and self._waited + seconds <= MOST_WAITING and seconds < self.budget.seconds

    def _send(self, method: str, path: str, headers: Mapping[str, str], body: bytes) -> RawResponse:
        self.budget.spend(method, path, body)
        try:
            response = self._runner.run(self._exchange(method, path, headers, body))
        except NoResponse:
            self.budget.unanswered += 1
            raise
        self.budget.unanswered = 0
        self._kept += len(response.body)
        if self._kept <= MOST_KEPT:
            self.answers.append((f"{method} {path}", response))
        for cookie in (response.cookie(CSRF_COOKIE), response.cookie(SESSION_COOKIE)):
            if cookie is not None:
                self.secrets.add_cookie(cookie.value)
        return response

    async def _exchange(self, method: str, path: str, headers: Mapping[str, str], body: bytes) -> RawResponse:
        began, left = monotonic(), self.budget.seconds
        timeouts = dict.fromkeys(("connect", "read", "write", "pool"), min(self._timeout, left))
        pairs = [(name.encode("ascii"), value.encode("latin-1")) for name, value in headers.items()]
        try:
            request = httpx2.Request(
                method, self.base + path, headers=pairs, content=body or None, extensions={"timeout": timeouts}
            )
            async with asyncio.timeout(min(2 * self._timeout, left)):
                response = await self._transport.handle_async_request(request)
                try:
                    content = await _read(response)
                finally:
                    await response.aclose()
        except (httpx2.ConnectError, httpx2.ConnectTimeout) as problem:
            raise Unreachable(f"could not connect: {_cause(problem)}") from problem
        except (httpx2.TimeoutException, TimeoutError) as problem:
            raise NoResponse(f"no whole answer within {monotonic() - began:.0f} s") from problem
        except httpx2.RemoteProtocolError as problem:
            # The library's own words quote what came, be it a cookie.
            raise NoResponse("the answer is not HTTP, or breaks off") from problem
        except (httpx2.TransportError, OSError) as problem:
            raise NoResponse(f"the connection broke: {_cause(problem)}") from problem
        pairs_received = tuple(
            (name.decode("latin-1").lower(), value.decode("latin-1")) for name, value in response.headers.raw
        )
        return RawResponse(response.status_code, pairs_received, content, is_of_login=path == LOGIN_PATH)


async def _read(response: httpx2.Response) -> bytes:
    parts, size = [], 0
    async for part in response.aiter_raw():
        parts.append(part)
        size += len(part)
        if size > LARGEST_ANSWER:
            raise NoResponse(f"the answer is over {LARGEST_ANSWER // 1024 // 1024} MiB")
    return b"".join(parts)


def _cause(problem: BaseException) -> str:
    """The words of what lies deepest, where they are the system's: what stands above it only says that it failed."""
    while deeper := problem.__cause__ or problem.__context__:
        problem = deeper
    if isinstance(problem, BaseExceptionGroup):
        return _cause(problem.exceptions[0])
    if isinstance(problem, ssl.SSLCertVerificationError):
        return f"its certificate is not trusted: {problem.verify_message}"
    if isinstance(problem, OSError) and problem.errno is not None and problem.errno > 0:
        return os.strerror(problem.errno)
    return getattr(problem, "strerror", None) or type(problem).__name__


BodyForm = Literal["JSON", "form"]
Headers = Mapping[str, str | None]
"""A header given as None is left out."""
Anonymous = dict[str, "ConsoleClient"]
"""Who may be logged in, by their sessions."""

MOST_COOKIES: Final = 50
"""Of those in a jar that nobody asked for; browsers keep not many more."""


class Account(NamedTuple):
    username: str
    password: str


class ConsoleClient:
    def __init__(
        self, sender: Sender, region: str, jar: Mapping[str, str] | None = None, guests: Anonymous | None = None
    ) -> None:
        """Whoever may have logged in is entered among the guests, so that no session is left behind."""
        self.jar: dict[str, str] = dict(jar or {})
        self._sender = sender
        self._region = region
        self._guests: Anonymous = {} if guests is None else guests

    @property
    def token(self) -> str:
        """Read anew for each call: some servers change it at login."""
        return self.jar.get(CSRF_COOKIE, "")

    @property
    def session(self) -> str:
        return self.jar.get(SESSION_COOKIE, "")

    def copy(self, **jar: str) -> "ConsoleClient":
        """Someone with a copy of the jar, in which some cookies differ."""
        return ConsoleClient(self._sender, self._region, self.jar | jar, self._guests)

    def send(self, method: str, path: str, headers: Headers | None = None, body: bytes = b"") -> RawResponse:
        sent: dict[str, str | None] = {"Accept-Encoding": "identity", "User-Agent": "cloudconsole-conformance"}
        if self.jar:
            sent["Cookie"] = "; ".join(f"{name}={value}" for name, value in self.jar.items())
        sent |= headers or {}
        given = {name: value for name, value in sent.items() if value is not None}
        is_login = (method, path) == ("POST", LOGIN_PATH)
        try:
            response = self._sender.send(method, path, given, body)
        except NoResponse:
            if is_login:
                self._come_in()
            raise
        self._keep_cookies(response)
        is_refused = 400 <= response.status < 500 and not response.set_cookies
        if is_login and not is_refused:
            self._come_in()
        return response

    def _keep_cookies(self, response: RawResponse) -> None:
        for cookie in response.set_cookies:
            if cookie.is_deleted:
                self.jar.pop(cookie.name, None)
            elif cookie.name in (CSRF_COOKIE, SESSION_COOKIE, *self.jar) or len(self.jar) < MOST_COOKIES:
                self.jar[cookie.name] = cookie.value

    def _come_in(self) -> None:
        if self.session:
            self._guests[self.session] = self.copy()
            self._sender.budget.farewells = len(self._guests)

    def open(self, headers: Headers | None = None) -> RawResponse:
        return self.send("GET", "/api/", headers)

    def login(self, account: Account, headers: Headers | None = None, **changes: str | None) -> RawResponse:
        """A field given as None is left out."""
        fields: dict[str, str | None] = {
            "csrfmiddlewaretoken": self.token,
            "username": account.username,
            "password": account.password,
            "region": self._region,
            **changes,
        }
        form = urlencode({name: value for name, value in fields.items() if value is not None})
        return self.send("POST", LOGIN_PATH, {"Content-Type": FORM} | dict(headers or {}), form.encode())

    def call(
        self,
        action: str,
        form: BodyForm = "JSON",
        fields: Mapping[str, Any] | None = None,
        headers: Headers | None = None,
    ) -> RawResponse:
        fields = {"action": action, **(fields or {})}
        body = urlencode(fields) if form == "form" else json.dumps(fields)
        return self.post(body.encode(), FORM if form == "form" else JSON, headers)

    def post(self, body: bytes, content_type: str | None = JSON, headers: Headers | None = None) -> RawResponse:
        """A call with this very body."""
        sent: dict[str, str | None] = {"Content-Type": content_type, "X-CSRFToken": self.token}
        return self.send("POST", "/api/", sent | dict(headers or {}), body)

    def logout(self, headers: Headers | None = None) -> RawResponse:
        session = self.session
        response = self.send("POST", "/auth/logout/", {"X-CSRFToken": self.token} | dict(headers or {}))
        if response.status < 400:
            self._guests.pop(session, None)
            self._sender.budget.farewells = len(self._guests)
        return response


FORMS: Final[tuple[BodyForm, ...]] = ("JSON", "form")
ACTION_NAMES: Final = tuple(action.name for action in ACTIONS)
OBJECTS: Final = ("GetUsageLimits", "GetFlavors", "GetDomainDetail")
"""The actions whose `data` is an object; that of the others is an array."""


class Target(NamedTuple):
    """What was given to the command."""

    base: str
    region: str
    account: Account
    other: Account | None = None
    domains: tuple[str, ...] = ()

    @property
    def origin(self) -> str:
        """What a browser on this server's own pages would send as Origin."""
        parts = urlsplit(normalise_base_url(self.base))
        return f"{parts.scheme}://{parts.netloc}"


class WorkingCall(NamedTuple):
    """An action that was successful, with the body form and the fields that made it so."""

    action: str
    form: BodyForm
    fields: dict[str, str]
    answer: RawResponse
