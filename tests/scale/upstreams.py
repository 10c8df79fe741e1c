"""Fake consoles behind nginx, which record the requests they get."""

import socketserver
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

RESPONSE: Final = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}"


@dataclass
class Upstream:
    """`requests` are the complete ones, in order; `methods` includes those of incomplete ones."""

    base: str = ""
    methods: list[str] = field(default_factory=list)
    requests: list[bytes] = field(default_factory=list)


Behaviour = Callable[[Any], None]
"""What to do with a connection after reading its request."""


def respond(connection: Any) -> None:
    connection.sendall(RESPONSE)


def disconnect(connection: Any) -> None:
    """Close the connection, like a console that is killed while it handles a request."""


@contextmanager
def upstream(behave: Behaviour) -> Iterator[Upstream]:
    """Run a server that reads a request, behaves like this, and closes the connection."""
    observed = Upstream()

    class Handler(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            request = _read_request(self.request, observed.methods)
            if request:
                observed.requests.append(request)
                behave(self.request)

    class Server(socketserver.ThreadingTCPServer):
        daemon_threads = True
        request_queue_size = 200

    with Server(("127.0.0.1", 0), Handler) as server:
        observed.base = f"http://127.0.0.1:{server.server_address[1]}"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield observed
        finally:
            server.shutdown()
            thread.join()


def _read_request(connection: Any, methods: list[str]) -> bytes:
    request = b""
    while b"\r\n\r\n" not in request:
        piece = connection.recv(65536)
        if not piece:
            return b""
        request += piece
    head, _, body = request.partition(b"\r\n\r\n")
    methods.append(head.split()[0].decode())
    lengths = [
        int(line.partition(b":")[2]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")
    ]
    while lengths and len(body) < lengths[0]:
        body += connection.recv(65536)
    return head + b"\r\n\r\n" + body
