"""HTTP connection on uvicorn: size limits, timeouts, and load shedding."""

import asyncio
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, Final, NoReturn

import httptools
from typing_extensions import override
from uvicorn.protocols.http.httptools_impl import RequestResponseCycle

from cloudconsole.server.http.health import HEALTH_PATHS
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
from cloudconsole.server.http.timeouts import TimeoutProtocol
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
        """Read nothing more for now."""
        self.is_paused = True
        if not self.transport.is_closing():
            self.transport.pause_reading()

    def resume(self) -> None:
        """Read on."""
        self.is_paused = False
        if not self.transport.is_closing():
            self.transport.resume_reading()

    async def _attend(self, cycle: RequestResponseCycle, app: Any, came_late: bool) -> None:
        """In a crowd: refuse a call whose turn comes too late, by the shortest way."""
        # A body that is still arriving would have to be read all the same.
        may_be_refused = not cycle.more_body and cycle.scope["path"] not in HEALTH_PATHS
        if may_be_refused and self.load_shedder.should_reject(came_late=came_late):
            write_rejection(cycle, self.load_shedder, self._last_head)
            self.metrics.add(SHED_REQUESTS)
            if not came_late:
                self.load_shedder.pause(self)
        else:
            await cycle.run_asgi(app)

    def _has_place(self) -> bool:
        return len(self.connections) <= self.max_connections

    def _refuse_place(self) -> None:
        """Answer before anything was asked; a moment to read that is left, since closing at once might reset it."""
        self.metrics.add(CONNECTION_REJECTIONS[HTTPStatus.SERVICE_UNAVAILABLE])
        self.transport.write(connection_limit_response(self.config.encoded_headers))
        self.loop.call_later(LINGER_SECONDS, self.transport.abort)


MOST_HEAD_BYTES: Final = 32 * 1024
MOST_HEADERS: Final = 100
"""Of one request, and as many trailers."""
MOST_PATH_ESCAPES: Final = 256
"""Each takes a step of a Python loop to decode; no path of ours has any."""
MOST_FRAMING_BYTES: Final = 1024 * 1024
"""Of one request, what is not body: its head, the frames of its chunks and its trailers."""
MOST_SMALL_PIECES: Final = 256
"""Chunks or reads of one body that may be small; others have 256 bytes or more on average."""
LEAST_PIECE: Final = 256

MOST_PIPELINED: Final = 100
"""Requests that may wait for the answers to those before them; each costs far more memory here than on the wire."""
MOST_PIPELINED_IN_ALL: Final = 50_000
"""Of one worker: where there are many connections, each may send fewer ahead."""

CLOSE_SECONDS: Final = 0.5
"""Time for a client to close its side of a connection that a stopping server has ended."""


