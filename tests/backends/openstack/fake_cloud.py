"""A real small HTTP server that stands in for a cloud's services: it gives the answers it was told to give.

    with CloudDouble() as cloud:
        cloud.answers("GET", "/v2.1/limits", Reply(body={"limits": {}}))

Replies of one path are given in turn, and the last again and again; a function is asked for each request. Whatever was
asked is in `asked`, and each connection has a number.
"""

import json
import socket
import ssl
import struct
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from types import TracebackType
from typing import Any, Literal, Self
from urllib.parse import parse_qsl, urlsplit

from tests.harness import CERTIFICATES


@dataclass(frozen=True)
class Asked:
    method: str
    path: str
    query: dict[str, str]
    headers: Message
    """Case does not matter in their names."""
    body: Any
    connection: int


@dataclass(frozen=True)
class Reply:
    status: int = 200
    body: object = None
    """As JSON; bytes are sent as they are, and None is no body."""
    headers: Mapping[str, str] = field(default_factory=dict)
    seconds: float = 0
    """How long it takes to answer."""
    then: Literal["keep", "close"] = "keep"
    """What becomes of the connection; `close` is not announced."""
    instead: Literal["freeze", "reset", "hang up", "cut"] | None = None
    """Freeze until `thaw`; reset or hang up without a byte of an answer; cut the answer in the middle."""


Replies = tuple[Reply | Callable[[Asked], Reply], ...]


class CloudDouble:
    """`address` is where it listens; `most_at_once` is how many requests were being answered at the same time."""

    def __init__(self, *, tls: bool = False, wants_certificate: bool = False) -> None:
        self.asked: list[Asked] = []
        self.most_at_once = 0
        self._at_once = 0
        self._replies: dict[tuple[str, str], Replies] = {}
        self._given: dict[tuple[str, str], int] = {}
        self._lock = threading.Lock()
        self._thawed = threading.Event()
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.cloud = self
        if tls:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(CERTIFICATES / "rsa.pem", CERTIFICATES / "rsa-key.pem")
            if wants_certificate:
                context.verify_mode = ssl.CERT_REQUIRED
            self._server.tls = context
        self.address = f"{'https' if tls else 'http'}://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})

    def answers(self, method: str, path: str, *replies: Reply | Callable[[Asked], Reply]) -> None:
        self._replies[method, path] = replies
        self._given[method, path] = 0

    def thaw(self) -> None:
        """Let all that is frozen, and will be, go on."""
        self._thawed.set()

    def calls(self) -> list[tuple[str, str]]:
        """Method and path of all that was asked."""
        return [(asked.method, asked.path) for asked in self.asked]

    def reply_to(self, asked: Asked) -> Reply:
        with self._lock:
            self.asked.append(asked)
            key = asked.method, asked.path
            replies = self._replies.get(key, (Reply(404, {"error": {"code": 404}}),))
            number = self._given.get(key, 0)
            self._given[key] = number + 1
        reply = replies[min(number, len(replies) - 1)]
        return reply if isinstance(reply, Reply) else reply(asked)

    def answering(self, number: int) -> None:
        with self._lock:
            self._at_once += number
            self.most_at_once = max(self.most_at_once, self._at_once)

    def wait(self, reply: Reply) -> None:
        if reply.instead == "freeze":
            self._thawed.wait()
        elif reply.seconds:
            self._thawed.wait(reply.seconds)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.thaw()
        self._server.shutdown()
        self._thread.join()
        self._server.hang_up()
        self._server.server_close()


class _Server(ThreadingHTTPServer):
    cloud: CloudDouble
    tls: ssl.SSLContext | None = None
    request_queue_size = 128

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.numbers = count(1)
        self._open: set[socket.socket] = set()

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        self._open.add(request)
        try:
            trusted = request if self.tls is None else _shake_hands(self.tls, request)
            if trusted is not None:
                super().process_request_thread(trusted, client_address)
        finally:
            self._open.discard(request)

    def shutdown_request(self, request: Any) -> None:
        # An orderly end first would make a reset none.
        self.close_request(request)

    def hang_up(self) -> None:
        for connection in list(self._open):
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                continue

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A caller that goes away, or does not trust us, is what some tests are about."""


def _shake_hands(tls: ssl.SSLContext, connection: socket.socket) -> ssl.SSLSocket | None:
    secured = tls.wrap_socket(connection, server_side=True, do_handshake_on_connect=False)
    secured.settimeout(10)
    try:
        secured.do_handshake()
    except OSError:
        with suppress(OSError):
            # What the caller has sent meanwhile is read: closing over it would be a reset, which overtakes our refusal.
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
        self._number = next(self.server.numbers)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Says nothing."""

    def _answer(self) -> None:
        length = int(self.headers.get("Content-Length", 0))
        body = json.loads(self.rfile.read(length)) if length else None
        parts = urlsplit(self.path)
        query = dict(parse_qsl(parts.query, keep_blank_values=True))
        cloud = self.server.cloud
        cloud.answering(1)
        try:
            asked = Asked(self.command, parts.path, query, self.headers, body, self._number)
            reply = cloud.reply_to(asked)
            cloud.wait(reply)
        finally:
            cloud.answering(-1)
        self._send(reply)

    do_GET = do_HEAD = do_POST = do_DELETE = _answer  # noqa: N815

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
        # In one piece: the second of two small ones would wait for the first to be acknowledged.
        self.wfile.write(whole[: -len(body) // 2] if reply.instead == "cut" else whole)
