"""HTTP client of the suite and the console under test; requests are limited in number, time and size.

`cloudconsole.client` would hide what the suite examines: it retries, logs in again and rejects invalid responses.
"""

import json
import ssl
import time
from collections.abc import Mapping
from typing import Any, Final, Literal, NamedTuple
from urllib.parse import urlencode, urlsplit

import httpx2

from cloudconsole.conformance.connection import Connection, Deadline, NoResponse, Received
from cloudconsole.conformance.limits import LOGIN_PATH, RunLimits
from cloudconsole.conformance.redaction import Secrets
from cloudconsole.conformance.responses import BUSY, RawResponse
from cloudconsole.spec.actions import ACTIONS
from cloudconsole.spec.console_url import normalise_base_url
from cloudconsole.spec.operations import FORM, JSON
from cloudconsole.spec.set_cookie import CSRF_COOKIE, SESSION_COOKIE

MAX_RECORDED_BYTES: Final = 16 * 1024 * 1024
"""Total bytes of responses recorded for checks of all responses; later ones are not recorded."""
MAX_WAIT: Final = 5
"""Maximum seconds of Retry-After to wait for."""
MAX_TOTAL_WAIT: Final = 60
"""Maximum seconds of waiting in a run."""


class Recorded(NamedTuple):
    """A response, for checks of all responses."""

    request: str
    response: RawResponse
    check: str
    """ID of the check that received it."""


class Loss(NamedTuple):
    """A request without a complete response."""

    request: str
    check: str
    """ID of the check that sent it."""
    problem: NoResponse


class Sender:
    """Context manager that sends requests to one base URL, each on a connection of its own.

    A kept-alive connection that the server closes would look like an error.
    """

    def __init__(
        self, base: str, accounts: Mapping[str, str], *, verify: ssl.SSLContext | bool = True, timeout: float = 10.0
    ) -> None:
        """`timeout` limits each step of a request; the whole request may take twice as long."""
        self.base = base
        self.limits = RunLimits(accounts)
        self.responses: list[Recorded] = []
        self.losses: list[Loss] = []
        self.secrets = Secrets(accounts.values())
        self.check = ""
        """ID of the check that is being made."""
        self._recorded = 0
        self._waited = 0
        self._timeout = timeout
        self._prefix = urlsplit(base).path.rstrip("/")
        # Loading CA certificates takes longer than many requests.
        self._context = httpx2.create_ssl_context(verify=verify, trust_env=False) if is_https(base) else None

    def __enter__(self) -> "Sender":
        return self

    def __exit__(self, *_: object) -> None:
        return

    def send(self, method: str, path: str, headers: Mapping[str, str], body: bytes = b"") -> RawResponse:
        """Send a request; if the server is busy and sends Retry-After, wait and send it once more."""
        response = self._send(method, path, headers, body)
        wait = response.retry_after
        if response.status in BUSY and wait is not None and self._may_wait(wait):
            self._waited += wait
            time.sleep(wait)
            response = self._send(method, path, headers, body)
        return response

    def connect(self, method: str, path: str, body: bytes = b"") -> Connection:
        """Open a connection for a request that the caller sends, and count the request."""
        self.limits.spend(method, path, body)
        total = min(2 * self._timeout, self.limits.remaining_seconds)
        return Connection(self.base, self._context, Deadline(self._timeout, total))

    def target(self, path: str) -> str:
        """Return the request target of a path."""
        return f"{self._prefix}{path}"

    def record(self, method: str, path: str, received: Received) -> RawResponse:
        """Record a response for checks of all responses."""
        response = RawResponse(received.status, received.headers, received.body, is_login=path == LOGIN_PATH)
        self.limits.unanswered = 0
        self._recorded += len(response.body)
        if self._recorded <= MAX_RECORDED_BYTES:
            self.responses.append(Recorded(f"{method} {path}", response, self.check))
        for cookie in (response.cookie(CSRF_COOKIE), response.cookie(SESSION_COOKIE)):
            if cookie is not None:
                self.secrets.add_cookie(cookie.value)
        return response

    def receive(self, connection: Connection, method: str, path: str) -> RawResponse:
        """Read and record the response to a request that the caller sent."""
        try:
            return self.record(method, path, connection.read_response())
        except NoResponse as problem:
            self.record_loss(method, path, problem)
            raise

    def record_loss(self, method: str, path: str, problem: NoResponse) -> None:
        self.limits.unanswered += 1
        self.losses.append(Loss(f"{method} {path}", self.check, problem))

    def _may_wait(self, seconds: int) -> bool:
        return (
            seconds <= MAX_WAIT and self._waited + seconds <= MAX_TOTAL_WAIT and seconds < self.limits.remaining_seconds
        )

    def _send(self, method: str, path: str, headers: Mapping[str, str], body: bytes) -> RawResponse:
        try:
            received = self._exchange(method, path, headers, body)
        except NoResponse as problem:
            self.record_loss(method, path, problem)
            raise
        return self.record(method, path, received)

    def _exchange(self, method: str, path: str, headers: Mapping[str, str], body: bytes) -> Received:
        with self.connect(method, path, body) as connection:
            pairs = framed(connection.host, method, headers, len(body))
            connection.send_request(method, self.target(path), pairs, body)
            return connection.read_response()


def framed(host: str, method: str, headers: Mapping[str, str], size: int) -> list[tuple[str, str]]:
    """Return the headers with Host and Content-Length."""
    length = {"Content-Length": str(size)} if size or method == "POST" else {}
    return list(({"Host": host} | length | dict(headers)).items())


def is_https(base: str) -> bool:
    return base.lower().startswith("https:")


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

    def headers(self, headers: Headers | None = None) -> dict[str, str]:
        """Return the headers of a request, with the cookies."""
        sent: dict[str, str | None] = {"Accept-Encoding": "identity", "User-Agent": "cloudconsole-conformance"}
        if self.jar:
            sent["Cookie"] = "; ".join(f"{name}={value}" for name, value in self.jar.items())
        sent |= headers or {}
        return {name: value for name, value in sent.items() if value is not None}

    def send(self, method: str, path: str, headers: Headers | None = None, body: bytes = b"") -> RawResponse:
        given = self.headers(headers)
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
    """Empty if it is to be the only one that the console lists."""
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
