"""A wire that can fail: a TCP proxy on this machine, whose faults come and go while connections are open."""

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
CHUNKS_UNDER_WAY: Final = 64
ANSWER_SECONDS: Final = 60


@dataclass(frozen=True)
class _Weather:
    """How the wire is, until it changes."""

    delay: float = 0
    holds: bool = False
    resets: bool = False
    over: asyncio.Event = field(default_factory=asyncio.Event)


class FaultyWire:
    """Leads from a free port of the loopback address to another, from when it is made until it is closed.

    What is changed holds for connections that are open as for new ones, from when the call returns:

    - `pass_on`: as it is at first. What was held back goes on, in order, as in a network that comes back.
    - `delay`: what comes is handed on so many seconds later, each way; so are the ends of connections.
    - `reset`: all connections are reset, to both sides, and new ones as soon as they are made.
    - `black_hole`: nothing is handed on and nothing closed. Connections can still be made, since the kernel accepts
      them, and written to, as far as its buffers go; so a caller's deadlines notice it, and keep-alives of TCP do not.

    Where nobody listens at the other port, a connection is reset; it was accepted before that could be known.
    """

    def __init__(self, target_port: int) -> None:
        self.target_port = target_port
        """Where new connections are led to; may be changed."""
        self._listener = socket.create_server((HOST, 0), backlog=1024)
        self._listener.setblocking(False)
        self.port: int = self._listener.getsockname()[1]
        self._weather = _Weather()
        self._links: set[asyncio.Task[None]] = set()
        self._loop = asyncio.new_event_loop()
        self._loop.add_reader(self._listener, self._accept)
        self._thread = threading.Thread(target=self._run, name=f"wire to {target_port}", daemon=True)
        self._thread.start()

    @property
    def connections(self) -> int:
        """How many are open, or wait to be led on."""
        return len(self._links)

    def pass_on(self) -> None:
        self._set(_Weather())

    def delay(self, seconds: float) -> None:
        if not 0 <= seconds < float("inf"):
            raise ValueError(f"a delay is a number of seconds, not {seconds}")
        self._set(_Weather(delay=seconds))

    def reset(self) -> None:
        # What was held back must not slip through before its connection is reset.
        self._set(_Weather(holds=True, resets=True))

    def black_hole(self) -> None:
        self._set(_Weather(holds=True))

    def close(self) -> None:
        """Reset what is open, and stop listening."""
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
        self._loop.run_until_complete(self._reset_links())
        self._loop.close()

    def _set(self, weather: _Weather) -> None:
        self._do(self._change(weather))

    def _do(self, work: Coroutine[Any, Any, None]) -> None:
        asyncio.run_coroutine_threadsafe(work, self._loop).result(ANSWER_SECONDS)

    async def _change(self, weather: _Weather) -> None:
        before, self._weather = self._weather, weather
        before.over.set()
        if weather.resets:
            await self._reset_links()

    async def _reset_links(self) -> None:
        links = list(self._links)
        for link in links:
            link.cancel()
        await asyncio.gather(*links, return_exceptions=True)

    def _accept(self) -> None:
        try:
            caller, _ = self._listener.accept()
        except (BlockingIOError, ConnectionAbortedError):
            return
        caller.setblocking(False)
        if self._weather.resets:
            _abort(caller)
            return
        link = self._loop.create_task(self._lead(caller))
        self._links.add(link)

        # Not in the task itself: one that is cancelled before it has begun does nothing at all.
        def end(link: "asyncio.Task[None]") -> None:
            self._links.discard(link)
            _abort(caller)

        link.add_done_callback(end)

    async def _lead(self, caller: socket.socket) -> None:
        """One connection, from its beginning to its end; where that is not orderly, the caller is left to be reset."""
        target = socket.socket()
        target.setblocking(False)
        try:
            await self._until_due(time.monotonic())
            await self._loop.sock_connect(target, (HOST, self.target_port))
            for end in (caller, target):
                end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            async with asyncio.TaskGroup() as ways:
                for source, sink in ((caller, target), (target, caller)):
                    chunks: asyncio.Queue[_Chunk] = asyncio.Queue(CHUNKS_UNDER_WAY)
                    ways.create_task(self._take(source, chunks))
                    ways.create_task(self._hand_on(chunks, sink))
        except* OSError:
            pass  # one side is gone: the other hears of it as well
        else:
            caller.close()
            target.close()
        finally:
            _abort(target)

    async def _take(self, source: socket.socket, chunks: "asyncio.Queue[_Chunk]") -> None:
        data: bytes | None = b"-"
        while data:
            try:
                data = await self._loop.sock_recv(source, CHUNK)
            except OSError:
                data = None
            await chunks.put(_Chunk(data, time.monotonic()))

    async def _hand_on(self, chunks: "asyncio.Queue[_Chunk]", sink: socket.socket) -> None:
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
        """Wait until what arrived then may go on; the weather may change meanwhile."""
        while True:
            weather = self._weather
            left = None if weather.holds else arrived + weather.delay - time.monotonic()
            if left is not None and left <= 0:
                return
            with suppress(TimeoutError):
                await asyncio.wait_for(weather.over.wait(), left)

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
    """Empty at the end of what a side says; None where the connection was reset."""
    arrived: float


def _abort(connection: socket.socket) -> None:
    """Close a connection by a reset, if it is not closed already."""
    if connection.fileno() != -1:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        connection.close()
