"""Connection timeouts: slow requests, write stalls, and keep-alive between requests."""

import asyncio
from typing import Any, cast

import pytest

from cloudconsole.server.http.connection import KEEP_ALIVE_SECONDS, Connection, Connections
from cloudconsole.server.http.request import Request, RequestSequence
from cloudconsole.server.http.response import Response
from cloudconsole.server.metrics.shared_memory import standalone_metrics
from tests.e2e.raw_http import request
from tests.harness import async_test
from tests.server.http.helpers import FakeTransport

REQUEST_TIMEOUT = 30
MARGIN = 10
"""Seconds that a test may take."""


class Client:
    """A client of a connection without a socket."""

    def __init__(self) -> None:
        self.transport = FakeTransport()
        self.may_respond = asyncio.Event()
        self.may_respond.set()
        connections = Connections(self._handle, REQUEST_TIMEOUT, 10, RequestSequence(), standalone_metrics())
        self.connection = Connection(connections)
        self.connection.connection_made(cast("Any", self.transport))

    async def _handle(self, request: Request) -> Response:
        await self.may_respond.wait()
        while request.path == "/api/" and not request.body_complete:
            await request.receive()
        return Response(204)

    async def send(self, data: bytes) -> None:
        self.connection.data_received(data)
        for _ in range(5):
            await asyncio.sleep(0)

    def is_closed_after(self, seconds: float) -> bool:
        self.connection.check_timeouts(asyncio.get_running_loop().time() + seconds)
        return self.transport.is_closing()


@async_test
async def test_a_request_must_begin_and_end_in_time() -> None:
    for sent in (b"", b"POST /api/ HTTP/1.1\r\n", request("POST", "/api/", [("Content-Length", "4")], b"ab")):
        client = Client()
        if sent:
            await client.send(sent)
        assert not client.is_closed_after(REQUEST_TIMEOUT - MARGIN)
        assert client.is_closed_after(REQUEST_TIMEOUT + MARGIN)
        assert client.transport.written.startswith(b"HTTP/1.1 408 Request Timeout\r\n")


@async_test
async def test_every_request_has_its_own_time_to_arrive(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each read completes one request and begins the next."""
    client, sent = Client(), request("GET", "/")
    now = asyncio.get_running_loop().time()
    monkeypatch.setattr(asyncio.get_running_loop(), "time", lambda: now)
    await client.send(sent[:5])
    now += REQUEST_TIMEOUT - 1
    await client.send(sent[5:] + sent[:5])
    assert not client.is_closed_after(REQUEST_TIMEOUT - 1)
    assert client.is_closed_after(REQUEST_TIMEOUT)


@async_test
async def test_a_client_that_makes_progress_stays_connected() -> None:
    client = Client()
    client.may_respond.clear()
    await client.send(request("GET", "/"))
    client.connection.pause_writing()
    for timeouts in range(1, 10):
        client.transport.unsent -= 1
        assert not client.is_closed_after(timeouts * REQUEST_TIMEOUT + MARGIN)
    assert client.is_closed_after(10 * REQUEST_TIMEOUT + MARGIN)
    assert client.transport.aborted


@async_test
async def test_a_client_that_catches_up_stays_connected() -> None:
    client = Client()
    client.may_respond.clear()
    await client.send(request("GET", "/"))
    client.connection.pause_writing()
    client.connection.resume_writing()
    assert not client.is_closed_after(10 * REQUEST_TIMEOUT)


@async_test
async def test_keep_alive_is_measured_from_the_last_response() -> None:
    client = Client()
    for _ in range(2):
        await client.send(request("GET", "/"))
        assert not client.is_closed_after(KEEP_ALIVE_SECONDS - MARGIN)
    assert client.is_closed_after(KEEP_ALIVE_SECONDS + MARGIN)
    assert client.transport.written.count(b"HTTP/1.1 204 No Content") == 2


@async_test
async def test_a_slow_response_does_not_count_as_idle() -> None:
    client = Client()
    client.may_respond.clear()
    await client.send(request("GET", "/"))
    assert not client.is_closed_after(10 * KEEP_ALIVE_SECONDS)
    client.may_respond.set()
    await client.send(b"")
    assert client.is_closed_after(KEEP_ALIVE_SECONDS + MARGIN)


@async_test
async def test_keep_alive_starts_at_the_end_of_the_request_body() -> None:
    client = Client()
    await client.send(request("POST", "/", [("Transfer-Encoding", "chunked")]))
    assert client.transport.written.startswith(b"HTTP/1.1 204 No Content")
    assert not client.is_closed_after(REQUEST_TIMEOUT - MARGIN)
    await client.send(b"0\r\n\r\n")
    assert not client.is_closed_after(KEEP_ALIVE_SECONDS - MARGIN)
    assert client.is_closed_after(KEEP_ALIVE_SECONDS + MARGIN)
