"""Request and its parsed headers."""

import asyncio
import random
import re
from functools import lru_cache
from typing import Any, Final, Protocol

from msgspec import Struct

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
        "charset",
        "content_length",
        "cookies",
        "csrf_token",
        "expects_continue",
        "given_request_id",
        "has_csrf_cookie",
        "host",
        "is_forwarded",
        "is_from_foreign_page",
        "language",
        "media_type",
        "memo",
        "origin",
        "sessions",
    )

    def __init__(self, pairs: HeaderPairs) -> None:
        self.memo: Any = None
        """What an endpoint derives from these headers, for the next request that has the same."""
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
        expect = header(b"expect") or ""
        self.expects_continue = expect.rpartition(",")[2].strip().lower() == "100-continue"
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

    def all(self) -> dict[str, str]:
        """Return all headers by name, in lowercase."""
        return {name.decode("latin-1"): value for name, value in self._headers.items()}

    @property
    def via_proxy(self) -> bool:
        """Whether any header is one that proxies add."""
        return any(name in _PROXY_HEADERS or name.startswith(b"x-forwarded-") for name in self._headers)


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
    headers = {name.lower(): value.decode("latin-1") for name, value in pairs}
    if len(headers) != len(pairs):
        joined: dict[bytes, list[str]] = {}
        for name, value in pairs:
            joined.setdefault(name.lower(), []).append(value.decode("latin-1"))
        headers = {name: ("; " if name == b"cookie" else ", ").join(values) for name, values in joined.items()}
    return headers


class RequestSequence:
    """Numbers batches of requests in the order in which they arrive.

    A request must see what was acknowledged before it arrived. A poll for changes that began after its arrival sees all
    of that, so one poll serves every request up to the latest number at its start; under load these are many.
    """

    __slots__ = ("latest",)

    def __init__(self) -> None:
        self.latest = 0

    def next(self) -> int:
        """Return the number of requests that have just arrived completely."""
        self.latest += 1
        return self.latest


class ClientGone(Exception):
    """The client disconnected before its request was complete."""


def new_request_id() -> str:
    # Not from `secrets`, which costs a system call: an id need not be hard to guess.
    return f"{random.getrandbits(64):016x}"


class RequestConnection(Protocol):
    """The connection of a request."""

    @property
    def gone(self) -> asyncio.Event:
        """Event that is set when the client has disconnected, or stopped sending."""

    async def receive(self, request: "Request") -> None:
        """Wait until more of the request's body has arrived; raise `ClientGone` if the client disconnects."""

    def drop(self) -> None:
        """Close the connection without a response."""


class Request(Struct, eq=False):
    head: Headers
    method: str
    path: str
    query: bytes = b""
    http_version: str = "1.1"
    peer: str = ""
    """The client's address on the socket; a proxy's if there is one."""
    scheme: str = "http"
    """That of the socket; `ProxyPolicy` replaces it with that of a trusted proxy."""
    server: tuple[str, int] | None = None
    """Address and port that the client connected to, if known."""
    connection: RequestConnection | None = None
    keep_alive: bool = True

    body: bytes | bytearray = b""
    """The part that has arrived so far."""
    body_complete: bool = False
    arrival: int | None = None
    """Number in the worker's `RequestSequence`, if it has arrived completely."""
    is_continued: bool = False
    """Whether `100 Continue` was sent."""
    is_disconnected: bool = False
    response_started: bool = False

    # Set while the request is processed.
    request_id: str = ""
    started: int = 0
    """Start of processing, in nanoseconds."""
    call: str = OTHER
    outcome: str = OK
    user: str | None = None
    host: str | None = None
    origin: str | None = None
    """The console's public origin for this request, if known."""
    forwarded_address: str | None = None

    @property
    def address(self) -> str:
        """The client's address."""
        return self.forwarded_address or self.peer

    @property
    def secure(self) -> bool:
        """Whether the client uses https."""
        return self.origin.startswith("https:") if self.origin else self.scheme == "https"

    @property
    def client(self) -> ClientInfo:
        return ClientInfo(self.address, self.request_id)

    def add_body(self, part: bytes) -> None:
        if not self.body:
            self.body = part
            return
        if not isinstance(self.body, bytearray):
            # It grows in place: a body may arrive in thousands of chunks.
            self.body = bytearray(self.body)
        self.body += part

    async def receive(self) -> None:
        """Wait until more of the body has arrived; raise `ClientGone` if the client disconnects."""
        if self.connection is None:
            raise ClientGone
        await self.connection.receive(self)
