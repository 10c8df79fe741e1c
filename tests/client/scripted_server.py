"""A third-party console: it supports opening, login and actions, with scripted responses."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self
from urllib.parse import parse_qs

import httpx2

Headers = list[tuple[str, str]]


@dataclass(frozen=True)
class Canned:
    """A response; without a status the connection is closed instead."""

    status: int | None = 200
    body: bytes = b""
    headers: Headers = field(default_factory=list)
    after: threading.Event | None = None
    """It is sent when this is set."""


LOST = Canned(status=None)
OPENED = Canned(
    headers=[("Set-Cookie", "csrftoken=first; Path=/"), ("Set-Cookie", "sessionid=nobody; HttpOnly; Path=/")]
)
LOGGED_IN = Canned(headers=[("Set-Cookie", "sessionid=guest; HttpOnly; Path=/")])


def envelope(data: Any, code: int = 200, status: int = 200, headers: Headers | None = None, **more: Any) -> Canned:
    content = {"message": "so it is", "code": code, "data": data, **more}
    return Canned(status, json.dumps(content).encode(), headers or [])


@dataclass(frozen=True)
class ReceivedRequest:
    method: str
    path: str
    headers: httpx2.Headers
    body: bytes

    @property
    def cookies(self) -> dict[str, str]:
        pairs = (pair.partition("=") for pair in self.headers.get("Cookie", "").split("; ") if pair)
        return {name: value for name, _, value in pairs}

    @property
    def form(self) -> dict[str, str]:
        return {name: values[-1] for name, values in parse_qs(self.body.decode()).items()}


class Script:
    """`opening`, `login`, `actions` and `logout` are queues of responses; the last of each repeats."""

    def __init__(self) -> None:
        self.opening: list[Canned] = [OPENED]
        self.login: list[Canned] = [LOGGED_IN]
        self.actions: list[Canned] = [envelope({})]
        self.logout: list[Canned] = [Canned(404)]
        self.requests: list[ReceivedRequest] = []
        self.rule: Callable[[ReceivedRequest], Canned] | None = None
        """Replaces the responses to actions: computes one from the request."""
        self.transport = httpx2.MockTransport(self._respond_in_process)
        self._lock = threading.Lock()

    @property
    def logins(self) -> list[ReceivedRequest]:
        return [request for request in self.requests if request.path == "/auth/login/"]

    @property
    def action_requests(self) -> list[ReceivedRequest]:
        return [request for request in self.requests if request.method == "POST" and request.path == "/api/"]

    def respond(self, request: ReceivedRequest) -> Canned:
        response = self._next_response(request)
        if response.after is not None:
            response.after.wait(300)
        return response

    def _next_response(self, request: ReceivedRequest) -> Canned:
        with self._lock:
            self.requests.append(request)
            if self.rule is not None and request.method == "POST" and request.path == "/api/":
                return self.rule(request)
            responses = {
                "/auth/login/": self.login,
                "/auth/logout/": self.logout,
                "/api/": self.opening if request.method == "GET" else self.actions,
            }
            queue = responses.get(request.path, [Canned(404)])
            return queue.pop(0) if len(queue) > 1 else queue[0]

    def _respond_in_process(self, request: httpx2.Request) -> httpx2.Response:
        response = self.respond(ReceivedRequest(request.method, request.url.path, request.headers, request.content))
        if response.status is None:
            raise httpx2.RemoteProtocolError("lost")
        return httpx2.Response(response.status, headers=response.headers, content=response.body)


class ScriptedServer(Script):
    """The same console on a socket."""

    def __init__(self) -> None:
        super().__init__()
        self.trickle: Callable[[], Iterator[bytes]] | None = None
        """Replaces the responses to actions: pieces of a body that is sent without a length."""
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self.base = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()


def _handler(script: ScriptedServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            headers = httpx2.Headers(list(self.headers.items()))
            response = script.respond(ReceivedRequest(self.command, self.path, headers, body))
            # The client may have given up.
            with suppress(OSError):
                self._send(response)

        def _send(self, response: Canned) -> None:
            if response.status is None:
                self.close_connection = True
                return
            self.send_response(response.status)
            for name, value in response.headers:
                self.send_header(name, value)
            if script.trickle is not None and self.path == "/api/" and self.command == "POST":
                self.end_headers()
                self.close_connection = True
                for piece in script.trickle():
                    self.wfile.write(piece)
                return
            self.send_header("Content-Length", str(len(response.body)))
            self.end_headers()
            self.wfile.write(response.body)

        do_POST = do_GET  # noqa: N815

        def log_message(self, *_: object) -> None:
            """Log nothing: tests inspect `requests`."""

    return Handler
