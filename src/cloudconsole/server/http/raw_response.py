"""Responses written to the connection as bytes, without uvicorn: plain successes and cheap rejections."""

from functools import cache
from http import HTTPStatus

from uvicorn.protocols.http.httptools_impl import RequestResponseCycle

from cloudconsole.server.http.load_shedding import LoadShedder
from cloudconsole.server.http.request import HeadersCache, new_request_id
from cloudconsole.server.http.response import CLOSED_POLICY, JSON_TYPE, NO_STORE, SECURITY_HEADERS, HeaderList
from cloudconsole.spec import envelope
from cloudconsole.spec.errors import Unavailable
from cloudconsole.spec.i18n import Language


class ResponseWriter:
    """Writes a response at once; uvicorn takes two messages and checks each header."""

    __slots__ = ("_cycle", "_load_shedder")

    def __init__(self, cycle: RequestResponseCycle, load_shedder: LoadShedder) -> None:
        self._cycle = cycle
        self._load_shedder = load_shedder

    def write(self, head: bytes, body: bytes) -> bool:
        """Write a response; return False if the connection cannot take it now."""
        cycle = self._cycle
        if cycle.flow.write_paused or cycle.disconnected:
            return False
        lines = [head, *(b"%b: %b\r\n" % header for header in cycle.default_headers)]
        if not cycle.keep_alive:
            lines.append(b"connection: close\r\n")
        cycle.transport.write(b"".join([*lines, b"\r\n", body]))
        self._load_shedder.arrived = 0
        cycle.response_started = cycle.response_complete = True
        cycle.message_event.set()
        if not cycle.keep_alive:
            cycle.transport.close()
        cycle.on_response()
        return True


def write_rejection(cycle: RequestResponseCycle, load_shedder: LoadShedder, last_head: HeadersCache) -> None:
    """Send a complete, prepared 503 without uvicorn's response code; the connection stays open."""
    head = last_head.read(list(cycle.scope["headers"]))
    first, body = _rejection(head.language)
    first += (head.given_request_id or new_request_id()).encode()
    writer = ResponseWriter(cycle, load_shedder)
    if not writer.write(first + b"\r\n", b"" if cycle.scope["method"] == "HEAD" else body):
        # The client does not read its responses: another one is pointless.
        cycle.transport.close()


@cache
def _rejection(language: Language) -> tuple[bytes, bytes]:
    """Return head and body, without the value of `x-request-id`, the last header."""
    error = Unavailable()
    body = envelope.error(error, language)
    headers = [
        JSON_TYPE,
        (b"content-length", b"%d" % len(body)),
        (b"retry-after", b"%d" % (error.retry_after or 0)),
        CLOSED_POLICY,
        NO_STORE,
        *SECURITY_HEADERS,
    ]
    lines = b"".join(b"%b: %b\r\n" % header for header in headers)
    return b"HTTP/1.1 503 Service Unavailable\r\n%bx-request-id: " % lines, body


def connection_limit_response(extra_headers: HeaderList) -> bytes:
    """Return the 503 for a connection over the limit, which is then closed."""
    head, body = _rejection("en")
    lines = b"".join(b"%b: %b\r\n" % header for header in [*extra_headers, (b"connection", b"close")])
    return b"%b%b\r\n%b\r\n%b" % (head, new_request_id().encode(), lines, body)


def bare_response(status: HTTPStatus, text: bytes, extra_headers: HeaderList) -> bytes:
    """Return a plain-text response without envelope, for a request that was rejected before it was complete."""
    headers = [
        (b"content-type", b"text/plain"),
        (b"content-length", b"%d" % len(text)),
        (b"connection", b"close"),
        (b"x-request-id", new_request_id().encode()),
        CLOSED_POLICY,
        NO_STORE,
        *SECURITY_HEADERS,
        *extra_headers,
    ]
    first = f"HTTP/1.1 {status.value} {status.phrase}".encode()
    lines = [first, *(b"%b: %b" % header for header in headers), b"", text]
    return b"\r\n".join(lines)
