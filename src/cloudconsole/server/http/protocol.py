"""HTTP connection on uvicorn: size limits, timeouts, and load shedding."""

import asyncio
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, Final, NoReturn

import httptools
from typing_extensions import override
from uvicorn.protocols.http.httptools_impl import RequestResponseCycle

from cloudconsole.server.http.health import HEALTH_PATHS
from cloudconsole.server.http.idle_timeouts import TimeoutProtocol
from cloudconsole.server.http.load_shedding import MIN_REQUESTS, LoadShedder
from cloudconsole.server.http.raw_response import (
    ResponseWriter,
    bare_response,
    connection_limit_response,
    write_rejection,
)
from cloudconsole.server.http.request import (
    ARRIVAL,
    HEADERS_CACHE,
    RESPONSE_WRITER,
    WHOLE_BODY,
    HeadersCache,
    RequestSequence,
)
from cloudconsole.server.metrics.layout import CONNECTION_REJECTIONS, SHED_REQUESTS
from cloudconsole.server.metrics.shared_memory import WorkerMetrics

LINGER_SECONDS: Final = 1


@dataclass(frozen=True)
class ConnectionContext:
    """Limits and collaborators that all connections of a worker share."""

    request_timeout: float
    """Seconds for a request to arrive."""
    max_connections: int
    sequence: RequestSequence
    metrics: WorkerMetrics
    load_shedder: LoadShedder = field(default_factory=LoadShedder)


class SheddingProtocol(TimeoutProtocol):
    is_paused = False
    was_late = False

    def __init__(self, *arguments: Any, context: ConnectionContext, **options: Any) -> None:
        super().__init__(*arguments, request_timeout=context.request_timeout, **options)
        self.max_connections = context.max_connections
        self.sequence = context.sequence
        self.metrics = context.metrics
        self.load_shedder = context.load_shedder
        self._last_head = HeadersCache()

    def pause(self) -> None:
        """Stop reading."""
        self.is_paused = True
        if not self.transport.is_closing():
            self.transport.pause_reading()

    def resume(self) -> None:
        """Continue reading."""
        self.is_paused = False
        if not self.transport.is_closing():
            self.transport.resume_reading()

    async def _run_or_reject(self, cycle: RequestResponseCycle, app: Any, is_late: bool) -> None:
        """Run the application, or under overload reject the request with a pre-rendered response."""
        # The rest of an incomplete body would have to be read anyway.
        may_be_rejected = not cycle.more_body and cycle.scope["path"] not in HEALTH_PATHS
        if may_be_rejected and self.load_shedder.should_reject(is_late=is_late):
            write_rejection(cycle, self.load_shedder, self._last_head)
            self.metrics.add(SHED_REQUESTS)
            if not is_late:
                self.load_shedder.pause(self)
        else:
            await cycle.run_asgi(app)

    def _is_within_limit(self) -> bool:
        return len(self.connections) <= self.max_connections

    def _reject_connection(self) -> None:
        """Send 503 before any request and close later: closing at once might reset the connection."""
        self.metrics.add(CONNECTION_REJECTIONS[HTTPStatus.SERVICE_UNAVAILABLE])
        self.transport.write(connection_limit_response(self.config.encoded_headers))
        self.loop.call_later(LINGER_SECONDS, self.transport.abort)


MAX_HEAD_BYTES: Final = 32 * 1024
MAX_HEADERS: Final = 100
"""Per request; trailers have the same limit."""
MAX_PATH_ESCAPES: Final = 256
"""Each is decoded in a Python loop; no path of the console has any."""
MAX_FRAMING_BYTES: Final = 1024 * 1024
"""Bytes of one request outside its body: head, chunk framing and trailers."""
MAX_SMALL_CHUNKS: Final = 256
"""Chunks or reads of one body that may be small; the others must have `MIN_CHUNK` bytes on average."""
MIN_CHUNK: Final = 256

MAX_PIPELINED: Final = 100
"""Requests queued on one connection; each takes far more memory than it has bytes on the wire."""
MAX_PIPELINED_TOTAL: Final = 50_000
"""Per worker: with many connections, each may pipeline fewer requests."""

CLOSE_SECONDS: Final = 0.5
"""Time for a client to close its side of a connection that a stopping server has ended."""


