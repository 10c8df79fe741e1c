"""Responses: common headers, errors, sending; and the types of routes."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final, NamedTuple

from msgspec import Struct

from cloudconsole.server.http.request import ClientGone, Request, Send
from cloudconsole.spec import envelope
from cloudconsole.spec.errors import ApiError, BodyTooLarge, MethodNotAllowed, Unavailable

HeaderList = list[tuple[bytes, bytes]]

JSON_TYPE: Final = (b"content-type", b"application/json")
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

PLAIN_JSON: Final[HeaderList] = [JSON_TYPE]
"""Headers of a plain JSON response, whose head is pre-rendered in `WHOLE_HEAD`."""

WHOLE_HEAD: Final = (
    b"HTTP/1.1 200 OK\r\n"
    + b"".join(b"%b: %b\r\n" % header for header in (JSON_TYPE, CLOSED_POLICY, NO_STORE, *SECURITY_HEADERS))
    + b"content-length: %d\r\nx-request-id: %b\r\n"
)
AGE: Final = b"age"
"""Seconds since the data was read from the upstream cloud."""

MAX_DISCARDED: Final = 8 * 1024 * 1024
DISCARD_SECONDS: Final = 10


class Response(Struct):
    status: int = 200
    body: bytes = b""
    headers: HeaderList = []
    policy: tuple[bytes, bytes] = CLOSED_POLICY
    caching: tuple[bytes, bytes] = NO_STORE
    age: int | None = None


def json_response(body: bytes, status: int = 200, headers: HeaderList | None = None) -> Response:
    return Response(status, body, [JSON_TYPE, *(headers or [])])


def plain_response(body: bytes, age: int | None = None) -> Response:
    """Return a success without additional headers but `Age`; see `PLAIN_JSON`."""
    return Response(200, body, PLAIN_JSON, age=age)


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
        headers.append((b"connection", b"close"))
    return headers


async def send_response(response: Response, request: Request, send: Send) -> None:
    if _write_directly(response, request):
        return
    headers = _headers(response, request.request_id)
    if response.status in (204, 304):
        headers = [header for header in headers if header[0] != b"content-length"]
    await send({"type": "http.response.start", "status": response.status, "headers": headers})
    body = b"" if request.method == "HEAD" else response.body
    if request.body_complete:
        await send({"type": "http.response.body", "body": body})
        return
    # Send the response at once, but keep the connection open while the client sends the rest of its body: closing it
    # with unread data would reset it, and the client would never see the response.
    await send({"type": "http.response.body", "body": body, "more_body": True})
    await _discard_body(request)
    await send({"type": "http.response.body", "body": b""})


def _write_directly(response: Response, request: Request) -> bool:
    """Write a success to the connection at once; return False if that is not possible."""
    writer = request.writer
    if writer is None or response.status != 200 or request.method == "HEAD" or not request.body_complete:
        return False
    return writer.write(_whole_head(response, request.request_id), response.body)


def _headers(response: Response, request_id: str) -> HeaderList:
    return [
        *response.headers,
        (b"content-length", b"%d" % len(response.body)),
        (b"x-request-id", request_id.encode("ascii")),
        response.policy,
        response.caching,
        *([] if response.age is None else [(AGE, b"%d" % response.age)]),
        *SECURITY_HEADERS,
    ]


def _whole_head(response: Response, request_id: str) -> bytes:
    """Return the head of a success; it contains no unvalidated text of the client."""
    if response.headers[:1] == PLAIN_JSON and response.policy is CLOSED_POLICY and response.caching is NO_STORE:
        head = WHOLE_HEAD % (len(response.body), request_id.encode("ascii"))
        for header in response.headers[1:]:
            head += b"%b: %b\r\n" % header
        return head if response.age is None else b"%b%b: %d\r\n" % (head, AGE, response.age)
    headers = [b"%b: %b\r\n" % header for header in _headers(response, request_id)]
    return b"".join([b"HTTP/1.1 200 OK\r\n", *headers])


async def _discard_body(request: Request) -> None:
    discarded = 0
    try:
        async with asyncio.timeout(DISCARD_SECONDS):
            while not request.body_complete and discarded < MAX_DISCARDED:
                discarded += len(request.chunk_of(await request.receive()))
    except (TimeoutError, ClientGone):
        return


Endpoint = Callable[[Request], Awaitable[Response]]


class Route(NamedTuple):
    call: str
    """Label in metrics; a call of an action later gets the action's name."""
    endpoint: Endpoint


Routes = dict[str, dict[str, Route]]
"""By path, then by method."""
