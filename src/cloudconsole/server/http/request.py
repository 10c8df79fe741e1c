"""Request and its parsed headers."""

import asyncio
import random
import re
import time
from collections.abc import Awaitable, Callable, MutableMapping
from functools import lru_cache
from typing import Any, Final, Protocol

from cloudconsole.core.ports import ClientInfo
from cloudconsole.server.http.cookies import Cookies, read_cookies
from cloudconsole.server.metrics.layout import OK, OTHER
from cloudconsole.spec.i18n import Language, choose_language
from cloudconsole.store.session_lookup import hash_session_id

HeaderPairs = list[tuple[bytes, bytes]]

MAX_CONTENT_TYPE: Final = 300

_SESSION: Final = re.compile(r"s[0-9a-f]{48}")
_FORWARDED: Final = frozenset({b"x-forwarded-for", b"x-forwarded-proto", b"x-forwarded-host"})
_PROXY_HEADERS: Final = frozenset({b"forwarded", b"via", b"x-real-ip"})
_REQUEST_ID: Final = re.compile(r"[A-Za-z0-9._-]{1,64}")


class Headers:
    """Parsed request headers; eagerly, since an action uses nearly all of them."""

    __slots__ = (
        "_headers",
        "announces_body",
        "charset",
        "content_length",
        "cookies",
        "csrf_token",
        "given_request_id",
        "has_csrf_cookie",
        "host",
        "is_forwarded",
        "is_from_foreign_page",
        "language",
        "media_type",
        "origin",
        "sessions",
    )

    def __init__(self, pairs: HeaderPairs) -> None:
        self._headers = _join(pairs)
        header = self._headers.get
        self.host = header(b"host")
        self.origin = header(b"origin")
        self.is_from_foreign_page = _is_foreign_page(header(b"sec-fetch-site"))
        self.is_forwarded = not _FORWARDED.isdisjoint(self._headers)
        """Whether a proxy added `X-Forwarded-*` headers that the console reads."""
        given = header(b"x-request-id")
        self.given_request_id = given if given and _REQUEST_ID.fullmatch(given) else None
        self.language: Language = choose_language((header(b"accept-language") or "")[:1000])

        length = header(b"content-length")
        self.announces_body = length is not None or b"transfer-encoding" in self._headers
        # The first digits are enough: Python does not convert thousands of them.
        self.content_length = int(length.lstrip("0")[:18] or 0) if length is not None and length.isdecimal() else 0
        self.media_type, self.charset = _read_content_type((header(b"content-type") or "")[:MAX_CONTENT_TYPE])

        self.cookies: Cookies = read_cookies(header(b"cookie") or "")
        self.sessions = [(each, hash_session_id(each)) for each in self.cookies.sessions if _SESSION.fullmatch(each)]
        """Well-formed session ids among the cookies, with their hashes in the store."""
        self.csrf_token = header(b"x-csrftoken") or ""
        self.has_csrf_cookie = self.csrf_token in self.cookies.csrf_tokens
        """Whether the token in the header equals a cookie."""

    def header(self, name: bytes) -> str | None:
        return self._headers.get(name)

    @property
    def via_proxy(self) -> bool:
        """Whether any header is one that proxies add."""
        return any(name in _PROXY_HEADERS or name.startswith(b"x-forwarded-") for name in self._headers)


class HeadersCache:
    """Last headers of a connection: with keep-alive, the next ones are usually the same."""

    __slots__ = ("_head", "_pairs")

    def __init__(self) -> None:
        self._pairs: HeaderPairs = []
        self._head = Headers([])

    def read(self, pairs: HeaderPairs) -> Headers:
        if pairs != self._pairs:
            self._pairs, self._head = pairs, Headers(pairs)
        return self._head


HEADERS_CACHE: Final = "cloudconsole.last_head"
"""Scope key of the connection's `HeadersCache`."""


def _is_foreign_page(sec_fetch_site: str | None) -> bool:
    """Return whether the browser reports a page of another site as the sender."""
    if sec_fetch_site is None:
        return False
    # A substring search, because the header may be repeated.
    sites = sec_fetch_site.lower()
    return "cross-site" in sites or "same-site" in sites


@lru_cache(maxsize=256)
def _read_content_type(header: str) -> tuple[str, str]:
    """Return media type and charset, empty where absent."""
    name, *parameters = header.lower().split(";")
    pairs = (parameter.partition("=") for parameter in parameters)
    charsets = [value.strip().strip("\"'") for key, _, value in pairs if key.strip() == "charset"]
    return name.strip(), charsets[-1] if charsets else ""


