"""Raw requests, and one kept connection to send them over: to take references, to check, and to time single calls."""

import json
import re
import socket
from typing import Final
from urllib.parse import urlencode

from msgspec import Struct

from bench.figures import Refused

HOST: Final = "127.0.0.1"
REGION: Final = f"http://{HOST}/v3"


class Caller(Struct, frozen=True):
    """Someone logged in."""

    session: str
    token: str

    @property
    def cookies(self) -> str:
        return f"csrftoken={self.token}; sessionid={self.session}"


ANYONE = Caller("{session}", "{token}")
"""Its requests are templates that the load fills in for each of many callers."""


class Reply(Struct, frozen=True):
    status: int
    head: str
    body: bytes

    def cookie(self, name: str) -> str:
        found = re.search(rf"^set-cookie: {name}=(\w+)", self.head, re.MULTILINE | re.IGNORECASE)
        if found is None:
            raise Refused(f"no cookie {name} came: {self.status} {self.body[:200]!r}")
        return found[1]


def action_request(caller: Caller, action: str, **fields: str) -> bytes:
    body = json.dumps({"action": action, **fields}, separators=(",", ":"))
    return plain_request("POST", "/api/", _as_caller(caller) | {"Content-Type": "application/json"}, body)


def opening_request(caller: Caller | None = None) -> bytes:
    return plain_request("GET", "/api/", {} if caller is None else {"Cookie": caller.cookies})


def login_request(caller: Caller, username: str, password: str, region: str = REGION) -> bytes:
    """A login of someone who holds a token and the session that came with it."""
    form = {"csrfmiddlewaretoken": caller.token, "username": username, "password": password, "region": region}
    headers = {"Cookie": caller.cookies, "Content-Type": "application/x-www-form-urlencoded"}
    return plain_request("POST", "/auth/login/", headers, urlencode(form))


def upstream_request(path: str, token: str) -> bytes:
    """What a service behind the console is asked, without the console."""
    return plain_request("GET", path, {"X-Auth-Token": token, "Accept": "application/json"})


def _as_caller(caller: Caller) -> dict[str, str]:
    return {"Cookie": caller.cookies, "X-CSRFToken": caller.token}


def plain_request(method: str, path: str, headers: dict[str, str], body: str = "") -> bytes:
    """Any request, of anyone."""
    lengths = {"Content-Length": str(len(body))} if body else {}
    lines = [f"{name}: {value}" for name, value in {"Host": HOST, **headers, **lengths}.items()]
    return "\r\n".join([f"{method} {path} HTTP/1.1", *lines, "", body]).encode()


class Connection:
    """Kept open between calls, or opened again where the server closes it after each answer."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._socket = self._open()

    def _open(self) -> socket.socket:
        opened = socket.create_connection((HOST, self._port), timeout=30)
        opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return opened

    def send(self, request: bytes) -> Reply:
        self._socket.sendall(request)
        received = b""
        while b"\r\n\r\n" not in received:
            received += self._receive()
        head, _, body = received.partition(b"\r\n\r\n")
        length = re.search(rb"\r\ncontent-length: *(\d+)", head, re.IGNORECASE)
        while length is None or len(body) < int(length[1]):
            if length is None:
                raise Refused(f"an answer without a length: {head[:200]!r}")
            body += self._receive()
        if re.search(rb"\r\nconnection: *close", head, re.IGNORECASE):
            self._socket.close()
            self._socket = self._open()
        return Reply(int(head.split(b" ", 2)[1]), head.decode("latin-1").replace("\r\n", "\n"), body)

    def _receive(self) -> bytes:
        part = self._socket.recv(65536)
        if not part:
            raise Refused("the server closed the connection before its answer was whole")
        return part

    def close(self) -> None:
        self._socket.close()

    def __enter__(self) -> "Connection":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def ask(port: int, request: bytes) -> Reply:
    with Connection(port) as connection:
        return connection.send(request)


def log_in(port: int, username: str, password: str, region: str = REGION) -> Caller:
    """The first two steps as anyone takes them: open a session, log in; gives what the third needs."""
    opened = ask(port, opening_request())
    visitor = Caller(opened.cookie("sessionid"), opened.cookie("csrftoken"))
    reply = ask(port, login_request(visitor, username, password, region))
    if reply.status != 200:
        raise Refused(f"the login was answered with {reply.status}: {reply.body[:200]!r}")
    return Caller(reply.cookie("sessionid"), reply.cookie("csrftoken"))


def right_body(port: int, request: bytes) -> bytes:
    """The body of an answer that is 200: what every other answer to this request must be."""
    reply = ask(port, request)
    if reply.status != 200:
        raise Refused(f"the first answer is {reply.status}: {reply.body[:200]!r}")
    return reply.body


def check(port: int, request: bytes, body: bytes, times: int = 20, *, is_partial: bool = False) -> None:
    """Refuse unless the request is answered with 200 and exactly this body, or more around it, again and again."""
    with Connection(port) as connection:
        for _ in range(times):
            reply = connection.send(request)
            is_right = body in reply.body if is_partial else reply.body == body
            if reply.status != 200 or not is_right:
                raise Refused(f"a wrong answer: {reply.status} {reply.body[:200]!r}")
