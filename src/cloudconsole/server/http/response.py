"""Responses: common headers, errors, rendering; and the types of routes."""

from collections.abc import Awaitable, Callable
from functools import cache, lru_cache
from http import HTTPStatus
from typing import Final, NamedTuple

from msgspec import Struct

from cloudconsole.server.http.request import Request
from cloudconsole.spec import envelope
from cloudconsole.spec.errors import ApiError, BodyTooLarge, MethodNotAllowed, Unavailable
from cloudconsole.spec.i18n import Language

HeaderList = list[tuple[bytes, bytes]]

JSON: Final = b"application/json"
NO_STORE: Final = (b"cache-control", b"no-store")

SECURITY_HEADERS: Final[HeaderList] = [
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
]
CLOSED_POLICY: Final = (
    b"content-security-policy",
    b"default-src 'none'; frame-ancestors 'none'; base-uri 'none'",
)

CONNECTION_CLOSE: Final = (b"connection", b"close")
AGE: Final = b"age"
"""Seconds since the data was read from the upstream cloud."""


class Response(Struct):
    status: int = 200
    body: bytes = b""
    headers: HeaderList = []
    content_type: bytes = b""
    policy: tuple[bytes, bytes] = CLOSED_POLICY
    caching: tuple[bytes, bytes] = NO_STORE


def json_response(body: bytes, status: int = 200, headers: HeaderList | None = None) -> Response:
    return Response(status, body, headers or [], JSON)


def cookie_headers(*cookies: str) -> HeaderList:
    return [(b"set-cookie", cookie.encode("ascii")) for cookie in cookies]


def error_response(error: ApiError, request: Request) -> Response:
    return json_response(envelope.error(error, request.head.language), error.code, error_headers(error))


def error_headers(error: ApiError) -> HeaderList:
    headers: HeaderList = []
    if error.retry_after is not None:
        headers.append((b"retry-after", b"%d" % error.retry_after))
    if isinstance(error, MethodNotAllowed):
        headers.append((b"allow", error.allow.encode("ascii")))
    if isinstance(error, BodyTooLarge) or (isinstance(error, Unavailable) and error.closes):
        headers.append(CONNECTION_CLOSE)
    return headers


@cache
def unavailable_response(language: Language) -> Response:
    """Return the response to a request that is rejected because of overload; the connection stays open."""
    error = Unavailable(closes=False)
    return json_response(envelope.error(error, language), error.code, error_headers(error))


def render(response: Response, request: Request, more_headers: bytes = b"") -> bytes:
    """Return a response as bytes; no header contains unvalidated text of the client."""
    body, headers = response.body, response.headers
    return b"".join(
        (
            _fixed_lines(response.status, response.content_type, response.policy, response.caching),
            b"" if response.status in (204, 304) else b"content-length: %d\r\n" % len(body),
            b"x-request-id: %b\r\n" % request.request_id.encode(),
            _lines(headers) if headers else b"",
            more_headers,
            b"\r\n" if request.keep_alive or CONNECTION_CLOSE in headers else b"connection: close\r\n\r\n",
            b"" if request.method == "HEAD" else body,
        )
    )


@lru_cache(maxsize=256)
def _fixed_lines(status: int, content_type: bytes, policy: tuple[bytes, bytes], caching: tuple[bytes, bytes]) -> bytes:
    # Test mode injects any status.
    first = f"HTTP/1.1 {status} {_PHRASES.get(status, '')}\r\n".encode()
    types = [(b"content-type", content_type)] if content_type else []
    return first + _lines([*types, policy, caching, *SECURITY_HEADERS])


_PHRASES: Final = {status.value: status.phrase for status in HTTPStatus}


def _lines(headers: HeaderList) -> bytes:
    return b"".join([b"%b: %b\r\n" % header for header in headers])


Endpoint = Callable[[Request], Awaitable[Response]]


class Route(NamedTuple):
    call: str
    """Label in metrics; a call of an action later gets the action's name."""
    endpoint: Endpoint
    needs_task: bool = True
    """Whether the endpoint must run in a task from its start; see `core.coroutines`."""


Routes = dict[str, dict[str, Route]]
"""By path, then by method."""
