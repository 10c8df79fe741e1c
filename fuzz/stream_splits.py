"""Fuzzing of the connection: a byte stream gets the same responses, however it is split into reads."""

import asyncio
from collections.abc import Sequence
from random import Random
from typing import Any, Final, NamedTuple, cast

from tests.server.http.helpers import FakeTransport

from cloudconsole.server.http.connection import Connection, Connections
from cloudconsole.server.http.request import ClientGone, Request, RequestSequence
from cloudconsole.server.http.response import JSON, Response
from cloudconsole.server.metrics.shared_memory import standalone_metrics

MAX_REQUESTS: Final = 4
SETTLING: Final = 8
"""Loop iterations after which a connection has done everything that it can do without more data."""


class Outcome(NamedTuple):
    responses: list[bytes]
    """Complete responses of the application."""
    is_closed: bool


async def _describe(request: Request) -> Response | None:
    """Respond with what was received."""
    try:
        while not request.body_complete:
            await request.receive()
    except ClientGone:
        return None
    request.request_id = request.method
    head = request.head
    seen = (request.method, request.path, request.query, request.http_version, head.host, head.header(b"x-name"))
    return Response(body=repr((*seen, bytes(request.body))).encode(), content_type=JSON)


async def exchange(reads: Sequence[bytes]) -> Outcome:
    """Return what a connection makes of these reads."""
    connections = Connections(_describe, 30, 10, RequestSequence(), standalone_metrics())
    connection, transport = Connection(connections), FakeTransport()
    connection.connection_made(cast("Any", transport))
    for data in reads:
        if not transport.is_closing():
            connection.data_received(data)
        await asyncio.sleep(0)
    for _ in range(SETTLING):
        await asyncio.sleep(0)
    outcome = Outcome(_responses(transport.written), transport.is_closing())
    connection.connection_lost(None)
    return outcome


def _responses(written: bytes) -> list[bytes]:
    """Return the application's responses, without what depends on when the end of the connection became known."""
    found = []
    while written:
        head, _, rest = written.partition(b"\r\n\r\n")
        length = int(head.partition(b"content-length: ")[2].partition(b"\r\n")[0] or 0)
        length = 0 if b"x-request-id: HEAD" in head else length
        if b"content-type: application/json" in head:
            found.append(head.replace(b"\r\nconnection: close", b"") + rest[:length])
        written = rest[length:]
    return found


class StreamGenerator:
    """Generates streams of requests, some of them malformed."""

    def __init__(self, random: Random) -> None:
        self._random = random

    def reads(self) -> list[bytes]:
        """Return a stream in pieces: one for each request, one for each byte, or split at random positions."""
        requests = [self._request() for _ in range(self._random.randint(1, MAX_REQUESTS))]
        if self._random.random() < 0.3:
            requests = [self._random.choice(requests) for _ in range(MAX_REQUESTS)]
        if self._random.random() < 0.4:
            damaged = self._random.randrange(len(requests))
            requests[damaged] = self._damaged(requests[damaged])
        kind, stream = self._random.random(), b"".join(requests)
        if kind < 0.3 or len(stream) < 2:
            return requests
        if kind < 0.35:
            return [stream[position : position + 1] for position in range(len(stream))]
        cuts = sorted(self._random.randrange(1, len(stream)) for _ in range(self._random.randint(1, 8)))
        return [stream[start:end] for start, end in zip([0, *cuts], [*cuts, len(stream)], strict=True) if end > start]

    def _request(self) -> bytes:
        choose = self._random.choice
        body = bytes(self._random.choices(b"abc\r\n{}", k=self._random.randint(0, 30)))
        lines = [
            b"%b %b HTTP/%b" % (choose(_METHODS), choose(_TARGETS), choose((b"1.1", b"1.1", b"1.1", b"1.0"))),
            b"Host: console.example",
            *self._random.sample(_LINES, self._random.randint(0, 2)),
        ]
        framing = choose(("none", "length", "length", "chunked"))
        if framing == "length":
            lines.append(b"Content-Length: %d" % len(body))
        elif framing == "chunked":
            lines.append(b"Transfer-Encoding: chunked")
            body = self._chunks(body)
        blank_lines = choose((b"", b"", b"", b"\r\n", b"\r\n\r\n"))
        return b"\r\n".join([*lines, b"", body if framing != "none" else b""]) + blank_lines

    def _chunks(self, body: bytes) -> bytes:
        middle = self._random.randint(0, len(body))
        extension, trailer = self._random.choice((b"", b";a=b")), self._random.choice((b"", b"X-Trailer: 1\r\n"))
        parts = [part for part in (body[:middle], body[middle:]) if part]
        return b"".join(
            [b"%x%b\r\n%b\r\n" % (len(part), extension, part) for part in parts] + [b"0\r\n", trailer, b"\r\n"]
        )

    def _damaged(self, stream: bytes) -> bytes:
        position = self._random.randrange(len(stream))
        inserted = self._random.choice((b"", b"\n", b"\r", b"\r\n", b"\0", b" ", b"x", b"0", b"GET / HTTP/1.1\r\n\r\n"))
        return stream[:position] + inserted + stream[position + self._random.randint(0, 3) :]


_METHODS: Final = (b"GET", b"POST", b"HEAD", b"OPTIONS")
_TARGETS: Final = (b"/", b"/api/", b"/api/?a=b", b"/%41%zz", b"http://other.example/api/", b"*", b"/a b")
_LINES: Final = (
    b"Connection: close",
    b"Connection: upgrade\r\nUpgrade: h2c",
    b"Expect: 100-continue",
    b"X-Name: a value",
    b"X-Name: another",
    b"X-Folded: a\r\n b",
    b"Content-Length: 3",
    b"Transfer-Encoding: identity",
)


async def fuzz_streams(streams: int, seed: int, max_failures: int) -> list[str]:
    """Send streams in pieces and as a whole; describe those whose responses differ."""
    generator, failures = StreamGenerator(Random(seed)), []  # noqa: S311
    for number in range(1, streams + 1):
        reads = generator.reads()
        split, whole = await exchange(reads), await exchange([b"".join(reads)])
        if split != whole:
            failures.append(f"stream {number}: {reads}\n  in pieces: {split}\n  as a whole: {whole}")
            if len(failures) == max_failures:
                break
    return failures
