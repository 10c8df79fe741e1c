"""Answers as bytes, written to the connection without uvicorn: plain successes, and refusals of what is no request."""

from http import HTTPStatus

from uvicorn.protocols.http.httptools_impl import RequestResponseCycle

from cloudconsole.server.http.request import new_request_id
from cloudconsole.server.http.response import CLOSED_POLICY, NOT_KEPT, SECURITY_HEADERS, Headers


def write_whole(cycle: RequestResponseCycle, head: bytes, body: bytes) -> bool:
    """Do at once what uvicorn does in two messages, after looking at each header: ours were put together by us."""
    if cycle.flow.write_paused or cycle.disconnected:
        return False
    lines = [head, *(b"%b: %b\r\n" % header for header in cycle.default_headers)]
    if not cycle.keep_alive:
        lines.append(b"connection: close\r\n")
    cycle.transport.write(b"".join([*lines, b"\r\n", body]))
    cycle.response_started = cycle.response_complete = True
    cycle.message_event.set()
    if not cycle.keep_alive:
        cycle.transport.close()
    cycle.on_response()
    return True


def bare_answer(status: HTTPStatus, text: bytes, more_headers: Headers) -> bytes:
    """For a request that never was whole: the connection's own answer, without an envelope."""
    headers = [
        (b"content-type", b"text/plain"),
        (b"content-length", b"%d" % len(text)),
        (b"connection", b"close"),
        (b"x-request-id", new_request_id().encode()),
        CLOSED_POLICY,
        NOT_KEPT,
        *SECURITY_HEADERS,
        *more_headers,
    ]
    first = f"HTTP/1.1 {status.value} {status.phrase}".encode()
    lines = [first, *(b"%b: %b" % header for header in headers), b"", text]
    return b"\r\n".join(lines)
