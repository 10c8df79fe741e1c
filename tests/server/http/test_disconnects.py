"""A client that disconnects before it gets all its responses leaves no trace in the log."""

import asyncio
import logging
import socket
import struct
from itertools import count
from typing import Any

import pytest
import uvloop
from uvicorn import Config
from uvicorn.server import ServerState

from cloudconsole.server.http.protocol import ConnectionContext, LimitedProtocol
from cloudconsole.server.http.request import RequestSequence
from cloudconsole.server.metrics.shared_memory import standalone_metrics

REQUEST = b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
SECONDS = 60


async def reset_after_one_response() -> None:
    """Pipeline three requests, read one response and reset the connection while the second request is running."""
    running, lost, responded = (asyncio.Event() for _ in range(3))
    requests = count(1)

    async def app(_scope: Any, _receive: Any, send: Any) -> None:
        if next(requests) == 2:
            running.set()
            await lost.wait()
        await send({"type": "http.response.start", "status": 204, "headers": []})
        await send({"type": "http.response.body"})
        if lost.is_set():
            responded.set()

    context = ConnectionContext(30, 100, RequestSequence(), standalone_metrics())

    class ObservedProtocol(LimitedProtocol):
        def connection_lost(self, exc: Exception | None) -> None:
            super().connection_lost(exc)
            lost.set()

    config, state = Config(app, interface="asgi3", log_config=None, access_log=False), ServerState()
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: ObservedProtocol(config, state, {}, context=context), "127.0.0.1", 0)
    async with server, asyncio.timeout(SECONDS):
        client = socket.create_connection(server.sockets[0].getsockname())
        client.sendall(REQUEST * 3)
        await running.wait()
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        client.close()
        await responded.wait()


def test_a_reset_while_pipelined_requests_wait_logs_nothing(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO), asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(reset_after_one_response())
    assert [record.getMessage() for record in caplog.records] == []
