"""Server loop of a worker: accepts connections and stops gracefully."""

import asyncio
import logging
import signal
import socket
import ssl
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from math import inf
from types import FrameType
from typing import Final, NamedTuple

from cloudconsole.server.app import Console
from cloudconsole.server.http.connection import Connection, Connections
from cloudconsole.server.runtime.listener_shutdown import has_pending, stop_handshakes

log = logging.getLogger(__name__)

STOP_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)
BACKLOG: Final = 2048
TICK: Final = 0.1
HANDSHAKE_SECONDS: Final = 0.2
"""Time for running TCP and TLS handshakes to complete before the listening socket closes."""
ACCEPT_SECONDS: Final = 1
"""Time limit for accepting pending connections afterwards, which may fail without free file descriptors."""
CLOSE_SECONDS: Final = 1
"""Time limit for the last connections to close."""


class StopReason(NamedTuple):
    signal: int | None = None
    """The stop signal, if any."""
    drained: bool = True
    """Whether all running requests finished."""


@dataclass
class Server:
    """Serves until a stop signal; then finishes running requests, rejects new ones with 503, and ends."""

    console: Console
    connections: Connections
    grace: float
    note_drained: Callable[[], bool]
    """Records that this worker is drained, and returns whether all workers are."""
    is_last_user: Callable[[], bool]
    """Returns whether all workers stop, so that the listening socket closes with them."""
    on_drain: Callable[[], None]
    has_started: bool = False
    ending: StopReason = field(default_factory=StopReason)
    _is_orphan: bool = False
    _stop_by: float = inf

    async def serve(self, listener: socket.socket, tls: ssl.SSLContext | None, tls_seconds: float | None) -> None:
        """Serve until the end; `tls_seconds` limits a TLS handshake, and a TLS shutdown."""
        for number in STOP_SIGNALS:
            signal.signal(number, self._handle_signal)
        server = await asyncio.get_running_loop().create_server(
            partial(Connection, self.connections),
            sock=listener,
            backlog=BACKLOG,
            ssl=tls,
            ssl_handshake_timeout=tls_seconds,
            ssl_shutdown_timeout=tls_seconds,
        )
        # From now on, also a signal that was pending is handled.
        signal.pthread_sigmask(signal.SIG_UNBLOCK, STOP_SIGNALS)
        self.has_started = True
        while not self._may_end():
            self.connections.tick()
            await asyncio.sleep(TICK)
        await self._close(server, listener)

    def drain_without_parent(self) -> None:
        log.error("the parent process is gone: stopping")
        self._is_orphan = True
        self.drain()

    def drain(self) -> None:
        if self._stop_by == inf:
            self.console.draining = True
            self._stop_by = time.monotonic() + self.grace
            self.on_drain()

    def _handle_signal(self, number: int, _frame: FrameType | None) -> None:
        if self._stop_by == inf:
            self.ending = StopReason(number)
        self.drain()

    def _may_end(self) -> bool:
        if self._stop_by == inf:
            return False
        self.console.hurry()
        is_drained = self.connections.in_flight == 0
        self.ending = self.ending._replace(drained=is_drained)
        # Workers share the listening socket: each keeps rejecting new requests until all are drained.
        may_end = is_drained and (self.note_drained() or not self._ends_listener())
        return may_end or time.monotonic() >= self._stop_by

    def _ends_listener(self) -> bool:
        return self._is_orphan or self.is_last_user()

    async def _close(self, server: asyncio.Server, listener: socket.socket) -> None:
        """Accept and serve every connection that the kernel has completed, then close.

        If only this worker stops, the others continue to accept, and the socket stays as it is.
        """
        ends_listener = self._ends_listener()
        if ends_listener:
            stop_handshakes(listener)
        await asyncio.sleep(HANDSHAKE_SECONDS)
        accept_until = time.monotonic() + ACCEPT_SECONDS
        # Polled, because nothing tells when they are accepted, or when a connection is closed.
        while ends_listener and has_pending(listener) and time.monotonic() < accept_until:  # noqa: ASYNC110
            await asyncio.sleep(0)
        server.close()
        listener.close()
        for connection in list(self.connections.open):
            connection.shutdown()
        close_by = time.monotonic() + CLOSE_SECONDS
        while self.connections.open and time.monotonic() < close_by:  # noqa: ASYNC110
            await asyncio.sleep(TICK)
