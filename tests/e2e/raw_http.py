"""Exchange raw bytes with a listening server, without an HTTP library."""

import socket
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress

from tests.e2e.processes import client_of
from tests.harness import HeaderPairs, Reply, RunningServer

PAUSE = 0.01
"""Seconds between two pieces, so that they usually arrive in separate packets; no test fails if they do not."""


class RawConnection:
    """A connection to a server."""

    def __init__(self, connection: socket.socket) -> None:
        self.socket = connection
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._incoming = connection.makefile("rb")

    def send(self, *pieces: bytes) -> None:
        """Send each piece in a separate packet."""
        for number, piece in enumerate(pieces):
            if number:
                time.sleep(PAUSE)
            self.socket.sendall(piece)

    def send_byte_by_byte_until_closed(self, count: int, pause: float) -> bytes:
        """Send up to `count` bytes until the server closes the connection, as it must; return what it sent."""
        received = b""
        self.socket.settimeout(pause)
        for _ in range(count):
            try:
                self.socket.sendall(b"y")
                part = self.socket.recv(65_536)
            except TimeoutError:
                continue
            except ConnectionError:
                return received
            if not part:
                return received
            received += part
        raise AssertionError("the connection stays open")

    def send_until_closed(self, pieces: Iterable[bytes]) -> int:
        """Send until the server closes the connection; return the number of bytes sent."""
        sent = 0
        with suppress(ConnectionError):
            for piece in pieces:
                self.socket.sendall(piece)
                sent += len(piece)
        return sent

    def answer(self, *, to: str = "GET") -> Reply:
        """Read the next complete response; fail if the connection is closed or reset first."""
        status_line = self._incoming.readline()
        assert status_line.startswith(b"HTTP/1.1 "), f"no response but {status_line!r}"
        headers: HeaderPairs = []
        while (line := self._incoming.readline()) != b"\r\n":
            assert line.endswith(b"\r\n"), f"truncated header line: {line!r}"
            name, _, value = line.decode("latin-1").partition(":")
            headers.append((name, value.strip()))
        reply = Reply(int(status_line.split()[1]), headers, b"")
        length = int(reply.header("content-length") or 0)
        if to == "HEAD" or reply.status in (100, 204):
            length = 0
        body = self._incoming.read(length)
        assert len(body) == length, "truncated response"
        return Reply(reply.status, headers, body)

    def rest(self) -> bytes:
        """Read until the server closes the connection; fail if it is reset or stays open."""
        return self._incoming.read()

    def close(self) -> None:
        self._incoming.close()
        self.socket.close()


@contextmanager
def raw_connection(server: RunningServer) -> Iterator[RawConnection]:
    connection = RawConnection(server.connect())
    try:
        yield connection
    finally:
        connection.close()


def log_in(server: RunningServer) -> HeaderPairs:
    """Log in and return the headers of that session."""
    with client_of(server.base) as client:
        assert client.login().status == 200
    cookies = "; ".join(f"{name}={value}" for name, value in client.cookies.items())
    return [("Cookie", cookies), ("X-CSRFToken", client.token)]


def request(
    method: str, target: str, headers: HeaderPairs | None = None, body: bytes = b"", *, version: str = "HTTP/1.1"
) -> bytes:
    """Encode a request with exactly these headers, plus a loopback Host if there is none."""
    pairs = list(headers or [])
    if not any(name.lower() == "host" for name, _ in pairs):
        pairs.insert(0, ("Host", "127.0.0.1"))
    return head(method, target, pairs, version=version) + body


def head(method: str, target: str, headers: HeaderPairs, *, version: str = "HTTP/1.1") -> bytes:
    lines = [f"{method} {target} {version}", *(f"{name}: {value}" for name, value in headers)]
    return "".join(f"{line}\r\n" for line in [*lines, ""]).encode("latin-1")


def chunked(pieces: Iterable[bytes]) -> bytes:
    return b"".join(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in [*pieces, b""])


def split(data: bytes, size: int) -> list[bytes]:
    return [data[start : start + size] for start in range(0, len(data), size)]
