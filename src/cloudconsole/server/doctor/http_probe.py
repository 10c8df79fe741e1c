"""Probe a URL and report on its certificate and clock.

It uses `http.client`, because HTTP libraries hide what it reports: an untrusted certificate, and how far a failed
connection got.
"""

import http.client
import json
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from pathlib import Path
from ssl import CERT_NONE, SSLContext, SSLSocket, create_default_context
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

from cloudconsole.server.doctor.context_and_findings import Finding, problem, run_with_timeout, warning
from cloudconsole.server.runtime.tls import EXPIRY_WARNING, decoded_expiry

TIMEOUT_SECONDS: Final = 5
"""Timeout of each socket operation."""
MAX_SECONDS: Final = 15
"""Deadline of the whole response."""
MAX_RESPONSE: Final = 1024 * 1024
MAX_QUOTE: Final = 200
"""Characters shown of foreign text."""

_HEADERS: Final = {"Accept": "application/json", "User-Agent": "cloudconsole-doctor"}


class NoResponse(Exception):
    """No HTTP response; the text says why."""

    def __init__(self, reason: str, *, was_reached: bool = False) -> None:
        super().__init__(reason)
        self.was_reached = was_reached
        """Whether a connection was made; then its peer does not speak HTTP or TLS as expected."""


class ProbeResponse(NamedTuple):
    origin: str
    status: int
    headers: http.client.HTTPMessage
    body: bytes
    sent_at: float
    received_at: float
    certificate: bytes | None = None
    """The server's certificate in DER, if https."""

    @property
    def welcome(self) -> dict[str, Any] | None:
        """Data of a console's `GET /api/`; None if it is not a console."""
        data = self._object("data")
        return data if "regions" in data and "actions" in data else None

    @property
    def is_console(self) -> bool:
        """Whether a console responded, even with an error."""
        return self.welcome is not None or {"message", "code", "data", "error"} <= set(self._json())

    @property
    def version(self) -> dict[str, Any]:
        """The version document of an OpenStack service; empty otherwise."""
        return self._object("version")

    def _object(self, key: str) -> dict[str, Any]:
        value = self._json().get(key)
        return value if isinstance(value, dict) else {}

    def _json(self) -> dict[str, Any]:
        try:
            value = json.loads(self.body)
        except (ValueError, RecursionError):
            return {}
        return value if isinstance(value, dict) else {}

    @property
    def cookies(self) -> dict[str, set[str]]:
        """Lower-case attributes by cookie name."""
        cookies = {}
        for line in self.headers.get_all("Set-Cookie") or []:
            pair, *attributes = line.split(";")
            cookies[pair.partition("=")[0].strip()] = {attribute.strip().lower() for attribute in attributes}
        return cookies

    @property
    def certificate_end(self) -> float | None:
        """Expiry of the certificate; None without a readable one."""
        try:
            return decoded_expiry(self.certificate or b"").timestamp()
        except ValueError:
            return None

    @property
    def clock_difference(self) -> float:
        """Seconds by which the server's clock is ahead of ours; 0 without a valid Date header."""
        try:
            date = parsedate_to_datetime(self.headers["Date"]).timestamp()
        except (TypeError, ValueError, OverflowError):
            return 0.0
        # The header has whole seconds and was written between request and response.
        if date + 1 < self.sent_at:
            return date + 1 - self.sent_at
        return max(0.0, date - self.received_at)


def quoted(value: object) -> str:
    """Truncate foreign text for display."""
    text = str(value)
    return text if len(text) <= MAX_QUOTE else text[:MAX_QUOTE] + "…"


def probe(origin: str, path: str = "/api/", *, trusting: bool = False, ca_file: Path | None = None) -> ProbeResponse:
    """GET a path below an origin without following redirects.

    `trusting` accepts any certificate; `ca_file` replaces the system's certificates.
    """
    try:
        return run_with_timeout(MAX_SECONDS, lambda: _probe(origin, path, _tls(trusting=trusting, ca_file=ca_file)))
    except TimeoutError:
        raise NoResponse(f"no complete response within {MAX_SECONDS} seconds") from None


def speaks_https(origin: str) -> bool:
    """Return whether the server of an http URL responds over https."""
    try:
        probe(origin.replace("http:", "https:", 1), trusting=True)
    except NoResponse as reason:
        return reason.was_reached
    return True


def _probe(origin: str, path: str, tls: SSLContext) -> ProbeResponse:
    connection = _connection(origin, tls)
    sent_at, was_reached = time.time(), False
    try:
        connection.connect()
        was_reached = True
        certificate = connection.sock.getpeercert(binary_form=True) if isinstance(connection.sock, SSLSocket) else None
        connection.request("GET", urlsplit(origin).path + path, headers=_HEADERS)
        response = connection.getresponse()
        body = response.read(MAX_RESPONSE)
        return ProbeResponse(origin, response.status, response.headers, body, sent_at, time.time(), certificate)
    except (OSError, http.client.HTTPException) as problem:
        raise NoResponse(quoted(problem) or type(problem).__name__, was_reached=was_reached) from problem
    finally:
        connection.close()


def _connection(origin: str, tls: SSLContext) -> http.client.HTTPConnection:
    url = urlsplit(origin)
    if url.scheme != "https":
        return http.client.HTTPConnection(url.hostname or "", url.port, timeout=TIMEOUT_SECONDS)
    return http.client.HTTPSConnection(url.hostname or "", url.port, timeout=TIMEOUT_SECONDS, context=tls)


def _tls(*, trusting: bool, ca_file: Path | None) -> SSLContext:
    context = create_default_context(cafile=ca_file)
    if trusting:
        context.check_hostname = False
        context.verify_mode = CERT_NONE
    return context


CLOCK_TOLERANCE_SECONDS: Final = 5


def clock_findings(clock: str, response: ProbeResponse, because: str = "") -> Iterator[Finding]:
    difference = response.clock_difference
    if abs(difference) > CLOCK_TOLERANCE_SECONDS:
        direction = "ahead of" if difference > 0 else "behind"
        text = f"{clock} is {abs(difference):.0f} seconds {direction} this machine's{because}"
        yield warning(text, "run a time service on both machines")


def certificate_findings(
    certificate: str, response: ProbeResponse, now: float, fix: str, command: str = ""
) -> Iterator[Finding]:
    if response.certificate_end is not None:
        yield from expiry_findings(certificate, response.certificate_end, now, fix, command)


def expiry_findings(certificate: str, end: float, now: float, fix: str, command: str = "") -> Iterator[Finding]:
    if end > now + EXPIRY_WARNING.total_seconds():
        return
    moment = datetime.fromtimestamp(end, UTC).strftime("%Y-%m-%d %H:%M UTC")
    if end <= now:
        yield problem(f"{certificate} expired on {moment}", fix, command)
    else:
        yield warning(f"{certificate} expires on {moment}", fix, command)
