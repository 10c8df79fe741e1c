"""Journal of received requests."""

import re
from codecs import BOM_UTF8
from collections import deque
from typing import Any, Final
from urllib.parse import parse_qsl

from msgspec import MsgspecError, Struct, json
from typing_extensions import override

from cloudconsole.core.clock import Clock, format_utc
from cloudconsole.server.access_log import RequestObserver
from cloudconsole.server.audit_log import LoggedRequest
from cloudconsole.server.http.body import read_body
from cloudconsole.server.http.request import Request
from cloudconsole.server.http.response import Endpoint, Response, Route
from cloudconsole.server.metrics.layout import BEFORE_ACTION, OK
from cloudconsole.spec.operations import FORM, JSON

MAX_REQUESTS: Final = 1000
MAX_BODY_BYTES: Final = 16 << 20
"""The latest requests are kept, up to this number, and up to this total of their bodies."""
MAX_AWAITED_BODY: Final = 65_536
CONTROL_PATHS: Final = "/_test/"
REDACTED: Final = "[redacted]"
SECRET: Final = re.compile(
    r"pass(w|phrase|code|$)|pwd|secret|credential|authorization|(api|access|private)[_-]?key", re.IGNORECASE
)
"""Matches names of headers and fields with secrets; tokens and session ids are worthless after the test."""


class ReceivedRequest(Struct, rename="camel"):
    """A request and its outcome; secrets are redacted, since journals are printed in the logs of test runs."""

    time: str
    method: str
    path: str
    query: str
    headers: dict[str, str]
    call: str
    """The action, `login`, `logout` or `welcome`; `api` if the action cannot be read, else `other`."""
    fields: dict[str, Any]
    """Of a body in JSON or form data; empty if it cannot be read."""
    body: str | None
    """None if it contains a secret, or cannot be read and may contain one."""
    user: str | None
    status: int | None
    """None if the connection was closed without a response, or the client stopped waiting."""
    error: str | None
    request_id: str


class RequestJournal:
    """The requests that reached the application, except those for test controls."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._requests: deque[tuple[ReceivedRequest, int]] = deque()
        """With the size of the body."""
        self._body_bytes = 0

    def all(self) -> list[ReceivedRequest]:
        return [request for request, _ in self._requests]

    def clear(self) -> None:
        self._requests.clear()
        self._body_bytes = 0

    def record(self, request: Request, status: int | None) -> None:
        if request.path.startswith(CONTROL_PATHS):
            return
        body, fields, query = bytes(request.body), _read_fields(request), request.query.decode("latin-1")
        shown = _redacted(fields or {})
        is_shown = not body or (fields is not None and shown == fields)
        action = shown.get("action")
        received = ReceivedRequest(
            time=format_utc(self._clock.now()),
            method=request.method,
            path=request.path,
            query=REDACTED if SECRET.search(query) else query,
            headers=_redacted(request.head.all()),
            call=action if request.call == BEFORE_ACTION and isinstance(action, str) else request.call,
            fields=shown,
            body=body.decode() if is_shown else None,
            user=request.user,
            status=status,
            error=None if request.outcome == OK else request.outcome,
            request_id=request.request_id,
        )
        self._requests.append((received, len(body)))
        self._body_bytes += len(body)
        while len(self._requests) > MAX_REQUESTS or self._body_bytes > MAX_BODY_BYTES:
            _, size = self._requests.popleft()
            self._body_bytes -= size


def with_whole_body(route: Route) -> Route:
    """Return the route with small bodies read first: the console may reject a request before its body has arrived."""
    endpoint: Endpoint = route.endpoint

    async def endpoint_after_body(request: Request) -> Response:
        if 0 < request.head.content_length <= MAX_AWAITED_BODY and not request.head.expects_continue:
            await read_body(request, MAX_AWAITED_BODY)
        return await endpoint(request)

    return Route(route.call, endpoint_after_body)


def _read_fields(request: Request) -> dict[str, Any] | None:
    """Return the fields of the body, or None if it cannot be read."""
    body = bytes(request.body)
    try:
        if request.head.media_type == FORM:
            return dict(parse_qsl(body.decode(), keep_blank_values=True, strict_parsing=bool(body)))
        fields = json.decode(body.removeprefix(BOM_UTF8)) if request.head.media_type == JSON else None
    except (ValueError, MsgspecError, RecursionError):
        return None
    return fields if isinstance(fields, dict) else None


def _redacted(value: Any) -> Any:
    if isinstance(value, list):
        return [_redacted(each) for each in value]
    if isinstance(value, dict):
        return {name: REDACTED if SECRET.search(name) else _redacted(each) for name, each in value.items()}
    return value


class JournalingObserver(RequestObserver):
    """Records each request, and passes it on to another observer."""

    def __init__(self, observer: RequestObserver, journal: RequestJournal) -> None:
        self._observer = observer
        self._journal = journal

    @override
    def finished(self, call: LoggedRequest, status: int) -> None:
        self._record(call, status)
        self._observer.finished(call, status)

    @override
    def client_gone(self, call: LoggedRequest) -> None:
        self._record(call, None)
        self._observer.client_gone(call)

    def _record(self, call: LoggedRequest, status: int | None) -> None:
        if isinstance(call, Request):
            self._journal.record(call, status)
