"""Excess requests and connections, and lost ones, over real sockets in a separate event loop."""

import asyncio
import logging
import socket
import struct
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from itertools import count

import pytest
import uvloop

from cloudconsole.server.http import connection
from cloudconsole.server.http.connection import Connection, Connections
from cloudconsole.server.http.load_shedding import LoadShedder
from cloudconsole.server.http.request import Request, RequestSequence
from cloudconsole.server.http.response import CLOSED_POLICY, NO_STORE, SECURITY_HEADERS, Response
from cloudconsole.server.metrics.layout import CONNECTION_REJECTIONS, SHED_REQUESTS
from cloudconsole.server.metrics.shared_memory import SharedMetrics
from tests.e2e.raw_http import request
from tests.harness import HeaderPairs, Reply

Handle = Callable[[Request], Awaitable[Response | None]]

SERVED = 204
MAX_CONNECTIONS = 3


class Overload(LoadShedder):
    """Permanent overload without any budget."""

    def __init__(self) -> None:
        super().__init__()
        self.active = True

    def start_iteration(self, arrived: int) -> None:
        """Stay overloaded."""

    def should_reject(self) -> bool:
        return True


class ClientConnection:
    """The client side of a connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    async def exchange(self, sent: bytes, *, to: str = "GET") -> Reply:
        self.writer.write(sent)
        return await self.read_response(to=to)

    async def read_response(self, *, to: str = "GET") -> Reply:
        async with asyncio.timeout(120):
            status_line, *lines = (await self.reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")[:-2]
            headers: HeaderPairs = [(name, value) for name, _, value in (line.partition(": ") for line in lines)]
            status = int(status_line.split()[1])
            length = 0 if to == "HEAD" else int(dict(headers).get("content-length", 0))
            return Reply(status, headers, await self.reader.readexactly(length))


class Worker:
    """A listening worker."""

    def __init__(self, load_shedder: LoadShedder, handle: Handle | None = None) -> None:
        self.metrics = SharedMetrics(1)
        self.has_started_request = asyncio.Event()
        self._connections = Connections(
            handle or self._handle, 30, MAX_CONNECTIONS, RequestSequence(), self.metrics.worker(0)
        )
        self._connections.load_shedder = load_shedder
        self.port = 0

    async def _handle(self, request: Request) -> Response:
        self.has_started_request.set()
        while not request.body_complete:
            await request.receive()
        return Response(SERVED)

    @asynccontextmanager
    async def open(self) -> AsyncIterator["Worker"]:
        loop = asyncio.get_running_loop()
        server = await loop.create_server(partial(Connection, self._connections), "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        try:
            yield self
        finally:
            server.close()
            for connection in list(self._connections.open):
                connection.drop()
            await server.wait_closed()

    @asynccontextmanager
    async def connect(self) -> AsyncIterator[ClientConnection]:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        try:
            yield ClientConnection(reader, writer)
        finally:
            writer.close()

    def count(self, cell: int) -> int:
        return self.metrics.read()[0][cell]


def run_with_worker(
    scenario: Callable[[Worker], Awaitable[None]], load_shedder: LoadShedder | None = None, handle: Handle | None = None
) -> None:
    async def run() -> None:
        async with Worker(load_shedder or LoadShedder(), handle).open() as worker:
            await scenario(worker)

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(run())


def rejection_of(sent: bytes, *, to: str = "GET") -> Reply:
    replies: list[Reply] = []

    async def scenario(worker: Worker) -> None:
        async with worker.connect() as client:
            replies.append(await client.exchange(sent, to=to))
        assert worker.count(SHED_REQUESTS) == 1

    run_with_worker(scenario, Overload())
    assert replies[0].status == 503
    return replies[0]


@pytest.mark.parametrize(
    ("headers", "message"),
    [([], "The console"), ([("Accept-Language", "zh"), ("X-Request-ID", "mine"), ("Connection", "close")], "控制台")],
    ids=["plain", "with headers"],
)
def test_a_shed_request_gets_a_complete_error_response(headers: HeaderPairs, message: str) -> None:
    reply = rejection_of(request("GET", "/api/", headers))
    assert (reply.error, reply.header("retry-after")) == ("unavailable", "1")
    assert reply.envelope["message"].startswith(message)
    assert reply.header("connection") == dict(headers).get("Connection")
    assert reply.header("x-request-id") == dict(headers).get("X-Request-ID", reply.header("x-request-id"))
    assert reply.header("x-request-id")
    for name, value in (CLOSED_POLICY, NO_STORE, *SECURITY_HEADERS):
        assert reply.header(name.decode()) == value.decode()


def test_a_rejected_head_request_gets_no_body() -> None:
    assert rejection_of(request("HEAD", "/"), to="HEAD").body == b""


def test_all_requests_on_a_connection_get_a_response() -> None:
    async def scenario(worker: Worker) -> None:
        async with worker.connect() as client:
            for _ in range(2):
                client.writer.write(request("GET", "/api/") * 5)
                assert [(await client.read_response()).status for _ in range(5)] == [503] * 5
        assert worker.count(SHED_REQUESTS) == 10

    run_with_worker(scenario, Overload())


@pytest.mark.parametrize(("others", "pipelined"), [(0, 6), (1, 3), (2, 2)])
def test_the_pipelining_limit_shrinks_with_more_connections(
    monkeypatch: pytest.MonkeyPatch, others: int, pipelined: int
) -> None:
    monkeypatch.setattr(connection, "MAX_PIPELINED_TOTAL", 6)

    async def scenario(worker: Worker) -> None:
        async with AsyncExitStack() as stack:
            for _ in range(others):
                other = await stack.enter_async_context(worker.connect())
                assert (await other.exchange(request("GET", "/"))).status == SERVED
            client = await stack.enter_async_context(worker.connect())
            # The first starts immediately, so it is not queued.
            client.writer.write(request("GET", "/") * (pipelined + 1))
            assert [(await client.read_response()).status for _ in range(pipelined + 1)] == [SERVED] * (pipelined + 1)
            assert worker.count(CONNECTION_REJECTIONS[400]) == 0
            client.writer.write(request("GET", "/") * (pipelined + 2))
            assert [(await client.read_response()).status for _ in range(pipelined + 1)] == [SERVED] * (pipelined + 1)
            assert await client.reader.read() == b""
            assert worker.count(CONNECTION_REJECTIONS[400]) == 1

    run_with_worker(scenario)


@pytest.mark.parametrize("path", ["/healthz", "/readyz"])
def test_health_checks_are_never_rejected(path: str) -> None:
    async def scenario(worker: Worker) -> None:
        async with worker.connect() as client:
            assert (await client.exchange(request("GET", path))).status == SERVED

    run_with_worker(scenario, Overload())


def test_a_request_with_an_incomplete_body_is_not_rejected() -> None:
    async def scenario(worker: Worker) -> None:
        async with worker.connect() as client:
            client.writer.write(request("POST", "/api/", [("Content-Length", "4")], b"ab"))
            async with asyncio.timeout(120):
                await worker.has_started_request.wait()
            assert (await client.exchange(b"cd")).status == SERVED

    run_with_worker(scenario, Overload())


def test_an_excess_connection_gets_503_and_is_closed() -> None:
    async def scenario(worker: Worker) -> None:
        async with worker.connect() as one, worker.connect() as two, worker.connect() as three:
            for client in (one, two, three):
                assert (await client.exchange(request("GET", "/"))).status == SERVED
            async with worker.connect() as more:
                reply = await more.exchange(request("GET", "/"))
                assert reply.status == 503
                assert reply.error == "unavailable"
                assert reply.header("retry-after") == "1"
                assert reply.header("connection") == "close"
                async with asyncio.timeout(120):
                    assert await more.reader.read() == b""
            assert worker.count(CONNECTION_REJECTIONS[503]) == 1
            assert (await one.exchange(request("GET", "/"))).status == SERVED

    run_with_worker(scenario)


def test_a_closed_connection_makes_room_for_another() -> None:
    async def scenario(worker: Worker) -> None:
        for _ in range(4 * MAX_CONNECTIONS):
            async with worker.connect() as client:
                assert (await client.exchange(request("GET", "/", [("Connection", "close")]))).status == SERVED
                await client.reader.read()
        assert worker.count(CONNECTION_REJECTIONS[503]) == 0

    run_with_worker(scenario)


def test_a_reset_while_pipelined_requests_wait_logs_nothing(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The client reads one of three responses and resets the connection while the second request is running."""
    running, lost, responded = (asyncio.Event() for _ in range(3))
    requests = count(1)
    connection_lost = Connection.connection_lost

    def observed_connection_lost(connection: Connection, problem: Exception | None) -> None:
        connection_lost(connection, problem)
        lost.set()

    async def handle(_request: Request) -> Response:
        if next(requests) == 2:
            running.set()
            await lost.wait()
            asyncio.get_running_loop().call_soon(responded.set)
        return Response(SERVED)

    async def scenario(worker: Worker) -> None:
        async with asyncio.timeout(120):
            client = socket.create_connection(("127.0.0.1", worker.port))
            client.sendall(request("GET", "/") * 3)
            await running.wait()
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            client.close()
            await responded.wait()

    monkeypatch.setattr(Connection, "connection_lost", observed_connection_lost)
    with caplog.at_level(logging.INFO):
        run_with_worker(scenario, handle=handle)
    assert [record.getMessage() for record in caplog.records] == []
