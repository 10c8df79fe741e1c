"""Graceful stop under load: every request on an accepted connection gets a response, none is reset."""

import os
import signal
import threading
from collections import Counter
from contextlib import suppress
from pathlib import Path

import pytest

from tests.e2e.processes import eventually, workers
from tests.e2e.raw_http import RawConnection, raw_connection, request
from tests.fork_server import MAX_WAIT_SECONDS
from tests.harness import RunningServer, running_server

CLIENTS = 8


class ConnectionPerRequest(threading.Thread):
    """A client that opens a connection for each request until connections are refused."""

    def __init__(self, server: RunningServer) -> None:
        super().__init__(daemon=True)
        self._server = server
        self.outcomes: Counter[int | str] = Counter()

    def run(self) -> None:
        with suppress(ConnectionRefusedError):
            while True:
                self.outcomes[self._send()] += 1

    def _send(self) -> int | str:
        connection = RawConnection(self._server.connect())
        try:
            # The server may respond and close the connection before the request is sent.
            with suppress(ConnectionError):
                connection.send(request("GET", "/api/"))
            return connection.answer().status
        except (ConnectionError, AssertionError):
            return "reset"
        finally:
            connection.close()


@pytest.mark.parametrize(("count", "metrics"), [(1, False), (1, True), (4, False)])
def test_no_connection_is_reset_while_stopping(tmp_path: Path, count: int, metrics: bool) -> None:
    flags = ["--workers", str(count), *(["--metrics", "127.0.0.1:0"] if metrics else [])]
    with running_server(tmp_path, *flags, "--access-log", "false") as server:
        clients = [ConnectionPerRequest(server) for _ in range(CLIENTS)]
        for client in clients:
            client.start()
        eventually(lambda: all(client.outcomes[200] >= 5 for client in clients))
        assert server.stop() == 0
        for client in clients:
            client.join(MAX_WAIT_SECONDS)
            assert not client.is_alive()
    outcomes = sum((client.outcomes for client in clients), Counter())
    assert set(outcomes) <= {200, 503}


def test_other_workers_keep_accepting_when_one_is_stopped(tmp_path: Path) -> None:
    with running_server(tmp_path, "--workers", "2") as server:
        before = workers(server)
        stopped = min(before)
        os.kill(stopped, signal.SIGTERM)
        eventually(lambda: stopped not in workers(server) and len(workers(server)) == 2)
        with raw_connection(server) as connection:
            connection.send(request("GET", "/api/"))
            assert connection.answer().status == 200


@pytest.mark.parametrize("earlier_requests", [0, 1])
def test_request_on_a_closed_idle_connection_gets_503(tmp_path: Path, earlier_requests: int) -> None:
    with running_server(tmp_path) as server, raw_connection(server) as idle:
        for _ in range(earlier_requests):
            idle.send(request("GET", "/api/"))
            assert idle.answer().status == 200
        assert server.stop() == 0
        assert "all requests finished" in server.log()
        idle.send(request("GET", "/api/"))
        reply = idle.answer()
        assert (reply.status, reply.error) == (503, "unavailable")
        assert (reply.header("retry-after"), reply.header("connection")) == ("1", "close")


def test_incomplete_request_gets_503(tmp_path: Path) -> None:
    with running_server(tmp_path) as server, raw_connection(server) as slow:
        head = request("GET", "/api/")
        slow.send(head[:10])
        assert server.stop() == 0
        assert slow.answer().status == 503
