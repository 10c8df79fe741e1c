"""One call to a running console, as a newcomer makes it."""

import http.client
import json
import re
import time
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from queue import Empty, Queue
from ssl import CERT_NONE, SSLSocket, create_default_context
from threading import Thread
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

TIMEOUT_SECONDS: Final = 5
"""Without anything coming."""
LONGEST_SECONDS: Final = 15
"""For the whole answer, however it drips."""
LARGEST_ANSWER: Final = 1024 * 1024
LONGEST_QUOTE: Final = 200
"""So much is shown of what something else said."""

_TIME: Final = rb"(?:\x17\x0d|\x18\x0f)"
_VALIDITY: Final = re.compile(_TIME + rb"[0-9]{12,14}Z" + _TIME + rb"(?P<end>[0-9]{12,14})Z")
"""The only place in a certificate where two times follow each other."""


class NoAnswer(Exception):
    """Nothing that speaks HTTP was reached; the text says why."""

    def __init__(self, reason: str, *, was_reached: bool = False) -> None:
        super().__init__(reason)
        self.was_reached = was_reached
        """Whether something is there, which then said nothing that could be understood."""


class Answer(NamedTuple):
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
        try:
            data = json.loads(self.body)["data"]
        except (ValueError, KeyError, TypeError, RecursionError):
            return None
        return data if isinstance(data, dict) and "regions" in data and "actions" in data else None

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
        found = _VALIDITY.search(self.certificate or b"")
        if found is None:
            return None
        text = found["end"].decode()
        # Two digits of a year, as X.509 has them, are of 1950 to 2049.
        text = text if len(text) == 14 else ("20" if text < "50" else "19") + text
        try:
            return datetime.strptime(text, "%Y%m%d%H%M%S").replace(tzinfo=UTC).timestamp()
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


def quote(said: object) -> str:
    """What something else said, as short as it is fit to be shown."""
    text = str(said)
    return text if len(text) <= LONGEST_QUOTE else text[:LONGEST_QUOTE] + "…"


def ask(origin: str, *, trusting: bool = False) -> Answer:
    """`GET /api/` at an origin; a redirect is not followed. `trusting` takes any certificate."""
    answers: Queue[Answer | Exception] = Queue()

    def wait_for_it() -> None:
        try:
            answers.put(_ask(origin, trusting=trusting))
        except Exception as problem:  # noqa: BLE001
            answers.put(problem)

    # Names, connections, handshakes and answers can all be slow in ways of their own: no timeout of theirs holds for
    # the whole. Whoever is still waited for then, is left to the end of this process.
    Thread(target=wait_for_it, daemon=True).start()
    try:
        answer = answers.get(timeout=LONGEST_SECONDS)
    except Empty:
        raise NoAnswer(f"no whole answer within {LONGEST_SECONDS} seconds") from None
    if isinstance(answer, Exception):
        raise answer
    return answer


def _ask(origin: str, *, trusting: bool) -> Answer:
    connection = _connection(origin, trusting=trusting)
    asked_at, was_reached = time.time(), False
    try:
        connection.connect()
        was_reached = True
        certificate = connection.sock.getpeercert(binary_form=True) if isinstance(connection.sock, SSLSocket) else None
        connection.request("GET", "/api/", headers={"Accept": "application/json", "User-Agent": "cloudconsole-doctor"})
        response = connection.getresponse()
        body = response.read(LARGEST_ANSWER)
        return Answer(origin, response.status, response.headers, body, asked_at, time.time(), certificate)
    except (OSError, http.client.HTTPException) as problem:
        raise NoAnswer(quote(problem) or type(problem).__name__, was_reached=was_reached) from problem
    finally:
        connection.close()


def _connection(origin: str, *, trusting: bool) -> http.client.HTTPConnection:
    place = urlsplit(origin)
    if place.scheme != "https":
        return http.client.HTTPConnection(place.hostname or "", place.port, timeout=TIMEOUT_SECONDS)
    context = create_default_context()
    if trusting:
        context.check_hostname = False
        context.verify_mode = CERT_NONE
    return http.client.HTTPSConnection(place.hostname or "", place.port, timeout=TIMEOUT_SECONDS, context=context)