class LimitedProtocol(SheddingProtocol):
    """Refuses heads over 32 KiB or 100 headers (431) and requests that take too long to arrive (408), by bare answers.

    An offer to upgrade is ignored, as the standard allows; a caller that closes only its sending side is answered.
    What was sent in good order before a refusal is answered first.
    """

    _arriving = False
    _in_head = False
    _head_may_be_large = False
    _offered_upgrade = False
    _refused = False
    _completed_one = False
    _framing_bytes = 0
    _trailers = 0
    _pieces = 0
    _body_bytes = 0
    _deadline: asyncio.TimerHandle | None = None
    _task: asyncio.Task[None] | None = None

    @override
    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if self._has_place():
            self._watch_deadline(arriving=True)
        else:
            self._refused = True
            self._refuse_place()

    @override
    def connection_lost(self, exc: Exception | None) -> None:
        self._watch_deadline(arriving=False)
        super().connection_lost(exc)

    @override
    def data_received(self, data: bytes) -> None:
        if self._refused or self.transport.is_closing():
            return
        self.is_idle = False
        self._arriving = True
        self._completed_one = False
        # A head that begins and ends in this piece is no larger than it.
        self._head_may_be_large = self._in_head or len(data) > MOST_HEAD_BYTES
        self._framing_bytes += len(data)
        try:
            self._feed(data)
        except httptools.HttpParserError:
            self.send_400_response("Invalid HTTP request received.")
        if self._completed_one:
            self._framing_bytes = 0
        elif self._framing_bytes > (MOST_HEAD_BYTES if self._in_head else MOST_FRAMING_BYTES):
            self._refuse(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE)
        arriving = self._arriving and not self._refused
        if arriving or self._deadline is not None:
            self._watch_deadline(arriving=arriving)

    @override
    def eof_received(self) -> bool:  # type: ignore[override]
        if self._arriving:
            self._refuse(HTTPStatus.BAD_REQUEST, b"The request ended before it was complete.")
        last = self._last_to_answer()
        if last is None or self.scheme == "https":
            return False
        last.keep_alive = False
        return True

    @override
    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._arriving = self._in_head = True
        self._offered_upgrade = False
        self._trailers = self._pieces = self._body_bytes = 0

    @override
    def on_header(self, name: bytes, value: bytes) -> None:
        # Trailers come here too, and are no headers.
        if self._in_head:
            name = name.lower()
            if name == b"expect":
                self.expect_100_continue = value.lower() == b"100-continue"
            self.headers.append((name, value))
        else:
            self._trailers += 1
        if len(self.headers) > MOST_HEADERS or self._trailers > MOST_HEADERS:
            self._refuse_head()

    @override
    def on_headers_complete(self) -> None:
        self._in_head = False
        if self._head_may_be_large and self._head_bytes() > MOST_HEAD_BYTES:
            self._refuse_head()
        if b"%" in self.url and self.url.partition(b"?")[0].count(b"%") > MOST_PATH_ESCAPES:
            raise ValueError("too many escapes in the path")
        if self.pipeline and len(self.pipeline) >= self._most_pipelined():
            raise ValueError("too many requests without waiting for an answer")
        self._offered_upgrade = self.parser.should_upgrade()
        if not self._offered_upgrade:
            super().on_headers_complete()
        elif self.parser.get_method() == b"CONNECT":
            raise ValueError("this is no proxy")

    @override
    def on_body(self, body: bytes) -> None:
        self._framing_bytes -= len(body)
        self._body_bytes += len(body)
        self._pieces += 1
        if self._pieces > MOST_SMALL_PIECES + self._body_bytes // LEAST_PIECE:
            raise ValueError("too many small pieces of a body")
        if self.cycle.response_complete:
            # The answer went out long ago and the application has thrown away as much as it will.
            self.transport.close()
        super().on_body(body)

    @override
    def on_message_complete(self) -> None:
        if not self._offered_upgrade:
            self._arriving = False
            self._completed_one = True
            scope: dict[str, Any] = self.cycle.scope  # type: ignore[assignment]
            scope[ARRIVAL] = self.sequence.next()
            # For an application that has not begun yet: it need not ask for it.
            scope[WHOLE_BODY] = self.cycle.body
            super().on_message_complete()

    @override
    def shutdown(self) -> None:
        """End the connection, since the server stops, without losing a request that is on its way.

        A connection without a request gets 503 before it ends: a client that sends one at this moment reads that as the
        response to it, and one that sends none discards the connection. What still arrives is read, because closing a
        connection with unread data resets it.
        """
        if self._refused:
            return
        cycle: RequestResponseCycle | None = self.cycle
        if cycle is not None and (cycle.more_body or not cycle.response_complete):
            super().shutdown()
            return
        self._refused = True
        self._watch_deadline(arriving=False)
        if self.is_paused:
            self.resume()
        self.transport.write(connection_limit_response(self.config.encoded_headers))
        if self.transport.can_write_eof():
            self.transport.write_eof()
        self.loop.call_later(CLOSE_SECONDS, self.transport.close)

    @override
    def send_400_response(self, msg: str) -> None:
        self._refuse(HTTPStatus.BAD_REQUEST, msg.encode("ascii"))

    def _most_pipelined(self) -> int:
        return min(MOST_PIPELINED, MOST_PIPELINED_IN_ALL // len(self.connections))

    def _head_bytes(self) -> int:
        return len(self.url) + sum(len(name) + len(value) + 4 for name, value in self.headers)

    def _feed(self, data: bytes) -> None:
        while data:
            try:
                self.parser.feed_data(data)
            except httptools.HttpParserUpgrade as offer:
                # The parser takes what follows the offer for another protocol, a body included: it starts anew with
                # the same request without the offer.
                data = self._head_without_offer() + data[offer.args[0] :]
                self.parser = httptools.HttpRequestParser(self)
                self.parser.set_dangerous_leniencies(lenient_data_after_close=True)
            else:
                return

    def _head_without_offer(self) -> bytes:
        first = b"%b %b HTTP/%b" % (self.parser.get_method(), self.url, self.parser.get_http_version().encode())
        kept = (b"%b: %b" % header for header in self.headers if header[0] != b"upgrade")
        return b"\r\n".join([first, *kept, b"", b""])

    def _watch_deadline(self, *, arriving: bool) -> None:
        """One deadline for a whole request, from the connection's start or its own first byte to its last."""
        if arriving and self._deadline is None:
            self._deadline = self.loop.call_later(self.request_timeout, self._refuse, HTTPStatus.REQUEST_TIMEOUT)
        elif not arriving and self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    @override
    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        self._running = cycle
        load_shedder = self.load_shedder
        scope: dict[str, Any] = cycle.scope  # type: ignore[assignment]
        if not cycle.more_body:
            # It waited behind others, whose effects it must see.
            scope[ARRIVAL] = self.sequence.next()
        scope[HEADERS_CACHE] = self._last_head
        scope[RESPONSE_WRITER] = ResponseWriter(cycle, load_shedder)
        load_shedder.came += 1
        if load_shedder.came >= MIN_REQUESTS or load_shedder.is_on:
            load_shedder.watch()
        way = self._attend(cycle, app, self.was_late) if load_shedder.watches else cycle.run_asgi(app)
        # Held by its connection, which has one at a time; the server's own list would cost a callback for each call.
        self._task = self.loop.create_task(way)

    def _refuse_head(self) -> NoReturn:
        self._refuse(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE)
        raise ValueError("request head too large")

    def _refuse(self, status: HTTPStatus, text: bytes = b"") -> None:
        if self._refused or self.transport.is_closing():
            return
        self._refused = True
        self.metrics.add(CONNECTION_REJECTIONS[status])
        last = self._last_to_answer()
        if last is not None:
            last.keep_alive = False
            return
        cycle: RequestResponseCycle | None = self.cycle
        if cycle is None or cycle.response_complete or not cycle.response_started:
            self.transport.write(bare_response(status, text, self.config.encoded_headers))
        if cycle is not None:
            cycle.disconnected = True
        self.transport.close()

    def _last_to_answer(self) -> RequestResponseCycle | None:
        """The last request that arrived whole and is not answered yet; one behind it will not be."""
        if self.pipeline and self.pipeline[0][0].more_body:
            self.pipeline.popleft()
        last = self.pipeline[0][0] if self.pipeline else self._running
        return None if last is None or last.response_complete or last.more_body else last
