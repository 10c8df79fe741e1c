"""Raw HTTP requests over one keep-alive connection: record expected responses, verify them, time single requests."""

import json
import re
import socket
from typing import Final
from urllib.parse import urlencode

from msgspec import Struct

from bench.measurements import InvalidRun

HOST: Final = "127.0.0.1"
REGION: Final = f"http://{HOST}/v3"


class SessionCookies(Struct, frozen=True):
    """The session id and CSRF token of a client."""

    session_id: str
    csrf_token: str

    @property
    def header(self) -> str:
        return f"csrftoken={self.csrf_token}; sessionid={self.session_id}"


PLACEHOLDER_COOKIES: Final = SessionCookies("{session}", "{token}")
"""Requests built with these are templates; the load generator fills in the cookies of each tenant."""


class Response(Struct, frozen=True):
    status: int
    head: str
    body: bytes

    def cookie(self, name: str) -> str:
        found = re.search(rf"^set-cookie: {name}=(\w+)", self.head, re.MULTILINE | re.IGNORECASE)
        if found is None:
            raise InvalidRun(f"no cookie {name} in the response: {self.status} {self.body[:200]!r}")
        return found[1]


def action_request(cookies: SessionCookies, action: str, **fields: str) -> bytes:
    body = json.dumps({"action": action, **fields}, separators=(",", ":"))
    headers = {"Cookie": cookies.header, "X-CSRFToken": cookies.csrf_token, "Content-Type": "application/json"}
    return build_request("POST", "/api/", headers, body)


def get_api_request(cookies: SessionCookies | None = None) -> bytes:
    return build_request("GET", "/api/", {} if cookies is None else {"Cookie": cookies.header})


def login_request(cookies: SessionCookies, username: str, password: str, region: str = REGION) -> bytes:
    """Build a login with the cookies of an anonymous session."""
    form = {"csrfmiddlewaretoken": cookies.csrf_token, "username": username, "password": password, "region": region}
    headers = {"Cookie": cookies.header, "Content-Type": "application/x-www-form-urlencoded"}
    return build_request("POST", "/auth/login/", headers, urlencode(form))


def service_request(path: str, token: str) -> bytes:
    """Build a request to an OpenStack service, without the console."""
    return build_request("GET", path, {"X-Auth-Token": token, "Accept": "application/json"})


def build_request(method: str, path: str, headers: dict[str, str], body: str = "") -> bytes:
    lengths = {"Content-Length": str(len(body))} if body else {}
    lines = [f"{name}: {value}" for name, value in {"Host": HOST, **headers, **lengths}.items()]
    return "\r\n".join([f"{method} {path} HTTP/1.1", *lines, "", body]).encode()


class Connection:
    """A keep-alive connection; reconnects after a response with `Connection: close`."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._socket = self._open()

    def _open(self) -> socket.socket:
        opened = socket.create_connection((HOST, self._port), timeout=30)
        opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return opened

    def send(self, request: bytes) -> Response:
        self._socket.sendall(request)
        received = b""
        while b"\r\n\r\n" not in received:
            received += self._receive()
        head, _, body = received.partition(b"\r\n\r\n")
        length = re.search(rb"\r\ncontent-length: *(\d+)", head, re.IGNORECASE)
        while length is None or len(body) < int(length[1]):
            if length is None:
                raise InvalidRun(f"response without Content-Length: {head[:200]!r}")
            body += self._receive()
        if re.search(rb"\r\nconnection: *close", head, re.IGNORECASE):
            self._socket.close()
            self._socket = self._open()
        return Response(int(head.split(b" ", 2)[1]), head.decode("latin-1").replace("\r\n", "\n"), body)

    def _receive(self) -> bytes:
        part = self._socket.recv(65536)
        if not part:
            raise InvalidRun("the server closed the connection before the response was complete")
        return part

    def close(self) -> None:
        self._socket.close()

    def __enter__(self) -> "Connection":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def fetch(port: int, request: bytes) -> Response:
    with Connection(port) as connection:
        return connection.send(request)


def login(port: int, username: str, password: str, region: str = REGION) -> SessionCookies:
    """Open a session and log in; return the cookies for action requests."""
    opened = fetch(port, get_api_request())
    anonymous = SessionCookies(opened.cookie("sessionid"), opened.cookie("csrftoken"))
    response = fetch(port, login_request(anonymous, username, password, region))
    if response.status != 200:
        raise InvalidRun(f"login failed with {response.status}: {response.body[:200]!r}")
    return SessionCookies(response.cookie("sessionid"), response.cookie("csrftoken"))


def expected_body(port: int, request: bytes) -> bytes:
    """Record the body of a 200 response: every later response to this request must equal it."""
    response = fetch(port, request)
    if response.status != 200:
        raise InvalidRun(f"the first response is {response.status}: {response.body[:200]!r}")
    return response.body


def verify_responses(port: int, request: bytes, body: bytes, times: int = 20, *, is_substring: bool = False) -> None:
    """Raise `InvalidRun` unless every response is 200 with exactly this body, or with a body that contains it."""
    with Connection(port) as connection:
        for _ in range(times):
            response = connection.send(request)
            is_right = body in response.body if is_substring else response.body == body
            if response.status != 200 or not is_right:
                raise InvalidRun(f"wrong response: {response.status} {response.body[:200]!r}")
