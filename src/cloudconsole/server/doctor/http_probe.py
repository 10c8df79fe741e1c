"""Probe a URL: status, TLS, clock skew."""

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

from cloudconsole.server.doctor.results import Finding, problem, run_with_timeout, warning
from cloudconsole.server.runtime.tls import EXPIRY_WARNING, decoded_expiry

TIMEOUT_SECONDS: Final = 5
"""Without anything coming."""
LONGEST_SECONDS: Final = 15
"""For the whole answer, however it drips."""
LARGEST_ANSWER: Final = 1024 * 1024
LONGEST_QUOTE: Final = 200
"""So much is shown of what something else said."""

_HEADERS: Final = {"Accept": "application/json", "User-Agent": "cloudconsole-doctor"}


class NoResponse(Exception):
    """Nothing that speaks HTTP was reached; the text says why."""

    def __init__(self, reason: str, *, was_reached: bool = False) -> None:
        super().__init__(reason)
        self.was_reached = was_reached
        """Whether something is there, which then said nothing that could be understood."""


class ProbeResponse(NamedTuple):
    origin: str
    status: int
    headers: http.client.HTTPMessage
    body: bytes
    asked_at: float
    answered_at: float
    certificate: bytes | None = None
    """What it showed, where it speaks https; in DER."""

    @property
    def welcome(self) -> dict[str, Any] | None:
        """What a console says to a newcomer; None where something else answers."""
        data = self._object("data")
        return data if "regions" in data and "actions" in data else None

    @property
    def is_console(self) -> bool:
        """Whether a console answers, be it with an error."""
        return self.welcome is not None or {"message", "code", "data", "error"} <= set(self._json())

    @property
    def version(self) -> dict[str, Any]:
        """What a service of a cloud says of its version; nothing where something else answers."""
        return self._object("version")

    def _object(self, key: str) -> dict[str, Any]:
        found = self._json().get(key)
        return found if isinstance(found, dict) else {}

    def _json(self) -> dict[str, Any]:
        try:
            found = json.loads(self.body)
        except (ValueError, RecursionError):
            return {}
        return found if isinstance(found, dict) else {}

    @property
    def cookies(self) -> dict[str, set[str]]:
        """The attributes of each cookie, in lower case, by the cookie's name."""
        found = {}
        for line in self.headers.get_all("Set-Cookie") or []:
            pair, *attributes = line.split(";")
            found[pair.partition("=")[0].strip()] = {attribute.strip().lower() for attribute in attributes}
        return found

    @property
    def certificate_end(self) -> float | None:
        """When the certificate expires; None where there is none, or it does not tell."""
        try:
            return decoded_expiry(self.certificate or b"").timestamp()
        except ValueError:
            return None

    @property
    def clock_difference(self) -> float:
        """By how many seconds its clock is ahead of ours, or behind; nothing where it does not tell."""
        try:
            told = parsedate_to_datetime(self.headers["Date"]).timestamp()
        except (TypeError, ValueError, OverflowError):
            return 0.0
        # The header has whole seconds, and was written some time between asking and answer.
        if told + 1 < self.asked_at:
            return told + 1 - self.asked_at
        return max(0.0, told - self.answered_at)


def quoted(said: object) -> str:
    """What something else said, as short as it is fit to be shown."""
    text = str(said)
    return text if len(text) <= LONGEST_QUOTE else text[:LONGEST_QUOTE] + "…"


def probe(origin: str, path: str = "/api/", *, trusting: bool = False, ca_file: Path | None = None) -> ProbeResponse:
    """`GET` of a path below an origin; a redirect is not followed.

    `trusting` takes any certificate; `ca_file` says whom to trust instead of the system's.
    """
    try:
        return run_with_timeout(LONGEST_SECONDS, lambda: _probe(origin, path, _tls(trusting=trusting, ca_file=ca_file)))
    except TimeoutError:
        raise NoResponse(f"no whole answer within {LONGEST_SECONDS} seconds") from None


def speaks_https(place: str) -> bool:
    """Whether what did not answer by plain http would answer by https."""
    try:
        probe(place.replace("http:", "https:", 1), trusting=True)
    except NoResponse as reason:
        return reason.was_reached
    return True


def _probe(origin: str, path: str, tls: SSLContext) -> ProbeResponse:
    connection = _connection(origin, tls)
    asked_at, was_reached = time.time(), False
    try:
        connection.connect()
        was_reached = True
        certificate = connection.sock.getpeercert(binary_form=True) if isinstance(connection.sock, SSLSocket) else None
        connection.request("GET", urlsplit(origin).path + path, headers=_HEADERS)
        response = connection.getresponse()
        body = response.read(LARGEST_ANSWER)
        return ProbeResponse(origin, response.status, response.headers, body, asked_at, time.time(), certificate)
    except (OSError, http.client.HTTPException) as problem:
        raise NoResponse(quoted(problem) or type(problem).__name__, was_reached=was_reached) from problem
    finally:
        connection.close()


def _connection(origin: str, tls: SSLContext) -> http.client.HTTPConnection:
    place = urlsplit(origin)
    if place.scheme != "https":
        return http.client.HTTPConnection(place.hostname or "", place.port, timeout=TIMEOUT_SECONDS)
    return http.client.HTTPSConnection(place.hostname or "", place.port, timeout=TIMEOUT_SECONDS, context=tls)


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
        yield warning(text, "run a time service on both")


def certificate_findings(
    certificate: str, response: ProbeResponse, now: float, mend: str, command: str = ""
) -> Iterator[Finding]:
    if response.certificate_end is not None:
        yield from expiry_findings(certificate, response.certificate_end, now, mend, command)


def expiry_findings(certificate: str, end: float, now: float, mend: str, command: str = "") -> Iterator[Finding]:
    if end > now + EXPIRY_WARNING.total_seconds():
        return
    moment = datetime.fromtimestamp(end, UTC).strftime("%Y-%m-%d %H:%M UTC")
    if end <= now:
        yield problem(f"{certificate} expired on {moment}", mend, command)
    else:
        yield warning(f"{certificate} expires on {moment}", mend, command)
