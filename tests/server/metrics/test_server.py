"""The metrics' own little server: what it answers, and whom it does not wait for."""

import asyncio
import socket
import threading
from collections.abc import Iterator

import pytest

from cloudconsole.server.metrics.server import CONTENT_TYPE, MAX_HEAD_BYTES, MetricsServer

PAGE = "# a page\n"


class Served:
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
        return socket.create_connection(self.address, timeout=60)

    def ask(self, sent: bytes) -> tuple[int, dict[str, str], str]:
        with self.connect() as connection:
            connection.sendall(sent)
            answer = connection.makefile("rb").read().decode()
        head, _, body = answer.partition("\r\n\r\n")
        status, *headers = head.split("\r\n")
        assert status.startswith("HTTP/1.1 ")
        return int(status.split()[1]), dict(line.split(": ", 1) for line in headers), body

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._serving.cancel)
        self._thread.join()


@pytest.fixture
def served() -> Iterator[Served]:
    server = Served()
    yield server
    server.close()


def is_cut_off(connection: socket.socket) -> bool:
    """Whether nothing comes but the end, in whichever way."""
    try:
        return connection.recv(1) == b""
    except ConnectionResetError:
        return True


def request(line: str) -> bytes:
    return f"{line}\r\nHost: anything\r\n\r\n".encode()


@pytest.mark.parametrize("target", ["/metrics", "/metrics?name=x"])
def test_the_page_is_served_as_prometheus_wants_it(served: Served, target: str) -> None:
    status, headers, body = served.ask(request(f"GET {target} HTTP/1.1"))
    assert (status, body) == (200, PAGE)
    assert headers["Content-Type"] == CONTENT_TYPE == "text/plain; version=0.0.4; charset=utf-8"
    assert (headers["Content-Length"], headers["Connection"]) == (str(len(PAGE)), "close")


def test_a_head_has_no_body(served: Served) -> None:
    status, headers, body = served.ask(request("HEAD /metrics HTTP/1.1"))
    assert (status, headers["Content-Length"], body) == (200, str(len(PAGE)), "")


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
    ],
)
def test_everything_else_is_refused(served: Served, line: str, status: int) -> None:
    assert served.ask(request(line))[0] == status


def test_a_head_without_end_is_refused(served: Served) -> None:
    assert served.ask(b"GET /metrics HTTP/1.1\r\nX: " + b"x" * MAX_HEAD_BYTES)[0] == 400


def test_a_page_that_fails_is_an_error_and_the_next_is_served(served: Served) -> None:
    served.fails = True
    assert served.ask(request("GET /metrics HTTP/1.1"))[0] == 500
    served.fails = False
    assert served.ask(request("GET /metrics HTTP/1.1"))[0] == 200


def test_one_who_leaves_disturbs_nobody(served: Served) -> None:
    for sent in (b"", b"GET", request("GET /metrics HTTP/1.1")):
        with served.connect() as connection:
            connection.sendall(sent)
    assert served.ask(request("GET /metrics HTTP/1.1"))[0] == 200


def test_one_who_says_nothing_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cloudconsole.server.metrics.server.CLIENT_SECONDS", 0.1)
    server = Served()
    try:
        with server.connect() as silent:
            assert is_cut_off(silent)
    finally:
        server.close()


def test_too_many_at_once_are_turned_away_and_later_served(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cloudconsole.server.metrics.server.MAX_CLIENTS", 2)
    waiting = [served.connect() for _ in range(2)]
    for connection in waiting:
        connection.sendall(b"GET /met")
    with served.connect() as turned_away:
        assert is_cut_off(turned_away)
    for connection in waiting:
        connection.sendall(b"rics HTTP/1.1\r\n\r\n")
        assert connection.makefile("rb").read().endswith(PAGE.encode())
        connection.close()
    assert served.ask(request("GET /metrics HTTP/1.1"))[0] == 200
