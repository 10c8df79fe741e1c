"""HTTP client of the suite and the console under test; requests are limited in number, time and size.

`cloudconsole.client` would hide what the suite examines: it retries, logs in again and rejects invalid responses.
"""

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
from cloudconsole.spec.console_url import normalise_base_url
from cloudconsole.spec.operations import FORM, JSON
from cloudconsole.spec.set_cookie import CSRF_COOKIE, SESSION_COOKIE

MAX_RESPONSE_BYTES: Final = 8 * 1024 * 1024
MAX_RECORDED_BYTES: Final = 16 * 1024 * 1024
"""Total bytes of responses recorded for checks of all responses; later ones are not recorded."""
MAX_WAIT: Final = 5
"""Maximum seconds of Retry-After to wait for."""
MAX_TOTAL_WAIT: Final = 60
"""Maximum seconds of waiting in a run."""


class NoResponse(Exception):
    """No complete HTTP response; the message says why."""


class Unreachable(NoResponse):
    """Nothing listens at the address, or its certificate is not trusted."""


class Sender:
    """Context manager that sends requests to one base URL."""

    def __init__(
        self, base: str, accounts: Mapping[str, str], *, verify: ssl.SSLContext | bool = True, timeout: float = 10.0
    ) -> None:
        """`timeout` limits each step of a request; the whole request may take twice as long."""
        self.base = base
        self.limits = RunLimits(accounts)
        self.responses: list[tuple[str, RawResponse]] = []
        self.secrets = Secrets(accounts.values())
        self._recorded = 0
        self._waited = 0
        self._timeout = timeout
        self._runner = asyncio.Runner()
        # One connection per request: a kept-alive one that the server closes would look like an error.
        pool_limits = httpx2.Limits(max_keepalive_connections=0)
        # Loading CA certificates takes longer than many requests.
        verified = verify if base.startswith("https:") else False
        self._transport = httpx2.AsyncHTTPTransport(verify=verified, trust_env=False, limits=pool_limits)

    def __enter__(self) -> "Sender":
        return self

    def __exit__(self, *_: object) -> None:
        self._runner.run(self._transport.aclose())
        self._runner.close()

    def send(self, method: str, path: str, headers: Mapping[str, str], body: bytes = b"") -> RawResponse:
        """Send a request; if the server is busy and sends Retry-After, wait and send it once more."""
        response = self._send(method, path, headers, body)
        wait = response.retry_after
        if response.status in BUSY and wait is not None and self._may_wait(wait):
            self._waited += wait
            time.sleep(wait)
            response = self._send(method, path, headers, body)
        return response

    def _may_wait(self, seconds: int) -> bool:
        return (
            seconds <= MAX_WAIT and self._waited + seconds <= MAX_TOTAL_WAIT and seconds < self.limits.remaining_seconds
        )

    def _send(self, method: str, path: str, headers: Mapping[str, str], body: bytes) -> RawResponse:
        self.limits.spend(method, path, body)
        try:
            response = self._runner.run(self._exchange(method, path, headers, body))
        except NoResponse:
            self.limits.unanswered += 1
            raise
        self.limits.unanswered = 0
        self._recorded += len(response.body)
        if self._recorded <= MAX_RECORDED_BYTES:
            self.responses.append((f"{method} {path}", response))
        for cookie in (response.cookie(CSRF_COOKIE), response.cookie(SESSION_COOKIE)):
            if cookie is not None:
                self.secrets.add_cookie(cookie.value)
        return response

    async def _exchange(self, method: str, path: str, headers: Mapping[str, str], body: bytes) -> RawResponse:
        began, remaining = monotonic(), self.limits.remaining_seconds
        timeouts = dict.fromkeys(("connect", "read", "write", "pool"), min(self._timeout, remaining))
        pairs = [(name.encode("ascii"), value.encode("latin-1")) for name, value in headers.items()]
        try:
            request = httpx2.Request(
                method, self.base + path, headers=pairs, content=body or None, extensions={"timeout": timeouts}
            )
            async with asyncio.timeout(min(2 * self._timeout, remaining)):
                response = await self._transport.handle_async_request(request)
                try:
                    content = await _read(response)
                finally:
                    await response.aclose()
        except (httpx2.ConnectError, httpx2.ConnectTimeout) as problem:
            raise Unreachable(f"could not connect: {_cause(problem)}") from problem
        except (httpx2.TimeoutException, TimeoutError) as problem:
            raise NoResponse(f"no complete response within {monotonic() - began:.0f} s") from problem
        except httpx2.RemoteProtocolError as problem:
            # The library's message quotes the response, possibly a cookie.
            raise NoResponse("the response is not HTTP or is incomplete") from problem
        except (httpx2.TransportError, OSError) as problem:
            raise NoResponse(f"the connection was lost: {_cause(problem)}") from problem
        pairs_received = tuple(
            (name.decode("latin-1").lower(), value.decode("latin-1")) for name, value in response.headers.raw
        )
        return RawResponse(response.status_code, pairs_received, content, is_login=path == LOGIN_PATH)


