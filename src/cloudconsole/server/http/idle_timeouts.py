"""Connection timeouts: keep-alive, and clients that do not read their responses."""

import asyncio
from typing import Any

from typing_extensions import override
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle


class TimeoutProtocol(HttpToolsProtocol):
    is_idle = False
    """Whether the connection is between a response and the next request."""

    _idle_since = 0.0
    _stall: asyncio.TimerHandle | None = None
    _running: RequestResponseCycle | None = None

    def __init__(self, *arguments: Any, request_timeout: float, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.request_timeout = request_timeout

    @override
    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        # Pause writing as soon as the socket buffer is full, until the client reads.
        transport.set_write_buffer_limits(high=1)

    @override
    def connection_lost(self, exc: Exception | None) -> None:
        self._watch_stall(stalled=False)
        self._unset_keepalive_if_required()
        if self._running is not None:
            # uvicorn marks only the last of pipelined requests; this one would write to a closed socket.
            self._running.disconnected = True
        super().connection_lost(exc)

    @override
    def pause_writing(self) -> None:
        super().pause_writing()
        self._watch_stall(stalled=True)

    @override
    def resume_writing(self) -> None:
        super().resume_writing()
        self._watch_stall(stalled=False)

    @override
    def on_response_complete(self) -> None:
        """Like uvicorn's method, but without a new timer for each idle period, which is expensive."""
        self.server_state.total_requests += 1
        if self.transport.is_closing():
            return
        self.flow.resume_reading()
        if self.pipeline:
            self._start_asgi_task(*self.pipeline.pop())
        else:
            self._start_idle()

    @override
    def on_message_complete(self) -> None:
        super().on_message_complete()
        if self.cycle.response_complete and not self.pipeline:
            # The response was sent before the request was complete: only now is the connection idle.
            self._start_idle()

    def _start_idle(self) -> None:
        self.is_idle, self._idle_since = True, self.loop.time()
        if self.timeout_keep_alive_task is None:
            self._set_idle_timer(self.timeout_keep_alive)

    @override
    def timeout_keep_alive_handler(self) -> None:
        """Close the connection if it has been idle long enough, else check again when that is due."""
        self.timeout_keep_alive_task = None
        left = self._idle_since + self.timeout_keep_alive - self.loop.time()
        if self.is_idle and left > 0:
            self._set_idle_timer(left)
        elif self.is_idle:
            self.transport.close()

    def _set_idle_timer(self, seconds: float) -> None:
        self.timeout_keep_alive_task = self.loop.call_later(seconds, self.timeout_keep_alive_handler)

    def _watch_stall(self, *, stalled: bool) -> None:
        """Apply the request timeout also to a client that does not read its responses."""
        if stalled and self._stall is None:
            unsent = self.transport.get_write_buffer_size()
            self._stall = self.loop.call_later(self.request_timeout, self._check_progress, unsent)
        elif not stalled and self._stall is not None:
            self._stall.cancel()
            self._stall = None

    def _check_progress(self, unsent: int) -> None:
        self._stall = None
        if self.transport.get_write_buffer_size() < unsent:
            self._watch_stall(stalled=True)
        else:
            # The running request waits to write, and would fail.
            self.drop()

    def drop(self) -> None:
        """Abort the connection, and mark the running request as disconnected."""
        if self._running is not None:
            self._running.disconnected = True
        self.transport.abort()
