"""One request, read lazily from its ASGI scope."""

import re
import secrets
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, Final

from cloudconsole.server.http.cookies import Cookies, read_cookies
from cloudconsole.spec.language import Language, choose_language

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

_REQUEST_ID: Final = re.compile(r"[A-Za-z0-9._-]{1,64}")


class ClientGone(Exception):
    """The caller went away before its request was complete; nobody is left to answer."""


def new_request_id() -> str:
    return secrets.token_hex(8)


class Request:
    __slots__ = (
        "_cookies",
        "_headers",
        "_receive",
        "body_complete",
        "http_version",
        "method",
        "path",
        "peer",
        "query",
        "request_id",
        "scheme",
        "server",
    )

    def __init__(self, scope: Scope, receive: Receive) -> None:
        self.method: str = scope["method"]
        self.path: str = scope["path"]
        self.http_version: str = scope["http_version"]
        self.scheme: str = scope["scheme"]
        client = scope.get("client")
        self.peer: str = client[0] if client else ""
        server = scope.get("server")
        self.server: tuple[str, int | None] | None = server if server and server[1] else None
        self.query: bytes = scope.get("query_string", b"")
        self._headers = _join_headers(scope["headers"])
        self._receive = receive
        self._cookies: Cookies | None = None
        self.body_complete = not (b"content-length" in self._headers or b"transfer-encoding" in self._headers)
        given = self.header(b"x-request-id")
        self.request_id = given if given and _REQUEST_ID.fullmatch(given) else new_request_id()

    def header(self, name: bytes) -> str | None:
        value = self._headers.get(name)
        return None if value is None else value.decode("latin-1")

    @property
    def language(self) -> Language:
        return choose_language((self.header(b"accept-language") or "")[:1000])

    @property
    def cookies(self) -> Cookies:
        if self._cookies is None:
            self._cookies = read_cookies(self.header(b"cookie") or "")
        return self._cookies

    async def next_chunk(self) -> bytes:
        """The next part of the body; `body_complete` tells whether it was the last."""
        message = await self._receive()
        if message["type"] != "http.request":
            raise ClientGone
        self.body_complete = not message.get("more_body", False)
        body: bytes = message.get("body", b"")
        return body


def _join_headers(pairs: list[tuple[bytes, bytes]]) -> dict[bytes, bytes]:
    """Headers by name; repeated ones joined, which makes any that may come only once invalid."""
    headers = dict(pairs)
    if len(headers) != len(pairs):
        joined: dict[bytes, list[bytes]] = {}
        for name, value in pairs:
            joined.setdefault(name, []).append(value)
        headers = {name: (b"; " if name == b"cookie" else b", ").join(values) for name, values in joined.items()}
    return headers