def _join(pairs: HeaderPairs) -> dict[bytes, str]:
    """Return headers by name; joining makes a repeated header invalid if only one is allowed."""
    headers = {name: value.decode("latin-1") for name, value in pairs}
    if len(headers) != len(pairs):
        joined: dict[bytes, list[str]] = {}
        for name, value in pairs:
            joined.setdefault(name, []).append(value.decode("latin-1"))
        headers = {name: ("; " if name == b"cookie" else ", ").join(values) for name, values in joined.items()}
    return headers


Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]


class Writer(Protocol):
    """Connection that takes a whole response."""

    def write(self, head: bytes, body: bytes) -> bool:
        """Write status line with headers, and body; return False if the connection cannot take them now."""


class RequestSequence:
    """Numbers requests in the order in which they arrive.

    A request must see what was acknowledged before it arrived. A poll for changes that began after its arrival sees all
    of that, so one poll serves every request up to the latest number at its start; under load these are many.
    """

    __slots__ = ("latest",)

    def __init__(self) -> None:
        self.latest = 0

    def next(self) -> int:
        """Return the number of a request that has just arrived completely."""
        self.latest += 1
        return self.latest


RESPONSE_WRITER: Final = "cloudconsole.response_writer"
"""Scope key of the connection's `Writer`."""
WHOLE_BODY: Final = "cloudconsole.whole_body"
"""Scope key of the request's complete body."""
ARRIVAL: Final = "cloudconsole.arrival"
"""Scope key of the number of a complete request."""
DROP: Final = "cloudconsole.drop"
"""Scope key of a function that closes the connection without a response."""
GONE: Final = "cloudconsole.gone"
"""Scope key of an event that is set when the client has disconnected, or stopped sending."""


class ClientGone(Exception):
    """The client disconnected before its request was complete."""


def new_request_id() -> str:
    # Not from `secrets`, which costs a system call: an id need not be hard to guess.
    return f"{random.getrandbits(64):016x}"


class Request:
    __slots__ = (
        "_scope",
        "address",
        "body",
        "body_complete",
        "call",
        "head",
        "host",
        "method",
        "origin",
        "outcome",
        "path",
        "peer",
        "receive",
        "request_id",
        "scheme",
        "started",
        "user",
        "writer",
    )

    def __init__(self, scope: Scope, head: Headers, receive: Receive) -> None:
        self.started = time.perf_counter_ns()
        # Set while the request is processed; for metrics and logs.
        self.call = OTHER
        self.outcome = OK
        self.user: str | None = None
        self._scope = scope
        self.receive = receive
        self.head = head
        self.method: str = scope["method"]
        self.path: str = scope["path"]
        client = scope.get("client")
        self.peer: str = client[0] if client else ""
        # From the socket; `ProxyPolicy` replaces them with the values of a trusted proxy.
        self.address = self.peer
        self.scheme: str = scope["scheme"]
        self.host: str | None = None
        self.origin: str | None = None
        """The console's public origin for this request, if known."""
        body: bytearray | None = scope.get(WHOLE_BODY)
        self.body_complete = body is not None or not head.announces_body
        self.body = b"" if body is None else bytes(body)
        """The part that has arrived so far."""
        self.request_id = head.given_request_id or new_request_id()
        # Removed from the scope, which the connection references, to avoid a reference cycle.
        self.writer: Writer | None = scope.pop(RESPONSE_WRITER, None)

    @property
    def http_version(self) -> str:
        return str(self._scope["http_version"])

    @property
    def arrival(self) -> int | None:
        return self._scope.get(ARRIVAL)

    @property
    def secure(self) -> bool:
        """Whether the client uses https."""
        return self.origin.startswith("https:") if self.origin else self.scheme == "https"

    @property
    def client(self) -> ClientInfo:
        return ClientInfo(self.address, self.request_id)

    @property
    def server(self) -> tuple[str, int] | None:
        """Address and port that the client connected to, if known."""
        server = self._scope.get("server")
        return server if server and server[1] else None

    def drop_connection(self) -> None:
        """Close the connection without a response, if it supports that."""
        drop: Callable[[], None] | None = self._scope.get(DROP)
        if drop is not None:
            drop()

    @property
    def gone(self) -> asyncio.Event:
        """Event for the client's disconnection; never set if the connection does not support it."""
        gone: asyncio.Event | None = self._scope.get(GONE)
        return gone or asyncio.Event()

    @property
    def query(self) -> bytes:
        return bytes(self._scope.get("query_string", b""))

    def chunk_of(self, message: Message) -> bytes:
        """Return the part of the body in a message, and update `body_complete`."""
        if message["type"] != "http.request":
            raise ClientGone
        self.body_complete = not message.get("more_body", False)
        body: bytes = message.get("body", b"")
        return body