async def _read(response: httpx2.Response) -> bytes:
    parts, size = [], 0
    async for part in response.aiter_raw():
        parts.append(part)
        size += len(part)
        if size > MAX_RESPONSE_BYTES:
            raise NoResponse(f"the response is larger than {MAX_RESPONSE_BYTES // 1024 // 1024} MiB")
    return b"".join(parts)


def _cause(problem: BaseException) -> str:
    """Describe the root cause, preferably with the system's message; outer exceptions only say that it failed."""
    while cause := problem.__cause__ or problem.__context__:
        problem = cause
    if isinstance(problem, BaseExceptionGroup):
        return _cause(problem.exceptions[0])
    if isinstance(problem, ssl.SSLCertVerificationError):
        return f"the certificate is not trusted: {problem.verify_message}"
    if isinstance(problem, OSError) and problem.errno is not None and problem.errno > 0:
        return os.strerror(problem.errno)
    return getattr(problem, "strerror", None) or type(problem).__name__


BodyForm = Literal["JSON", "form"]
Headers = Mapping[str, str | None]
"""A header with the value None is omitted."""
ClientsBySession = dict[str, "ConsoleClient"]
"""Clients that may be logged in, by session ID."""

MAX_COOKIES: Final = 50
"""Maximum number of unexpected cookies in a jar; browsers store not many more."""


class Account(NamedTuple):
    username: str
    password: str


class ConsoleClient:
    def __init__(
        self,
        sender: Sender,
        region: str,
        jar: Mapping[str, str] | None = None,
        logged_in: ClientsBySession | None = None,
    ) -> None:
        """Clients that may have logged in are recorded in `logged_in`, so that all sessions are ended."""
        self.jar: dict[str, str] = dict(jar or {})
        self._sender = sender
        self._region = region
        self._logged_in: ClientsBySession = {} if logged_in is None else logged_in

    @property
    def token(self) -> str:
        """Read for each call: some servers change it at login."""
        return self.jar.get(CSRF_COOKIE, "")

    @property
    def session(self) -> str:
        return self.jar.get(SESSION_COOKIE, "")

    def copy(self, **jar: str) -> "ConsoleClient":
        """Return a client with a copy of the jar and some cookies replaced."""
        return ConsoleClient(self._sender, self._region, self.jar | jar, self._logged_in)

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
                self._record_login()
            raise
        self._store_cookies(response)
        is_rejected = 400 <= response.status < 500 and not response.set_cookies
        if is_login and not is_rejected:
            self._record_login()
        return response

    def _store_cookies(self, response: RawResponse) -> None:
        for cookie in response.set_cookies:
            if cookie.is_deleted:
                self.jar.pop(cookie.name, None)
            elif cookie.name in (CSRF_COOKIE, SESSION_COOKIE, *self.jar) or len(self.jar) < MAX_COOKIES:
                self.jar[cookie.name] = cookie.value

    def _record_login(self) -> None:
        if self.session:
            self._logged_in[self.session] = self.copy()
            self._sender.limits.reserved_logouts = len(self._logged_in)

    def open(self, headers: Headers | None = None) -> RawResponse:
        return self.send("GET", "/api/", headers)

    def login(self, account: Account, headers: Headers | None = None, **changes: str | None) -> RawResponse:
        """Log in; a field with the value None is omitted."""
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
        """Send a call with exactly this body."""
        sent: dict[str, str | None] = {"Content-Type": content_type, "X-CSRFToken": self.token}
        return self.send("POST", "/api/", sent | dict(headers or {}), body)

    def logout(self, headers: Headers | None = None) -> RawResponse:
        session = self.session
        response = self.send("POST", "/auth/logout/", {"X-CSRFToken": self.token} | dict(headers or {}))
        if response.status < 400:
            self._logged_in.pop(session, None)
            self._sender.limits.reserved_logouts = len(self._logged_in)
        return response


FORMS: Final[tuple[BodyForm, ...]] = ("JSON", "form")
ACTION_NAMES: Final = tuple(action.name for action in ACTIONS)
OBJECTS: Final = ("GetUsageLimits", "GetFlavors", "GetDomainDetail")
"""Actions whose `data` is an object; that of the others is an array."""


class Target(NamedTuple):
    """The console under test, as given to the command."""

    base: str
    region: str
    account: Account
    other: Account | None = None
    domains: tuple[str, ...] = ()

    @property
    def origin(self) -> str:
        """The Origin that a browser sends from this server's own pages."""
        parts = urlsplit(normalise_base_url(self.base))
        return f"{parts.scheme}://{parts.netloc}"


class WorkingCall(NamedTuple):
    """A successful call: action, body form, fields and response."""

    action: str
    form: BodyForm
    fields: dict[str, str]
    response: RawResponse
