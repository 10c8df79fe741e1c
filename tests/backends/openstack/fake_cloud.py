"""A fake cloud: a small real HTTP server with scripted responses, and clients of it.

    with FakeCloud() as cloud:
        cloud.respond("GET", "/v2.1/limits", Reply(body={"limits": {}}))

The replies of a path are sent in turn, and the last one repeatedly; a function is called for each request. All requests
are in `requests`, with the number of their connection. Coroutines wait for events in it with `asyncio.to_thread`.
"""

import json
import socket
import ssl
import struct
import threading
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from typing import Any, Literal, Self
from urllib.parse import parse_qsl, urlsplit

from cloudconsole.backends.openstack.client import CallObserver, OpenStackClient
from cloudconsole.backends.openstack.config import ClientLimits
from cloudconsole.core.ports import ClientInfo
from tests.harness import CERTIFICATES, client_ssl_context


@dataclass(frozen=True)
class RecordedRequest:
    method: str
    path: str
    query: dict[str, str]
    headers: Message
    """Names are case-insensitive."""
    body: Any
    connection: int


@dataclass(frozen=True)
class Reply:
    status: int = 200
    body: object = None
    """Sent as JSON; bytes are sent verbatim, and None is an empty body."""
    headers: Mapping[str, str] = field(default_factory=dict)
    seconds: float = 0
    """Delay before the response."""
    then: Literal["keep", "close"] = "keep"
    """What happens to the connection; `close` is not announced."""
    instead: Literal["freeze", "reset", "hang up", "cut"] | None = None
    """Freeze until `resume`, then respond; reset or close without sending a byte; cut off in the middle."""


WAIT_SECONDS = 300

Replies = tuple[Reply | Callable[[RecordedRequest], Reply], ...]


class FakeCloud:
    """`address` is where it listens."""

    def __init__(self, *, tls: bool = False, requires_client_certificate: bool = False) -> None:
        self.requests: list[RecordedRequest] = []
        self._replies: dict[tuple[str, str], Replies] = {}
        self._served: dict[tuple[str, str], int] = {}
        self._disconnects = 0
        self._changed = threading.Condition()
        self._resumed = threading.Event()
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.cloud = self
        if tls:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(CERTIFICATES / "rsa.pem", CERTIFICATES / "rsa-key.pem")
            if requires_client_certificate:
                context.verify_mode = ssl.CERT_REQUIRED
            self._server.tls = context
        self.address = f"{'https' if tls else 'http'}://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})

    def respond(self, method: str, path: str, *replies: Reply | Callable[[RecordedRequest], Reply]) -> None:
        self._replies[method, path] = replies
        self._served[method, path] = 0

    def resume(self) -> None:
        """Resume all frozen responses, and freeze no more."""
        self._resumed.set()

    def request_lines(self) -> list[tuple[str, str]]:
        """Return method and path of all requests."""
        return [(request.method, request.path) for request in self.requests]

    def wait_for_requests(self, number: int) -> None:
        with self._changed:
            assert self._changed.wait_for(lambda: len(self.requests) >= number, WAIT_SECONDS)

    def wait_for_disconnects(self, number: int) -> None:
        with self._changed:
            assert self._changed.wait_for(lambda: self._disconnects >= number, WAIT_SECONDS)

    def count_disconnect(self) -> None:
        with self._changed:
            self._disconnects += 1
            self._changed.notify_all()

    def reply_to(self, request: RecordedRequest) -> Reply:
        with self._changed:
            self.requests.append(request)
            self._changed.notify_all()
            key = request.method, request.path
            replies = self._replies.get(key, (Reply(404, {"error": {"code": 404}}),))
            number = self._served.get(key, 0)
            self._served[key] = number + 1
        reply = replies[min(number, len(replies) - 1)]
        return reply if isinstance(reply, Reply) else reply(request)

    def wait(self, reply: Reply) -> None:
        if reply.instead == "freeze":
            self._resumed.wait()
        elif reply.seconds:
            self._resumed.wait(reply.seconds)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.resume()
        self._server.shutdown()
        self._thread.join()
        self._server.close_connections()
        self._server.server_close()


class _Server(ThreadingHTTPServer):
    cloud: FakeCloud
    tls: ssl.SSLContext | None = None
    request_queue_size = 128

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.connection_numbers = count(1)
        self._open: set[socket.socket] = set()

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        self._open.add(request)
        try:
            secured = request if self.tls is None else _handshake(self.tls, request)
            if secured is not None:
                super().process_request_thread(secured, client_address)
        finally:
            self._open.discard(request)
            self.cloud.count_disconnect()

    def shutdown_request(self, request: Any) -> None:
        # A graceful shutdown would come before the reset.
        self.close_request(request)

    def close_connections(self) -> None:
        for connection in list(self._open):
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                continue

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore the error: some tests disconnect or distrust the server on purpose."""


def _handshake(tls: ssl.SSLContext, connection: socket.socket) -> ssl.SSLSocket | None:
    secured = tls.wrap_socket(connection, server_side=True, do_handshake_on_connect=False)
    secured.settimeout(WAIT_SECONDS)
    try:
        secured.do_handshake()
    except OSError:
        with suppress(OSError):
            # Read what the client has sent: closing with unread data would send a reset, which overtakes the alert.
            socket.socket.shutdown(secured, socket.SHUT_WR)
            while socket.socket.recv(secured, 65536):
                pass
        secured.close()
        return None
    secured.settimeout(None)
    return secured


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def setup(self) -> None:
        super().setup()
        self._connection_number = next(self.server.connection_numbers)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Log nothing."""

    def _respond(self) -> None:
        length = int(self.headers.get("Content-Length", 0))
        body = json.loads(self.rfile.read(length)) if length else None
        parts = urlsplit(self.path)
        query = dict(parse_qsl(parts.query, keep_blank_values=True))
        cloud = self.server.cloud
        request = RecordedRequest(self.command, parts.path, query, self.headers, body, self._connection_number)
        reply = cloud.reply_to(request)
        cloud.wait(reply)
        self._send(reply)

    do_GET = do_HEAD = do_POST = do_DELETE = _respond  # noqa: N815

    def _send(self, reply: Reply) -> None:
        if reply.instead == "reset":
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        if reply.then == "close" or reply.instead in {"reset", "hang up", "cut"}:
            self.close_connection = True
        if reply.instead in {"reset", "hang up"}:
            return
        body = reply.body if isinstance(reply.body, bytes) else b""
        if reply.body is not None and not body:
            body = json.dumps(reply.body).encode()
        headers = {"Content-Type": "application/json", "Content-Length": str(len(body)), **reply.headers}
        lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        head = f"HTTP/1.1 {reply.status} Scripted\r\n{lines}\r\n".encode()
        whole = head if self.command == "HEAD" else head + body
        # In one write: with two, the second would wait for the first to be acknowledged.
        self.wfile.write(whole[: -len(body) // 2] if reply.instead == "cut" else whole)


# Clients


CLIENT = ClientInfo("203.0.113.7", "0123456789abcdef")
SECONDS = 600.0
"""The timeouts: longer than any busy machine needs."""


def client_limits(**changes: Any) -> ClientLimits:
    return ClientLimits(**{"call_seconds": SECONDS, "action_seconds": SECONDS, **changes})


@asynccontextmanager
async def open_client(
    limits: ClientLimits | None = None, observer: CallObserver | None = None
) -> AsyncIterator[OpenStackClient]:
    client = OpenStackClient(limits or client_limits(), client_ssl_context(), observer)
    try:
        yield client
    finally:
        await client.close()
