"""A steady load: each request when it is due, whether the ones before are answered or not, over kept connections."""

import asyncio
import time
from collections import Counter, deque
from collections.abc import Sequence
from typing import Final, cast

import uvloop
from msgspec import Struct

from bench.client import HOST
from bench.figures import Refused

CONNECTIONS: Final = 32
ANSWER_SECONDS: Final = 30


class Request(Struct, frozen=True):
    kind: str
    content: bytes


def send(port: int, requests: Sequence[Request], rate: float) -> tuple[Counter[str], float]:
    """How many of each kind were answered, and in how many seconds; refuses where one was not answered with 200."""
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(_send(port, requests, rate))


async def _send(port: int, requests: Sequence[Request], rate: float) -> tuple[Counter[str], float]:
    loop = asyncio.get_running_loop()
    free: asyncio.Queue[_Wire] = asyncio.Queue()
    wires = [(await loop.create_connection(lambda: _Wire(free), HOST, port))[1] for _ in range(CONNECTIONS)]
    for wire in wires:
        free.put_nowait(wire)
    began = time.monotonic()
    try:
        async with asyncio.timeout(len(requests) / rate + ANSWER_SECONDS):
            for number, request in enumerate(requests):
                pause = began + number / rate - time.monotonic()
                if pause > 0:
                    await asyncio.sleep(pause)
                wire = await free.get()
                wire.send(request)
            for _ in wires:
                await free.get()
    except TimeoutError:
        raise Refused("the steady load was not answered in time") from None
    finally:
        for wire in wires:
            wire.close()
    problems = [wire.problem for wire in wires if wire.problem]
    if problems:
        raise Refused(f"the steady load: {problems[0]}")
    return Counter(request.kind for request in requests), time.monotonic() - began


class _Wire(asyncio.Protocol):
    """One connection, with one request under way at most."""

    def __init__(self, free: "asyncio.Queue[_Wire]") -> None:
        self._free = free
        self._received: deque[bytes] = deque()
        self._transport: asyncio.Transport | None = None
        self.problem = ""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def send(self, request: Request) -> None:
        if self._transport is None or self._transport.is_closing():
            self._done(f"{request.kind}: the connection is closed")
            return
        self._transport.write(request.content)

    def data_received(self, data: bytes) -> None:
        self._received.append(data)
        whole = b"".join(self._received)
        head, end, body = whole.partition(b"\r\n\r\n")
        if not end:
            return
        length = int(head.lower().partition(b"\r\ncontent-length:")[2].partition(b"\r\n")[0] or 0)
        if len(body) >= length:
            self._received.clear()
            self._done("" if head.startswith(b"HTTP/1.1 200 ") else f"an answer was {whole[:200]!r}")

    def connection_lost(self, problem: Exception | None) -> None:
        if problem is not None:
            self._done(f"a connection was lost: {problem}")

    def _done(self, problem: str) -> None:
        self.problem = self.problem or problem
        self._free.put_nowait(self)

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()
