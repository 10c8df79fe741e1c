"""Incremental parsing of requests from a connection's bytes, within limits."""

from collections import deque
from functools import lru_cache
from http import HTTPStatus
from typing import Final, NoReturn
from urllib.parse import unquote

import httptools

from cloudconsole.server.http.request import HeaderPairs, Headers, Request, RequestConnection

MAX_HEAD_BYTES: Final = 32 * 1024
MAX_HEADERS: Final = 100
"""Per request; trailers have the same limit."""
MAX_PATH_ESCAPES: Final = 256
"""Each is decoded in a Python loop; no path of the console has any."""
MAX_FRAMING_BYTES: Final = 1024 * 1024
"""Bytes of one request outside its body: head, chunk framing and trailers."""
MAX_SMALL_CHUNKS: Final = 256
"""Chunks or reads of one body that may be small; the others must have `MIN_CHUNK` bytes on average."""
MIN_CHUNK: Final = 256
MAX_REPEATED_HEAD: Final = 4096
"""Bytes of the longest head that is remembered for the next request."""


class InvalidRequest(Exception):
    """What arrived is not a valid request, or exceeds a limit."""

    def __init__(self, status: HTTPStatus, text: bytes = b"") -> None:
        super().__init__(status, text)
        self.status = status
        self.text = text


class RequestParser:
    """Requests of one connection; an offer to upgrade to another protocol is ignored, as HTTP allows."""

    is_receiving = False
    """Whether a request has begun to arrive and is not complete."""
    unread_bytes = 0
    """Bytes of its incomplete body, since the reader reset this."""

    completed = 0
    """Requests that the last data completed."""

    # About the request that arrives.
    _newest: Request
    _in_head = _head_may_be_large = _is_too_large = _has_upgrade = False
    _framing_bytes = _body_bytes = _chunks = _max_waiting = 0
    _url = b""
    # About the last one, if it arrived in one piece.
    _last_head, _last_length = b"", 0

    def __init__(self, connection: RequestConnection, peer: str, scheme: str, server: tuple[str, int] | None) -> None:
        self._context = peer, scheme, server, connection
        self.waiting: deque[Request] = deque()
        """Requests that are not processed yet; the last may be incomplete."""
        self._headers: HeaderPairs = []
        self._parser = self._new_parser()

    def feed(self, data: bytes, max_waiting: int) -> None:
        """Parse data, which may complete requests; raise `InvalidRequest` if it is invalid, or if too many wait."""
        is_at_start = not self.is_receiving
        if is_at_start and len(data) == self._last_length and data.startswith(self._last_head) and not self.waiting:
            # Clients often repeat a request, whose head then need not be parsed again.
            request = self._add_request()
            request.body, request.body_complete = data[len(self._last_head) :], True
            return
        # Until this request is known to be complete, the head of another one must not stand for it.
        self._last_length = 0
        self.is_receiving = True
        self.completed = 0
        self._max_waiting = max_waiting
        # A head that begins and ends in this data is no larger than the data.
        self._head_may_be_large = self._in_head or len(data) > MAX_HEAD_BYTES
        self._framing_bytes += len(data)
        try:
            self._feed(data)
        except httptools.HttpParserError:
            if not self._is_too_large:
                raise InvalidRequest(HTTPStatus.BAD_REQUEST, b"Invalid HTTP request received.") from None
        if self.completed:
            self._framing_bytes = 0
        elif self._framing_bytes > (MAX_HEAD_BYTES if self._in_head else MAX_FRAMING_BYTES):
            self._is_too_large = True
        if self._is_too_large:
            raise InvalidRequest(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE)
        if is_at_start and self.completed == 1 and not self.is_receiving:
            head_bytes = data.find(b"\r\n\r\n") + 4
            # Not if there are chunks, or blank lines before or after the request.
            if head_bytes + self._body_bytes == len(data) and head_bytes <= MAX_REPEATED_HEAD:
                self._last_head, self._last_length = data[:head_bytes], len(data)

    def _feed(self, data: bytes) -> None:
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:
            # The parser treats everything after the head as another protocol, even a body. Parse the same request again
            # without `Upgrade`.
            old, self._parser = self._parser, self._new_parser()
            first = b"%b %b HTTP/%b" % (old.get_method(), self._url, old.get_http_version().encode())
            headers = [b"%b: %b" % header for header in self._headers if header[0].lower() != b"upgrade"]
            self._feed(b"\r\n".join([first, *headers, b"", data[upgrade.args[0] :]]))

    def _new_parser(self) -> httptools.HttpRequestParser:
        parser = httptools.HttpRequestParser(self)
        # Requests after one with `Connection: close` are ignored, not an error.
        parser.set_dangerous_leniencies(lenient_data_after_close=True)
        return parser

    def on_message_begin(self) -> None:
        self._url, self._headers = b"", []
        self.is_receiving = self._in_head = True
        self._body_bytes = self._chunks = self.unread_bytes = 0

    def on_url(self, url: bytes) -> None:
        self._url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        """Add a header, or after the body a trailer."""
        self._headers.append((name, value))
        if len(self._headers) > MAX_HEADERS:
            self._reject_size()

    def on_headers_complete(self) -> None:
        parser, headers = self._parser, self._headers
        self._in_head = False
        if self._head_may_be_large:
            head_bytes = len(self._url) + sum(len(name) + len(value) + 4 for name, value in headers)
            if head_bytes > MAX_HEAD_BYTES:
                self._reject_size()
        if len(self.waiting) > self._max_waiting:
            raise ValueError("too many pipelined requests")
        self._has_upgrade = parser.should_upgrade()
        if self._has_upgrade:
            if parser.get_method() == b"CONNECT":
                raise ValueError("CONNECT is not supported")
            return
        path, query = _parse_target(self._url)
        version, method = parser.get_http_version(), parser.get_method().decode()
        keep_alive = version != "1.0" and parser.should_keep_alive()
        self._arguments = Headers(headers), method, path, query, version, *self._context, keep_alive
        self._add_request()
        # What follows are trailers.
        self._headers = []

    def _add_request(self) -> Request:
        self._newest = request = Request(*self._arguments)
        self.waiting.append(request)
        return request

    def on_body(self, body: bytes) -> None:
        self._framing_bytes -= len(body)
        self._body_bytes += len(body)
        self.unread_bytes += len(body)
        self._chunks += 1
        if self._chunks > MAX_SMALL_CHUNKS + self._body_bytes // MIN_CHUNK:
            raise ValueError("too many small chunks")
        self._newest.add_body(body)

    def on_message_complete(self) -> None:
        if not self._has_upgrade:
            self.completed += 1
            self._newest.body_complete = True
            self.is_receiving, self.unread_bytes = False, 0

    def _reject_size(self) -> NoReturn:
        self._is_too_large = True
        raise ValueError("request head too large")


@lru_cache(maxsize=64)
def _parse_target(url: bytes) -> tuple[str, bytes]:
    """Return path and query."""
    if b"%" in url and url.partition(b"?")[0].count(b"%") > MAX_PATH_ESCAPES:
        raise ValueError("too many escapes in the path")
    parsed = httptools.parse_url(url)
    path = parsed.path.decode("ascii")
    return unquote(path) if "%" in path else path, parsed.query or b""
