"""The part of a connection that has to do with a caller who takes its time: to read its answers, or to call again."""

import asyncio
from typing import Any

from typing_extensions import override
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle


class TimeoutProtocol(HttpToolsProtocol):
    is_idle = False
    """Between an answer and the next request."""

    _idle_since = 0.0
    _stall: asyncio.TimerHandle | None = None
    _running: RequestResponseCycle | None = None

    def __init__(self, *arguments: Any, request_timeout: float, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.request_timeout = request_timeout

    @override
    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        # What the system does not take at once waits for the caller to read, and nothing is added to it meanwhile.
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
        """As uvicorn's, but for its timer: to set and take back one for each pause is dear."""
        self.server_state.total_requests += 1
        if self.transport.is_closing():
            return
        self.flow.resume_reading()
        if self.pipeline:
            self._start_asgi_task(*self.pipeline.pop())
        else:
            self._begin_pause()

    @override
    def on_message_complete(self) -> None:
        super().on_message_complete()
        if self.cycle.response_complete and not self.pipeline:
            # It was answered before its end: only now there is nothing more of it to come.
            self._begin_pause()

    def _begin_pause(self) -> None:
        self.is_idle, self._idle_since = True, self.loop.time()
        if self.timeout_keep_alive_task is None:
            self._watch_idleness(self.timeout_keep_alive)

    @override
    def timeout_keep_alive_handler(self) -> None:
        """Looks at the last of the pauses since it was set; where there is none, the next sets it again."""
        self.timeout_keep_alive_task = None
        left = self._idle_since + self.timeout_keep_alive - self.loop.time()
        if self.is_idle and left > 0:
            self._watch_idleness(left)
        elif self.is_idle:
            self.transport.close()

    def _watch_idleness(self, seconds: float) -> None:
        self.timeout_keep_alive_task = self.loop.call_later(seconds, self.timeout_keep_alive_handler)

    def _watch_stall(self, *, stalled: bool) -> None:
        """A caller that reads none of its answers has as long as one that does not send its requests."""
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
            # What runs waits to go on writing, and would fail at that.
            self.drop()

    def drop(self) -> None:
        """End the connection without another word, also to the call that runs."""
        if self._running is not None:
            self._running.disconnected = True
        self.transport.abort()
