"""Journal of received requests."""

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
from cloudconsole.spec.operations import CALL_ACTION, FORM, JSON

MAX_REQUESTS: Final = 1000
"""The latest requests are kept."""
MAX_AWAITED_BODY: Final = 65_536
CONTROL_PATHS: Final = "/_test/"
REDACTED: Final = "[redacted]"


class ReceivedRequest(Struct, rename="camel"):
    """A request and its outcome; passwords are redacted, since journals are printed in the logs of test runs."""

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
    """None if it contains a password, or may contain one."""
    user: str | None
    status: int | None
    """None if the connection was closed without a response."""
    error: str | None
    request_id: str


class RequestJournal:
    """The requests that reached the application, except those for test controls."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._requests: deque[ReceivedRequest] = deque(maxlen=MAX_REQUESTS)

    def all(self) -> list[ReceivedRequest]:
        return list(self._requests)

    def clear(self) -> None:
        self._requests.clear()

    def record(self, request: Request, status: int | None) -> None:
        if request.path.startswith(CONTROL_PATHS):
            return
        body, fields = bytes(request.body), _read_fields(request)
        secrets = {name for name in fields if "password" in name.lower()}
        may_have_secrets = bool(secrets) or (not fields and request.path != CALL_ACTION.path)
        action = fields.get("action")
        self._requests.append(
            ReceivedRequest(
                time=format_utc(self._clock.now()),
                method=request.method,
                path=request.path,
                query=request.query.decode("latin-1"),
                headers=request.head.all(),
                call=action if request.call == BEFORE_ACTION and isinstance(action, str) else request.call,
                fields={name: REDACTED if name in secrets else value for name, value in fields.items()},
                body=None if body and may_have_secrets else body.decode(errors="replace"),
                user=request.user,
                status=status,
                error=None if request.outcome == OK else request.outcome,
                request_id=request.request_id,
            )
        )


def with_whole_body(route: Route) -> Route:
    """Return the route with small bodies read first: the console may reject a request before its body has arrived."""
    endpoint: Endpoint = route.endpoint

    async def endpoint_after_body(request: Request) -> Response:
        if 0 < request.head.content_length <= MAX_AWAITED_BODY and not request.head.expects_continue:
            await read_body(request, MAX_AWAITED_BODY)
        return await endpoint(request)

    return Route(route.call, endpoint_after_body)


def _read_fields(request: Request) -> dict[str, Any]:
    body = bytes(request.body)
    try:
        if request.head.media_type == FORM:
            return dict(parse_qsl(body.decode(), keep_blank_values=True))
        fields = json.decode(body.removeprefix(BOM_UTF8)) if request.head.media_type == JSON else {}
    except (ValueError, MsgspecError, RecursionError):
        return {}
    return fields if isinstance(fields, dict) else {}


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
