"""Fault injection, droppable connections."""

import asyncio
from collections.abc import Callable
from typing import Any, Final, NoReturn

from msgspec import Struct
from typing_extensions import override
from uvicorn.protocols.http.httptools_impl import RequestResponseCycle

from cloudconsole.server.http.body import parse_fields, read_body
from cloudconsole.server.http.connection import LimitedProtocol
from cloudconsole.server.http.request import DROP, GONE, ClientGone, Request
from cloudconsole.server.http.response import Endpoint, Response, Route
from cloudconsole.server.metrics.layout import BEFORE_ACTION
from cloudconsole.spec import errors
from cloudconsole.spec.actions import ACTIONS
from cloudconsole.spec.constants import FORM, JSON
from cloudconsole.spec.errors import ApiError

ACTION_NAMES: Final = frozenset(action.name for action in ACTIONS)

_WITH_DETAILS: Final[dict[type[ApiError], Callable[[Request], ApiError]]] = {
    errors.MissingField: lambda _: errors.MissingField("action"),
    errors.InvalidField: lambda _: errors.InvalidField("action"),
    errors.UnknownRegion: lambda _: errors.UnknownRegion([]),
    errors.MethodNotAllowed: lambda _: errors.MethodNotAllowed("OPTIONS"),
    errors.BodyTooLarge: lambda _: errors.BodyTooLarge(0),
    errors.UnsupportedMediaType: lambda _: errors.UnsupportedMediaType((JSON, FORM)),
    errors.TooManyRequests: lambda _: errors.TooManyRequests(1),
    errors.InternalError: lambda request: errors.InternalError(request.request_id),
}
"""Those that say more than their name."""

CATALOGUE: Final[dict[str, type[ApiError]]] = {kind.error: kind for kind in ApiError.__subclasses__()}


class Fault(Struct, omit_defaults=True, rename="camel"):
    """One thing that goes wrong, so many times more."""

    left: int
    call: str | None = None
    """An action or another call of the interface; any where none is named."""
    delay: float = 0
    error: str | None = None
    status: int | None = None
    drop: bool = False
    retry_after: int | None = None

    def apply(self, request: Request) -> Response | None:
        """Do what it is there for, but for the delay; None where the call is then answered as it always is."""
        if self.drop:
            _drop(request)
        if self.error is not None:
            raise self._refusal(CATALOGUE[self.error], request)
        if self.status is None:
            return None
        waits = [] if self.retry_after is None else [(b"retry-after", b"%d" % self.retry_after)]
        return Response(self.status, headers=waits)

    def _refusal(self, kind: type[ApiError], request: Request) -> ApiError:
        make = _WITH_DETAILS.get(kind)
        if kind is errors.TooManyRequests and self.retry_after is not None:
            return errors.TooManyRequests(self.retry_after)
        refusal = kind() if make is None else make(request)
        if self.retry_after is not None:
            refusal.retry_after = self.retry_after
        return refusal


def _drop(request: Request) -> NoReturn:
    request.drop_connection()
    raise ClientGone


class Faults:
    """Those that are still to come, in the order in which they were asked for."""

    def __init__(self, most_body: int) -> None:
        self._most_body = most_body
        self.coming: list[Fault] = []
        self._forgotten = asyncio.Event()

    def forget(self) -> None:
        """None is to come any more, and calls that one delays are dropped: they belong to what is over."""
        self.coming.clear()
        self._forgotten.set()
        self._forgotten = asyncio.Event()

    def around(self, route: Route) -> Route:
        """The route with faults before it: they strike before a call is looked at."""
        endpoint: Endpoint = route.endpoint

        async def struck_or_answered(request: Request) -> Response:
            fault = await self._next_for(request, route.call)
            if fault is None:
                return await endpoint(request)
            await self._wait(fault.delay, request)
            return fault.apply(request) or await endpoint(request)

        return Route(route.call, struck_or_answered)

    async def _wait(self, seconds: float, request: Request) -> None:
        """Wait so long, but not for a caller that has gone."""
        if not seconds:
            return
        forgotten = self._forgotten
        ends = [asyncio.create_task(event.wait()) for event in (forgotten, request.gone)]
        _, waiting = await asyncio.wait(ends, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        for each in waiting:
            each.cancel()
        if forgotten.is_set():
            _drop(request)

    async def _next_for(self, request: Request, call: str) -> Fault | None:
        if call == BEFORE_ACTION and any(fault.call in ACTION_NAMES for fault in self.coming):
            call = await self._action_of(request)
        for fault in self.coming:
            if fault.call in (None, call):
                fault.left -= 1
                if not fault.left:
                    self.coming.remove(fault)
                return fault
        return None

    async def _action_of(self, request: Request) -> str:
        body = await read_body(request, self._most_body)
        try:
            return str(parse_fields(body, request.head.media_type, ("action",)).get("action"))
        except ApiError:
            return BEFORE_ACTION


class DroppableProtocol(LimitedProtocol):
    @override
    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        self._gone = asyncio.Event()
        super().connection_made(transport)

    @override
    def eof_received(self) -> bool:  # type: ignore[override]
        # One that only ends its sending side looks the same, and is answered yet.
        self._gone.set()
        return super().eof_received()

    @override
    def connection_lost(self, exc: Exception | None) -> None:
        self._gone.set()
        super().connection_lost(exc)

    @override
    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        scope: dict[str, Any] = cycle.scope  # type: ignore[assignment]
        scope[DROP], scope[GONE] = self.drop, self._gone
        super()._start_asgi_task(cycle, app)