class LimitedProtocol(SheddingProtocol):
    """Rejects heads over 32 KiB or 100 headers (431) and requests that take too long to arrive (408).

    `Upgrade` is ignored, as HTTP allows. A client that closes only its sending side still gets its responses. Valid
    requests before a rejected one get their responses first.
    """

    _arriving = False
    _in_head = False
    _head_may_be_large = False
    _has_upgrade = False
    _rejected = False
    _completed_one = False
    _framing_bytes = 0
    _trailers = 0
    _chunks = 0
    _body_bytes = 0
    _deadline: asyncio.TimerHandle | None = None
    _task: asyncio.Task[None] | None = None

    @override
    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if self._is_within_limit():
            self._watch_deadline(arriving=True)
        else:
            self._rejected = True
            self._reject_connection()

    @override
    def connection_lost(self, exc: Exception | None) -> None:
        self._watch_deadline(arriving=False)
        super().connection_lost(exc)

    @override
    def data_received(self, data: bytes) -> None:
        if self._rejected or self.transport.is_closing():
            return
        self.is_idle = False
        self._arriving = True
        self._completed_one = False
        # A head that begins and ends in this data is no larger than the data.
        self._head_may_be_large = self._in_head or len(data) > MAX_HEAD_BYTES
        self._framing_bytes += len(data)
        try:
            self._feed(data)
        except httptools.HttpParserError:
            self.send_400_response("Invalid HTTP request received.")
        if self._completed_one:
            self._framing_bytes = 0
        elif self._framing_bytes > (MAX_HEAD_BYTES if self._in_head else MAX_FRAMING_BYTES):
            self._reject(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE)
        arriving = self._arriving and not self._rejected
        if arriving or self._deadline is not None:
            self._watch_deadline(arriving=arriving)

    @override
    def eof_received(self) -> bool:  # type: ignore[override]
        if self._arriving:
            self._reject(HTTPStatus.BAD_REQUEST, b"The request ended before it was complete.")
        last = self._last_pending()
        if last is None or self.scheme == "https":
            return False
        last.keep_alive = False
        return True

    @override
    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._arriving = self._in_head = True
        self._has_upgrade = False
        self._trailers = self._chunks = self._body_bytes = 0

    @override
    def on_header(self, name: bytes, value: bytes) -> None:
        # The parser reports trailers here, too.
        if self._in_head:
            name = name.lower()
            if name == b"expect":
                self.expect_100_continue = value.lower() == b"100-continue"
            self.headers.append((name, value))
        else:
            self._trailers += 1
        if len(self.headers) > MAX_HEADERS or self._trailers > MAX_HEADERS:
            self._reject_head()

    @override
    def on_headers_complete(self) -> None:
        self._in_head = False
        if self._head_may_be_large and self._head_bytes() > MAX_HEAD_BYTES:
            self._reject_head()
        if b"%" in self.url and self.url.partition(b"?")[0].count(b"%") > MAX_PATH_ESCAPES:
            raise ValueError("too many escapes in the path")
        if self.pipeline and len(self.pipeline) >= self._max_pipelined():
            raise ValueError("too many pipelined requests")
        self._has_upgrade = self.parser.should_upgrade()
        if not self._has_upgrade:
            super().on_headers_complete()
        elif self.parser.get_method() == b"CONNECT":
            raise ValueError("CONNECT is not supported")

    @override
    def on_body(self, body: bytes) -> None:
        self._framing_bytes -= len(body)
        self._body_bytes += len(body)
        self._chunks += 1
        if self._chunks > MAX_SMALL_CHUNKS + self._body_bytes // MIN_CHUNK:
            raise ValueError("too many small chunks")
        if self.cycle.response_complete:
            # The response was sent, and the application has stopped discarding the rest of the body.
            self.transport.close()
        super().on_body(body)

    @override
    def on_message_complete(self) -> None:
        if not self._has_upgrade:
            self._arriving = False
            self._completed_one = True
            scope: dict[str, Any] = self.cycle.scope  # type: ignore[assignment]
            scope[ARRIVAL] = self.sequence.next()
            # An application that has not started yet need not receive the body in messages.
            scope[WHOLE_BODY] = self.cycle.body
            super().on_message_complete()

    @override
    def shutdown(self) -> None:
        """End the connection when the server stops, without losing a request in transit.

        A connection without a request gets 503 before it ends: a client that sends one at this moment reads that as the
        response to it, and one that sends none discards the connection. What still arrives is read, because closing a
        connection with unread data resets it.
        """
        if self._rejected:
            return
        cycle: RequestResponseCycle | None = self.cycle
        if cycle is not None and (cycle.more_body or not cycle.response_complete):
            super().shutdown()
            return
        self._rejected = True
        self._watch_deadline(arriving=False)
        if self.is_paused:
            self.resume()
        self.transport.write(connection_limit_response(self.config.encoded_headers))
        if self.transport.can_write_eof():
            self.transport.write_eof()
        self.loop.call_later(CLOSE_SECONDS, self.transport.close)

    @override
    def send_400_response(self, msg: str) -> None:
        self._reject(HTTPStatus.BAD_REQUEST, msg.encode("ascii"))

    def _max_pipelined(self) -> int:
        return min(MAX_PIPELINED, MAX_PIPELINED_TOTAL // len(self.connections))

    def _head_bytes(self) -> int:
        return len(self.url) + sum(len(name) + len(value) + 4 for name, value in self.headers)

    def _feed(self, data: bytes) -> None:
        while data:
            try:
                self.parser.feed_data(data)
            except httptools.HttpParserUpgrade as upgrade:
                # The parser treats everything after the head as another protocol, even a body. Parse the same request
                # again without `Upgrade`.
                data = self._head_without_upgrade() + data[upgrade.args[0] :]
                self.parser = httptools.HttpRequestParser(self)
                self.parser.set_dangerous_leniencies(lenient_data_after_close=True)
            else:
                return

    def _head_without_upgrade(self) -> bytes:
        first = b"%b %b HTTP/%b" % (self.parser.get_method(), self.url, self.parser.get_http_version().encode())
        headers = (b"%b: %b" % header for header in self.headers if header[0] != b"upgrade")
        return b"\r\n".join([first, *headers, b"", b""])

    def _watch_deadline(self, *, arriving: bool) -> None:
        """Start or cancel the deadline of a request, from the connection's start or its first byte to its last."""
        if arriving and self._deadline is None:
            self._deadline = self.loop.call_later(self.request_timeout, self._reject, HTTPStatus.REQUEST_TIMEOUT)
        elif not arriving and self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    @override
    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        self._running = cycle
        load_shedder = self.load_shedder
        scope: dict[str, Any] = cycle.scope  # type: ignore[assignment]
        if not cycle.more_body:
            # It was queued behind other requests, and must see their effects.
            scope[ARRIVAL] = self.sequence.next()
        scope[HEADERS_CACHE] = self._last_head
        scope[RESPONSE_WRITER] = ResponseWriter(cycle, load_shedder)
        load_shedder.arrived += 1
        if load_shedder.arrived >= MIN_REQUESTS or load_shedder.active:
            load_shedder.measure()
        run = self._run_or_reject(cycle, app, self.was_late) if load_shedder.measuring else cycle.run_asgi(app)
        # Referenced by its connection, which runs one at a time; uvicorn's task set would cost a callback per request.
        self._task = self.loop.create_task(run)

    def _reject_head(self) -> NoReturn:
        self._reject(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE)
        raise ValueError("request head too large")

    def _reject(self, status: HTTPStatus, text: bytes = b"") -> None:
        if self._rejected or self.transport.is_closing():
            return
        self._rejected = True
        self.metrics.add(CONNECTION_REJECTIONS[status])
        last = self._last_pending()
        if last is not None:
            last.keep_alive = False
            return
        cycle: RequestResponseCycle | None = self.cycle
        if cycle is None or cycle.response_complete or not cycle.response_started:
            self.transport.write(bare_response(status, text, self.config.encoded_headers))
        if cycle is not None:
            cycle.disconnected = True
        self.transport.close()

    def _last_pending(self) -> RequestResponseCycle | None:
        """Return the last complete request without a response; an incomplete one after it is dropped."""
        if self.pipeline and self.pipeline[0][0].more_body:
            self.pipeline.popleft()
        last = self.pipeline[0][0] if self.pipeline else self._running
        return None if last is None or last.response_complete or last.more_body else last
