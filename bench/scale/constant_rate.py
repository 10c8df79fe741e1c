"""Open-loop load: send each request when it is due, over keep-alive connections."""

import asyncio
import time
from collections import Counter, deque
from collections.abc import Sequence
from typing import Final, cast

import uvloop
from msgspec import Struct

from bench.measurements import InvalidRun
from bench.raw_http import HOST

CONNECTIONS: Final = 32
RESPONSE_SECONDS: Final = 30


class Request(Struct, frozen=True):
    kind: str
    content: bytes


def send(port: int, requests: Sequence[Request], rate: float) -> tuple[Counter[str], float]:
    """Return the responses by kind and the elapsed seconds; raise `InvalidRun` unless all are 200."""
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(_send(port, requests, rate))


async def _send(port: int, requests: Sequence[Request], rate: float) -> tuple[Counter[str], float]:
    loop = asyncio.get_running_loop()
    free: asyncio.Queue[_Connection] = asyncio.Queue()
    connections = [(await loop.create_connection(lambda: _Connection(free), HOST, port))[1] for _ in range(CONNECTIONS)]
    for connection in connections:
        free.put_nowait(connection)
    began = time.monotonic()
    try:
        async with asyncio.timeout(len(requests) / rate + RESPONSE_SECONDS):
            for number, request in enumerate(requests):
                pause = began + number / rate - time.monotonic()
                if pause > 0:
                    await asyncio.sleep(pause)
                connection = await free.get()
                connection.send(request)
            for _ in connections:
                await free.get()
    except TimeoutError:
        raise InvalidRun("responses to the constant-rate load timed out") from None
    finally:
        for connection in connections:
            connection.close()
    errors = [connection.error for connection in connections if connection.error]
    if errors:
        raise InvalidRun(f"constant-rate load: {errors[0]}")
    return Counter(request.kind for request in requests), time.monotonic() - began


class _Connection(asyncio.Protocol):
    """One connection with at most one pending request."""

    def __init__(self, free: "asyncio.Queue[_Connection]") -> None:
        self._free = free
        self._received: deque[bytes] = deque()
        self._transport: asyncio.Transport | None = None
        self.error = ""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def send(self, request: Request) -> None:
        if self._transport is None or self._transport.is_closing():
            self._done(f"{request.kind}: the connection is closed")
            return
        self._transport.write(request.content)

    def data_received(self, data: bytes) -> None:
        self._received.append(data)
        complete = b"".join(self._received)
        head, end, body = complete.partition(b"\r\n\r\n")
        if not end:
            return
        length = int(head.lower().partition(b"\r\ncontent-length:")[2].partition(b"\r\n")[0] or 0)
        if len(body) >= length:
            self._received.clear()
            self._done("" if head.startswith(b"HTTP/1.1 200 ") else f"unexpected response {complete[:200]!r}")

    def connection_lost(self, error: Exception | None) -> None:
        if error is not None:
            self._done(f"connection lost: {error}")

    def _done(self, error: str) -> None:
        self.error = self.error or error
        self._free.put_nowait(self)

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()
