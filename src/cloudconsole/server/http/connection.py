"""HTTP/1.1 connection: parsing, limits, timeouts, and responses in the order of the requests.

Data is parsed as it arrives. Once per iteration of the event loop, the next request of every connection is processed.
It runs without a task until it has to wait for something; one whose response is cached never does.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from email.utils import formatdate
from http import HTTPStatus
from math import inf
from typing import Final

from typing_extensions import override

from cloudconsole.core.coroutines import ensure_task, start
from cloudconsole.server.http.health import HEALTH_PATHS
from cloudconsole.server.http.load_shedding import LoadShedder
from cloudconsole.server.http.parser import InvalidRequest, RequestParser
from cloudconsole.server.http.request import ClientGone, Headers, Request, RequestSequence, new_request_id
from cloudconsole.server.http.response import CONNECTION_CLOSE, Response, render, unavailable_response
from cloudconsole.server.metrics.layout import CONNECTION_REJECTIONS, SHED_REQUESTS
from cloudconsole.server.metrics.shared_memory import WorkerMetrics

log = logging.getLogger(__name__)

MAX_UNREAD: Final = 64 * 1024
"""Bytes of a body that may arrive before the application wants them."""
MAX_DISCARDED: Final = 8 * 1024 * 1024
DISCARD_SECONDS: Final = 10
"""How much of a body is read, and how long, after its request has been answered."""

MAX_PIPELINED: Final = 100
"""Requests queued on one connection; each takes far more memory than it has bytes on the wire."""
MAX_PIPELINED_TOTAL: Final = 50_000
"""Per worker: with many connections, each may pipeline fewer requests."""

BATCH: Final = 32
"""Connections whose responses are written together."""

KEEP_ALIVE_SECONDS: Final = 75
LINGER_SECONDS: Final = 0.5
MAX_LINGER_BYTES: Final = 1024 * 1024
"""How long, and how many bytes, a rejected client may go on sending before the connection is closed."""


@dataclass
class Connections:
    """The connections of a worker, and what they share."""

    handle: Callable[[Request], Awaitable[Response | None]]
    """Returns the response, or None if the client has disconnected."""
    request_timeout: float
    """Seconds for a request to arrive, and for a client to read more of a response."""
    max_connections: int
    sequence: RequestSequence
    metrics: WorkerMetrics
    https_headers: bytes = b""
    """Header lines of all responses; empty without HSTS."""
    load_shedder: LoadShedder = field(default_factory=LoadShedder)
    common_headers: bytes = b""
    """Header lines of the application's responses: the date, renewed every second, and `https_headers`."""
    open: set["Connection"] = field(default_factory=set)
    in_flight: int = 0
    _ready: dict["Connection", None] = field(default_factory=dict)
    _second: int = 0

    @property
    def max_pipelined(self) -> int:
        return min(MAX_PIPELINED, MAX_PIPELINED_TOTAL // len(self.open)) or 1

    def tick(self) -> None:
        """Once a second, renew the date header and check timeouts; call this several times a second."""
        second = int(time.time())
        if second != self._second:
            self._second = second
            self.common_headers = b"date: %b\r\n%b" % (formatdate(second, usegmt=True).encode(), self.https_headers)
            now = asyncio.get_running_loop().time()
            for connection in list(self.open):
                connection.check_timeouts(now)

    def schedule(self, connection: "Connection") -> None:
        """Process the connection's requests as soon as everything that has arrived is read."""
        if not self._ready:
            asyncio.get_running_loop().call_soon(self._serve_ready)
        self._ready[connection] = None

    def _serve_ready(self) -> None:
        ready, self._ready = list(self._ready), {}
        arrival = self.sequence.next()
        self.load_shedder.start_iteration(len(ready))
        for first in range(0, len(ready), BATCH):
            # Writing in batches keeps the code that produces responses in the CPU caches.
            batch = ready[first : first + BATCH]
            for connection in batch:
                connection.serve(arrival)
            for connection in batch:
                connection.flush()


class Connection(asyncio.Protocol):
    """Connection of a client.

    A head over 32 KiB or 100 headers gets 431, a request that takes too long to arrive 408, an invalid one 400; valid
    requests before it get their responses first. `Upgrade` is ignored, as HTTP allows. A client that closes only its
    sending side still gets its responses.
    """

    # Initial values, which most connections never change.
    is_paused = was_late = _is_late = _ignores_input = _is_ending = _is_full = False
    _output = b""
    _is_reading = True
    _running: Request | None = None
    _task: asyncio.Task[None] | None = None
    _receiving_since = _idle_since = _stalled_since = inf
    _unsent = _ignored_bytes = 0

    def __init__(self, connections: Connections) -> None:
        self._connections = connections
        self._loop = asyncio.get_running_loop()
        self._received, self._writable, self.gone = asyncio.Event(), asyncio.Event(), asyncio.Event()
        self._writable.set()

    @override
    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        self._transport = transport
        peer, server = transport.get_extra_info("peername"), transport.get_extra_info("sockname")
        self._scheme = "http" if transport.get_extra_info("sslcontext") is None else "https"
        self._parser = RequestParser(self, peer[0] if peer else "", self._scheme, server[:2] if server else None)
        # Pause writing as soon as the socket buffer is full, until the client reads.
        transport.set_write_buffer_limits(high=1)
        self._receiving_since = self._loop.time()
        connections = self._connections
        connections.open.add(self)
        if len(connections.open) > connections.max_connections:
            connections.metrics.add(CONNECTION_REJECTIONS[HTTPStatus.SERVICE_UNAVAILABLE])
            self._end_with(unavailable_response("en"))
            # Even if the client does not close its side.
            self._loop.call_later(2 * LINGER_SECONDS, transport.abort)

    @override
    def connection_lost(self, exc: Exception | None) -> None:
        self._connections.open.discard(self)
        self._parser.waiting.clear()
        if self._running is not None:
            self._running.is_disconnected = True
        for event in (self._received, self._writable, self.gone):
            event.set()

    def drop(self) -> None:
        if self._running is not None:
            self._running.is_disconnected = True
        self._transport.abort()

    def shutdown(self) -> None:
        """End the connection when the server stops, without losing a request in transit.

        A client that sends one at this moment reads the 503 as the response to it; one that sends none discards it.
        """
        last = self._parser.waiting[-1] if self._parser.waiting else self._running
        if last is not None:
            last.keep_alive = False
        elif not self._ignores_input:
            self._end_with(unavailable_response("en"))

    def _end_with(self, response: Response) -> None:
        """End the connection with a response to no request in particular."""
        request = Request(Headers([]), "", "", keep_alive=False, request_id=new_request_id())
        self._output += render(response, request, self._connections.https_headers)
        self._ignores_input = self._is_ending = True
        self.flush()

    def flush(self) -> None:
        """Send the responses so far, and close the connection after the last."""
        if self._output:
            output, self._output = self._output, b""
            self._transport.write(output)
        if self._is_ending:
            self._close()

    def _close(self) -> None:
        if not self._ignores_input or not self._transport.can_write_eof():
            self._transport.close()
        elif not self._transport.is_closing():
            # What still arrives is read, because closing a connection with unread data resets it.
            self._parser.waiting.clear()
            self._receiving_since, self.is_paused, self._is_full = inf, False, False
            self.update_reading()
            self._transport.write_eof()
            self._loop.call_later(LINGER_SECONDS, self._transport.close)

    # Receiving.

    @override
    def data_received(self, data: bytes) -> None:
        if self._ignores_input or self._transport.is_closing():
            self._ignored_bytes += len(data)
            if self._ignored_bytes > MAX_LINGER_BYTES:
                self._transport.close()
            return
        parser, running = self._parser, self._running
        was_started_early = running is not None and not running.body_complete
        is_busy = running is not None or len(parser.waiting) > 0
        try:
            parser.feed(data, self._connections.max_pipelined - (running is not None))
        except InvalidRequest as problem:
            parser.unread_bytes = 0
            self._reject(problem.status, problem.text)
        self._idle_since = inf
        if not parser.is_receiving:
            self._receiving_since = inf
        elif self._receiving_since == inf or parser.completed:
            self._receiving_since = self._loop.time()
        if running is not None and was_started_early:
            running.arrival = self._connections.sequence.next() if running.body_complete else None
            self._received.set()
        elif parser.waiting and running is None:
            self._is_late = self.was_late
            self._connections.schedule(self)
        if parser.unread_bytes > MAX_UNREAD or (is_busy and parser.waiting):
            self._is_full = True
            self.update_reading()

    @override
    def eof_received(self) -> bool:
        self.gone.set()
        if self._parser.is_receiving:
            self._reject(HTTPStatus.BAD_REQUEST, b"The request ended before it was complete.")
        return self._end_after_pending() and self._scheme == "http"

    async def receive(self, request: Request) -> None:
        if not request.is_disconnected:
            if request.head.expects_continue and not request.is_continued and not request.response_started:
                request.is_continued = True
                self._output += b"HTTP/1.1 100 Continue\r\n\r\n"
                self.flush()
            self._parser.unread_bytes, self._is_full = 0, False
            self.update_reading()
            self._received.clear()
            await self._received.wait()
        if request.is_disconnected:
            raise ClientGone

    def update_reading(self) -> None:
        """Read only while neither overload nor what has arrived demands a pause."""
        is_reading = not self.is_paused and not self._is_full
        if is_reading != self._is_reading and not self._transport.is_closing():
            self._is_reading = is_reading
            (self._transport.resume_reading if is_reading else self._transport.pause_reading)()

    # Rejection.

    def _reject(self, status: HTTPStatus, text: bytes = b"") -> None:
        if self._ignores_input or self._transport.is_closing():
            return
        self._ignores_input = True
        self._connections.metrics.add(CONNECTION_REJECTIONS[status])
        if self._end_after_pending():
            return
        if self._running is not None:
            self._running.is_disconnected = True
        if self._running is None or not self._running.response_started:
            self._end_with(Response(status, text, content_type=b"text/plain"))
        else:
            self._transport.close()

    def _end_after_pending(self) -> bool:
        """End the connection after the responses to all complete requests, if there are any; drop an incomplete one."""
        waiting = self._parser.waiting
        if waiting and not waiting[-1].body_complete:
            waiting.pop()
        last = waiting[-1] if waiting else self._running
        if last is None or not last.body_complete:
            return False
        last.keep_alive = False
        return True

    # Processing.

    def serve(self, arrival: int) -> None:
        """Process the next waiting request, until it has to wait for something."""
        if not self._parser.waiting or self._is_ending or self._transport.is_closing():
            return
        request = self._running = self._parser.waiting.popleft()
        if request.body_complete:
            request.arrival = arrival
        self._connections.in_flight += 1
        rest = start(self._respond(request))
        if rest is not None:
            self._task = self._loop.create_task(self._continue(rest))
        elif self._parser.waiting:
            self._connections.schedule(self)

    async def _continue(self, rest: Awaitable[None]) -> None:
        await rest
        self.flush()
        if self._parser.waiting:
            self._connections.schedule(self)

    async def _respond(self, request: Request) -> None:
        connections = self._connections
        try:
            response = self._shed(request) if connections.load_shedder.active or self._is_late else None
            response = response or await connections.handle(request)
            if not self._writable.is_set():
                await self._writable.wait()
            if response is not None and not request.is_disconnected:
                request.response_started = True
                if CONNECTION_CLOSE in response.headers:
                    request.keep_alive = False
                self._output += render(response, request, connections.common_headers)
                if not request.body_complete:
                    self.flush()
                    await self._discard_body(request)
        except Exception:
            log.exception("%s %s: the response failed", request.method, request.path)
            self.drop()
        finally:
            connections.in_flight -= 1
            self._finish(request)

    def _shed(self, request: Request) -> Response | None:
        """Return a rejection if overload requires it."""
        load_shedder = self._connections.load_shedder
        # The rest of an incomplete body would have to be read anyway.
        may_be_rejected = request.body_complete and request.path not in HEALTH_PATHS
        if not may_be_rejected or not (self._is_late or load_shedder.should_reject()):
            return None
        self._connections.metrics.add(SHED_REQUESTS)
        if not self._is_late:
            load_shedder.pause(self)
        request.request_id = request.head.given_request_id or new_request_id()
        return unavailable_response(request.head.language)

    async def _discard_body(self, request: Request) -> None:
        """Read the rest of the body: closing a connection with unread data would reset it and lose the response."""
        discarded = 0
        await ensure_task()
        with suppress(TimeoutError, ClientGone):
            async with asyncio.timeout(DISCARD_SECONDS):
                while not request.body_complete and discarded < MAX_DISCARDED:
                    request.body = b""
                    await self.receive(request)
                    discarded += len(request.body)

    def _finish(self, request: Request) -> None:
        self._running = None
        request.body = b""
        if not request.keep_alive or not request.body_complete:
            self._is_ending = True
        if not self._parser.waiting:
            self._idle_since = self._loop.time()
            if self._is_full:
                self._is_full = False
                self.update_reading()

    # Timeouts.

    def check_timeouts(self, now: float) -> None:
        """End the connection if its client sends or reads too slowly, or is idle; called every second."""
        limit = now - self._connections.request_timeout
        if self._receiving_since <= limit:
            self._reject(HTTPStatus.REQUEST_TIMEOUT)
        if self._idle_since <= now - KEEP_ALIVE_SECONDS:
            self._transport.close()
        if self._stalled_since <= limit:
            unsent = self._transport.get_write_buffer_size()
            if unsent < self._unsent:
                self._stalled_since, self._unsent = now, unsent
            else:
                self.drop()

    @override
    def pause_writing(self) -> None:
        self._writable.clear()
        self._stalled_since, self._unsent = self._loop.time(), self._transport.get_write_buffer_size()

    @override
    def resume_writing(self) -> None:
        self._writable.set()
        self._stalled_since = inf
