"""TCP proxy with faults that can be switched while connections are open (like Toxiproxy)."""

import asyncio
import socket
import struct
import threading
import time
from collections.abc import Coroutine
from contextlib import suppress
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Final, Self

HOST: Final = "127.0.0.1"
CHUNK: Final = 65536
MAX_QUEUED_CHUNKS: Final = 64
COMMAND_SECONDS: Final = 60


@dataclass(frozen=True)
class _Mode:
    """What the proxy does, until `ended` is set."""

    delay: float = 0
    is_blocked: bool = False
    resets: bool = False
    ended: asyncio.Event = field(default_factory=asyncio.Event)


class FaultyProxy:
    """Forwards a free loopback port to another, from construction until it is closed.

    Faults apply to open and new connections from when the method returns:

    - `heal`: the initial mode; blocked data is delivered in order, as when a network recovers.
    - `delay`: data and connection ends are forwarded that many seconds later, in each direction.
    - `reset`: all connections are reset on both sides, new ones immediately.
    - `black_hole`: nothing is forwarded and nothing closed. The kernel still accepts connections and data up to its
      buffers, so only application timeouts detect it, not TCP keep-alive.

    If the target port is closed, connections are accepted and then reset.
    """

    def __init__(self, target_port: int) -> None:
        self.target_port = target_port
        """The target of new connections; may be changed."""
        self._listener = socket.create_server((HOST, 0), backlog=1024)
        self._listener.setblocking(False)
        self.port: int = self._listener.getsockname()[1]
        self._mode = _Mode()
        self._connections: set[asyncio.Task[None]] = set()
        self._loop = asyncio.new_event_loop()
        self._loop.add_reader(self._listener, self._accept)
        self._thread = threading.Thread(target=self._run, name=f"proxy to {target_port}", daemon=True)
        self._thread.start()

    @property
    def connections(self) -> int:
        """Number of open connections, including those not forwarded yet."""
        return len(self._connections)

    def heal(self) -> None:
        self._switch(_Mode())

    def delay(self, seconds: float) -> None:
        if not 0 <= seconds < float("inf"):
            raise ValueError(f"invalid delay: {seconds}")
        self._switch(_Mode(delay=seconds))

    def reset(self) -> None:
        # Blocked, so that no data passes before its connection is reset.
        self._switch(_Mode(is_blocked=True, resets=True))

    def black_hole(self) -> None:
        self._switch(_Mode(is_blocked=True))

    def close(self) -> None:
        """Reset open connections and stop listening."""
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _run(self) -> None:
        self._loop.run_forever()
        self._loop.remove_reader(self._listener)
        self._listener.close()
        self._loop.run_until_complete(self._reset_connections())
        self._loop.close()

    def _switch(self, mode: _Mode) -> None:
        self._run_on_loop(self._apply(mode))

    def _run_on_loop(self, work: Coroutine[Any, Any, None]) -> None:
        asyncio.run_coroutine_threadsafe(work, self._loop).result(COMMAND_SECONDS)

    async def _apply(self, mode: _Mode) -> None:
        before, self._mode = self._mode, mode
        before.ended.set()
        if mode.resets:
            await self._reset_connections()

    async def _reset_connections(self) -> None:
        connections = list(self._connections)
        for connection in connections:
            connection.cancel()
        await asyncio.gather(*connections, return_exceptions=True)

    def _accept(self) -> None:
        try:
            client, _ = self._listener.accept()
        except (BlockingIOError, ConnectionAbortedError):
            return
        client.setblocking(False)
        if self._mode.resets:
            _abort(client)
            return
        connection = self._loop.create_task(self._relay(client))
        self._connections.add(connection)

        # Not in the task itself: a task cancelled before it starts runs nothing.
        def end(connection: "asyncio.Task[None]") -> None:
            self._connections.discard(connection)
            _abort(client)

        connection.add_done_callback(end)

    async def _relay(self, client: socket.socket) -> None:
        """Relay one connection; unless it ends orderly, the client side is reset afterwards."""
        target = socket.socket()
        target.setblocking(False)
        try:
            await self._until_due(time.monotonic())
            await self._loop.sock_connect(target, (HOST, self.target_port))
            for end in (client, target):
                end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            async with asyncio.TaskGroup() as tasks:
                for source, sink in ((client, target), (target, client)):
                    chunks: asyncio.Queue[_Chunk] = asyncio.Queue(MAX_QUEUED_CHUNKS)
                    tasks.create_task(self._receive(source, chunks))
                    tasks.create_task(self._forward(chunks, sink))
        except* OSError:
            pass  # one side is gone: reset the other
        else:
            client.close()
            target.close()
        finally:
            _abort(target)

    async def _receive(self, source: socket.socket, chunks: "asyncio.Queue[_Chunk]") -> None:
        data: bytes | None = b"-"
        while data:
            try:
                data = await self._loop.sock_recv(source, CHUNK)
            except OSError:
                data = None
            await chunks.put(_Chunk(data, time.monotonic()))

    async def _forward(self, chunks: "asyncio.Queue[_Chunk]", sink: socket.socket) -> None:
        while True:
            chunk = await chunks.get()
            await self._until_due(chunk.arrived)
            if chunk.data is None:
                raise ConnectionResetError
            if not chunk.data:
                sink.shutdown(socket.SHUT_WR)
                return
            rest = memoryview(chunk.data)
            while rest:
                await self._until_due(chunk.arrived)
                try:
                    rest = rest[sink.send(rest) :]
                except BlockingIOError:
                    await self._until_writable(sink)

    async def _until_due(self, arrived: float) -> None:
        """Wait until data that arrived at this time may be forwarded; the mode may change meanwhile."""
        while True:
            mode = self._mode
            left = None if mode.is_blocked else arrived + mode.delay - time.monotonic()
            if left is not None and left <= 0:
                return
            with suppress(TimeoutError):
                await asyncio.wait_for(mode.ended.wait(), left)

    async def _until_writable(self, sink: socket.socket) -> None:
        writable = asyncio.Event()
        self._loop.add_writer(sink, writable.set)
        try:
            await writable.wait()
        finally:
            self._loop.remove_writer(sink)


@dataclass(frozen=True)
class _Chunk:
    data: bytes | None
    """Empty at the end of the stream; None after a reset."""
    arrived: float


def _abort(connection: socket.socket) -> None:
    """Reset a connection unless it is already closed."""
    if connection.fileno() != -1:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        connection.close()
