"""What a connection says to calls, and to connections, that are too many: over real sockets, in a loop of its own."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any, cast

import pytest
import uvloop
from uvicorn import Config
from uvicorn.server import ServerState

from cloudconsole.server.http import connection_limits
from cloudconsole.server.http.connection_limits import ConnectionContext, LimitedProtocol
from cloudconsole.server.http.load_shedding import LoadShedder
from cloudconsole.server.http.request import RequestSequence
from cloudconsole.server.http.response import CLOSED_POLICY, NO_STORE, SECURITY_HEADERS
from cloudconsole.server.metrics.layout import CONNECTION_REJECTIONS, SHED_REQUESTS
from cloudconsole.server.metrics.shared_memory import SharedMetrics
from tests.e2e.raw_http import request
from tests.harness import HeaderPairs, Reply

SERVED = 204
PLACES = 3


class Overload(LoadShedder):
    """Permanent overload without any budget."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__()
        self.active = self.measuring = True

    def measure(self) -> None:
        """Stay overloaded."""

    def should_reject(self, *, is_late: bool) -> bool:
        return True


async def _serve_it(_scope: Any, receive: Any, send: Any) -> None:
    while (await receive()).get("more_body"):
        pass
    await send({"type": "http.response.start", "status": SERVED, "headers": []})
    await send({"type": "http.response.body", "body": b""})


