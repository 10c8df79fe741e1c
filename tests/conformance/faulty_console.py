"""Our own application with an injected fault that changes requests or responses."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, urlencode

from cloudconsole.server.app import Console
from cloudconsole.server.http.request import Headers, Request
from cloudconsole.server.http.response import render
from tests.harness import parse_reply


class Login(NamedTuple):
    """A successful login."""

    username: str
    session_before: str
    cookies: dict[str, str]
    """Those that it set."""


@dataclass
class Exchange:
    """A request and, once sent, its response; both can be changed."""

    method: str
    path: str
    sent: dict[str, str]
    """Request headers."""
    body: bytes
    memory: dict[str, Any]
    """State of a fault between requests."""
    logins: list[Login]
    """All since the fault was injected."""
    status: int = 0
    headers: list[tuple[str, str]] = field(default_factory=list)
    content: bytes = b""

    @property
    def fields(self) -> dict[str, Any]:
        """The fields of the request body, JSON or form."""
        if self.sent.get("content-type", "").startswith("application/json"):
            try:
                fields = json.loads(self.body)
            except (ValueError, RecursionError):
                return {}
            return fields if isinstance(fields, dict) else {}
        return dict(parse_qsl(self.body.decode("utf-8", "replace"), keep_blank_values=True))

    @property
    def action(self) -> str | None:
        action = self.fields.get("action") if (self.method, self.path) == ("POST", "/api/") else None
        return action if isinstance(action, str) else None

    @property
    def is_login(self) -> bool:
        return (self.method, self.path) == ("POST", "/auth/login/")

    @property
    def cookies(self) -> dict[str, str]:
        pairs = (part.strip().partition("=") for part in self.sent.get("cookie", "").split(";"))
        return {name: value for name, _, value in pairs if name}

    @cookies.setter
    def cookies(self, cookies: dict[str, str]) -> None:
        self.sent["cookie"] = "; ".join(f"{name}={value}" for name, value in cookies.items())

    @property
    def set_cookies(self) -> dict[str, str]:
        lines = [value.partition(";")[0].partition("=") for name, value in self.headers if name == "set-cookie"]
        return {name: value for name, _, value in lines}

    @property
    def envelope(self) -> Any:
        return json.loads(self.content) if self.content.startswith(b"{") else {}

    @envelope.setter
    def envelope(self, envelope: Any) -> None:
        self.content = json.dumps(envelope, ensure_ascii=False).encode()

    @property
    def is_success(self) -> bool:
        return self.action is not None and self.status == 200

    def send_form(self, **fields: str) -> None:
        """Change fields of the form in the request."""
        self.body = urlencode({**self.fields, **fields}).encode()

    def change_cookie(self, name: str, change: Callable[[str], str]) -> None:
        """Change the Set-Cookie headers of a cookie."""
        self.headers = [
            (key, change(value) if key == "set-cookie" and value.startswith(f"{name}=") else value)
            for key, value in self.headers
        ]

    def set_header(self, name: str, value: str | None) -> None:
        self.headers = [pair for pair in self.headers if pair[0] != name] + ([(name, value)] if value else [])


Mutation = Callable[[Exchange], None]


def unchanged(_: Exchange) -> None:
    return


class Fault(NamedTuple):
    name: str
    caught_by: str
    """The check that must fail."""
    after: Mutation = unchanged
    """Changes the response."""
    before: Mutation = unchanged
    """Changes the request."""
    scheme: str = "http"


class FaultyConsole:
    """The application with the current fault."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._fault = Fault("none", "")
        self._memory: dict[str, Any] = {}
        self._logins: list[Login] = []

    def inject(self, fault: Fault) -> None:
        self._fault, self._memory, self._logins = fault, {}, []

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        sent = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        exchange = Exchange(scope["method"], scope["path"], sent, await _read_body(receive), self._memory, self._logins)
        self._fault.before(exchange)
        await self._forward(scope, exchange)
        if exchange.is_login and exchange.status == 200:
            before = exchange.cookies.get("sessionid", "")
            self._logins.append(Login(exchange.fields["username"], before, exchange.set_cookies))
        self._fault.after(exchange)
        exchange.headers = [pair for pair in exchange.headers if pair[0] != "content-length"]
        if exchange.status not in (204, 304):
            exchange.headers.append(("content-length", str(len(exchange.content))))
        headers = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in exchange.headers]
        await send({"type": "http.response.start", "status": exchange.status, "headers": headers})
        await send({"type": "http.response.body", "body": b"" if exchange.method == "HEAD" else exchange.content})

    async def _forward(self, scope: Any, exchange: Exchange) -> None:
        """Pass the request to the application and record its response."""
        sent = {**exchange.sent, "content-length": str(len(exchange.body))}
        headers = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in sent.items()]
        request = Request(
            Headers(headers),
            exchange.method,
            exchange.path,
            scope["query_string"],
            body=exchange.body,
            body_complete=True,
        )
        request.scheme, request.peer, request.server = scope["scheme"], scope["client"][0], scope["server"]
        response = await self._console.handle(request)
        assert response is not None
        reply = parse_reply(render(response, request))
        exchange.status, exchange.headers, exchange.content = reply.status, reply.headers, reply.body


async def _read_body(receive: Any) -> bytes:
    body, more = b"", True
    while more:
        message = await receive()
        body += message.get("body", b"")
        more = message.get("more_body", False)
    return body
