"""Metrics server: responses, timeouts and connection limit."""

import asyncio
import socket
import threading
from collections.abc import Iterator

import pytest

from cloudconsole.server.metrics.server import CONTENT_TYPE, MAX_HEAD_BYTES, MetricsServer

PAGE = "# a page\n"


class BackgroundServer:
    def __init__(self) -> None:
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address = self.listener.getsockname()
        self.fails = False
        self._loop = asyncio.new_event_loop()
        self._serving = self._loop.create_task(MetricsServer(self._page).serve(self.listener))
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _page(self) -> str:
        if self.fails:
            raise RuntimeError("no page")
        return PAGE

    def _run(self) -> None:
        with pytest.raises(asyncio.CancelledError):
            self._loop.run_until_complete(self._serving)
        self._loop.run_until_complete(self._loop.shutdown_asyncgens())
        self._loop.close()

    def connect(self) -> socket.socket:
        return socket.create_connection(self.address, timeout=120)

    def exchange(self, sent: bytes) -> tuple[int, dict[str, str], str]:
        with self.connect() as connection:
            connection.sendall(sent)
            response = connection.makefile("rb").read().decode()
        head, _, body = response.partition("\r\n\r\n")
        status, *headers = head.split("\r\n")
        assert status.startswith("HTTP/1.1 ")
        return int(status.split()[1]), dict(line.split(": ", 1) for line in headers), body

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._serving.cancel)
        self._thread.join()


@pytest.fixture
def metrics_server() -> Iterator[BackgroundServer]:
    server = BackgroundServer()
    yield server
    server.close()


def is_disconnected(connection: socket.socket) -> bool:
    """Whether the server ends the connection without a response, by closing or resetting it."""
    try:
        return connection.recv(1) == b""
    except ConnectionResetError:
        return True


def request(line: str) -> bytes:
    return f"{line}\r\nHost: anything\r\n\r\n".encode()


@pytest.mark.parametrize(("line", "sent"), [("GET /metrics", PAGE), ("GET /metrics?x", PAGE), ("HEAD /metrics", "")])
def test_the_page_is_served_in_prometheus_format(metrics_server: BackgroundServer, line: str, sent: str) -> None:
    status, headers, body = metrics_server.exchange(request(f"{line} HTTP/1.1"))
    assert (status, body) == (200, sent)
    assert headers["Content-Type"] == CONTENT_TYPE == "text/plain; version=0.0.4; charset=utf-8"
    assert (headers["Content-Length"], headers["Connection"]) == (str(len(PAGE)), "close")


@pytest.mark.parametrize(
    ("line", "status"),
    [
        ("GET / HTTP/1.1", 404),
        ("GET /metrics/ HTTP/1.1", 404),
        ("POST /metrics HTTP/1.1", 405),
        ("GET /metrics", 400),
        ("GET /metrics HTTP/2", 400),
        ("GET  /metrics HTTP/1.1", 400),
        ("nonsense", 400),
        ("GET /m\u00e9trics HTTP/1.1", 400),
        ("GET /metrics HTTP/1.1\r\nX: " + "x" * MAX_HEAD_BYTES, 400),
    ],
)
def test_other_requests_are_rejected(metrics_server: BackgroundServer, line: str, status: int) -> None:
    assert metrics_server.exchange(request(line))[0] == status


def test_a_failed_page_returns_500_and_the_next_is_served(metrics_server: BackgroundServer) -> None:
    metrics_server.fails = True
    assert metrics_server.exchange(request("GET /metrics HTTP/1.1"))[0] == 500
    metrics_server.fails = False
    assert metrics_server.exchange(request("GET /metrics HTTP/1.1"))[0] == 200


def test_early_disconnects_do_not_affect_other_clients(metrics_server: BackgroundServer) -> None:
    for sent in (b"", b"GET", request("GET /metrics HTTP/1.1")):
        with metrics_server.connect() as connection:
            connection.sendall(sent)
    assert metrics_server.exchange(request("GET /metrics HTTP/1.1"))[0] == 200


def test_a_silent_client_is_disconnected(metrics_server: BackgroundServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cloudconsole.server.metrics.server.CLIENT_SECONDS", 0.1)
    with metrics_server.connect() as silent:
        assert is_disconnected(silent)


def test_excess_connections_are_closed_and_later_ones_served(
    metrics_server: BackgroundServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cloudconsole.server.metrics.server.MAX_CLIENTS", 2)
    waiting = [metrics_server.connect() for _ in range(2)]
    for connection in waiting:
        connection.sendall(b"GET /met")
    with metrics_server.connect() as rejected:
        assert is_disconnected(rejected)
    for connection in waiting:
        connection.sendall(b"rics HTTP/1.1\r\n\r\n")
        assert connection.makefile("rb").read().endswith(PAGE.encode())
        connection.close()
    assert metrics_server.exchange(request("GET /metrics HTTP/1.1"))[0] == 200