class Line:
    """A caller's end of a connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    async def ask(self, sent: bytes, *, to: str = "GET") -> Reply:
        self.writer.write(sent)
        return await self.answer(to=to)

    async def answer(self, *, to: str = "GET") -> Reply:
        async with asyncio.timeout(20):
            status_line, *lines = (await self.reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")[:-2]
            headers: HeaderPairs = [(name, value) for name, _, value in (line.partition(": ") for line in lines)]
            status = int(status_line.split()[1])
            length = 0 if to == "HEAD" else int(dict(headers).get("content-length", 0))
            return Reply(status, headers, await self.reader.readexactly(length))


class Place:
    """A listening worker."""

    def __init__(self, crowding: LoadShedder) -> None:
        self.board = SharedMetrics(1)
        self._context = ConnectionContext(30, PLACES, RequestSequence(), self.board.worker(0), crowding)
        self._config = Config(cast("Any", _serve_it), ws="none", lifespan="off", log_config=None)
        self._state = ServerState()
        self.port = 0

    @asynccontextmanager
    async def open(self) -> AsyncIterator["Place"]:
        loop = asyncio.get_running_loop()

        def accept() -> LimitedProtocol:
            return LimitedProtocol(self._config, self._state, {}, loop, context=self._context)

        server = await loop.create_server(accept, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        try:
            yield self
        finally:
            server.close()
            for connection in list(self._state.connections):
                connection.transport.abort()
            await server.wait_closed()

    @asynccontextmanager
    async def line(self) -> AsyncIterator[Line]:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        try:
            yield Line(reader, writer)
        finally:
            writer.close()

    def count(self, cell: int) -> int:
        return self.board.read()[0][cell]


def play(scene: Callable[[Place], Awaitable[None]], crowding: LoadShedder | None = None) -> None:
    async def played() -> None:
        async with Place(crowding or LoadShedder()).open() as place:
            await scene(place)

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(played())


def turned_away(sent: bytes, *, to: str = "GET") -> Reply:
    replies: list[Reply] = []

    async def scene(place: Place) -> None:
        async with place.line() as line:
            replies.append(await line.ask(sent, to=to))
        assert place.count(SHED_REQUESTS) == 1

    play(scene, Overload())
    assert replies[0].status == 503
    return replies[0]


def test_a_call_too_many_gets_all_that_a_refusal_has() -> None:
    reply = turned_away(request("GET", "/api/"))
    assert reply.error == "unavailable"
    assert reply.header("retry-after") == "1"
    assert reply.header("x-request-id")
    assert reply.header("connection") is None
    for name, value in (CLOSED_POLICY, NO_STORE, *SECURITY_HEADERS):
        assert reply.header(name.decode()) == value.decode()


def test_it_is_told_in_the_callers_language_and_with_its_id() -> None:
    reply = turned_away(request("GET", "/api/", [("Accept-Language", "zh"), ("X-Request-ID", "mine")]))
    assert reply.header("x-request-id") == "mine"
    assert reply.envelope["message"].startswith("控制台")


def test_a_head_request_gets_no_body() -> None:
    assert turned_away(request("HEAD", "/"), to="HEAD").body == b""


def test_whoever_wants_the_connection_to_end_is_left() -> None:
    assert turned_away(request("GET", "/", [("Connection", "close")])).header("connection") == "close"


def test_the_connection_stays_and_is_heard_again() -> None:
    async def scene(place: Place) -> None:
        async with place.line() as line:
            for _ in range(10):
                assert (await line.ask(request("GET", "/api/"))).status == 503
        assert place.count(SHED_REQUESTS) == 10

    play(scene, Overload())


def test_all_that_were_sent_ahead_are_answered() -> None:
    async def scene(place: Place) -> None:
        async with place.line() as line:
            line.writer.write(request("GET", "/api/") * 5)
            assert [(await line.answer()).status for _ in range(5)] == [503] * 5

    play(scene, Overload())


@pytest.mark.parametrize(("others", "ahead"), [(0, 6), (1, 3), (2, 2)])
def test_the_more_connections_there_are_the_fewer_requests_may_be_sent_ahead(
    monkeypatch: pytest.MonkeyPatch, others: int, ahead: int
) -> None:
    monkeypatch.setattr(connection_limits, "MAX_PIPELINED_TOTAL", 6)

    async def scene(place: Place) -> None:
        async with AsyncExitStack() as stack:
            for _ in range(others):
                other = await stack.enter_async_context(place.line())
                assert (await other.ask(request("GET", "/"))).status == SERVED
            line = await stack.enter_async_context(place.line())
            # The first is under way at once: nobody waits before it.
            line.writer.write(request("GET", "/") * (ahead + 1))
            assert [(await line.answer()).status for _ in range(ahead + 1)] == [SERVED] * (ahead + 1)
            assert place.count(CONNECTION_REJECTIONS[400]) == 0
            line.writer.write(request("GET", "/") * (ahead + 2))
            assert [(await line.answer()).status for _ in range(ahead + 1)] == [SERVED] * (ahead + 1)
            assert await line.reader.read() == b""
            assert place.count(CONNECTION_REJECTIONS[400]) == 1

    play(scene)


@pytest.mark.parametrize("path", ["/healthz", "/readyz"])
def test_health_checks_are_always_answered(path: str) -> None:
    async def scene(place: Place) -> None:
        async with place.line() as line:
            assert (await line.ask(request("GET", path))).status == SERVED

    play(scene, Overload())


def test_a_body_that_is_still_arriving_is_waited_for() -> None:
    async def scene(place: Place) -> None:
        async with place.line() as line:
            line.writer.write(request("POST", "/api/", [("Content-Length", "4")], b"ab"))
            await asyncio.sleep(0.05)
            assert (await line.ask(b"cd")).status == SERVED

    play(scene, Overload())


def test_without_a_crowd_everybody_is_served() -> None:
    async def scene(place: Place) -> None:
        async with place.line() as line:
            for _ in range(200):
                assert (await line.ask(request("GET", "/api/"))).status == SERVED
        assert place.count(SHED_REQUESTS) == 0

    play(scene)


def test_a_connection_too_many_is_told_so_and_ends() -> None:
    async def scene(place: Place) -> None:
        async with place.line() as one, place.line() as two, place.line() as three:
            for line in (one, two, three):
                assert (await line.ask(request("GET", "/"))).status == SERVED
            async with place.line() as more:
                reply = await more.ask(request("GET", "/"))
                assert reply.status == 503
                assert reply.error == "unavailable"
                assert reply.header("retry-after") == "1"
                assert reply.header("connection") == "close"
                async with asyncio.timeout(20):
                    assert await more.reader.read() == b""
            assert place.count(CONNECTION_REJECTIONS[503]) == 1
            assert (await one.ask(request("GET", "/"))).status == SERVED

    play(scene)


def test_a_place_that_is_left_is_another_ones() -> None:
    async def scene(place: Place) -> None:
        for _ in range(4 * PLACES):
            async with place.line() as line:
                assert (await line.ask(request("GET", "/", [("Connection", "close")]))).status == SERVED
                await line.reader.read()
        assert place.count(CONNECTION_REJECTIONS[503]) == 0

    play(scene)
