"""Fault injection."""

import asyncio
from collections.abc import Callable
from typing import Final, NoReturn

from msgspec import Struct

from cloudconsole.server.http.body import parse_fields, read_body
from cloudconsole.server.http.request import ClientGone, Request
from cloudconsole.server.http.response import Endpoint, Response, Route
from cloudconsole.server.metrics.layout import BEFORE_ACTION
from cloudconsole.spec import errors
from cloudconsole.spec.actions import ACTIONS
from cloudconsole.spec.errors import ApiError
from cloudconsole.spec.extensions import EXTENSIONS
from cloudconsole.spec.operations import FORM, JSON

ACTION_NAMES: Final = frozenset(action.name for action in (*ACTIONS, *EXTENSIONS))

_WITH_DETAILS: Final[dict[type[ApiError], Callable[[Request], ApiError]]] = {
    errors.MissingField: lambda _: errors.MissingField("action"),
    errors.InvalidField: lambda _: errors.InvalidField("action"),
    errors.UnknownRegion: lambda _: errors.UnknownRegion([]),
    errors.ProjectRequired: lambda _: errors.ProjectRequired(["project"]),
    errors.FlavorNotFound: lambda _: errors.FlavorNotFound("items[0].flavor", ""),
    errors.NodeNotFound: lambda _: errors.NodeNotFound("items[0].region", ""),
    errors.MethodNotAllowed: lambda _: errors.MethodNotAllowed("OPTIONS"),
    errors.BodyTooLarge: lambda _: errors.BodyTooLarge(0),
    errors.UnsupportedMediaType: lambda _: errors.UnsupportedMediaType((JSON, FORM)),
    errors.TooManyRequests: lambda _: errors.TooManyRequests(1),
    errors.InternalError: lambda request: errors.InternalError(request.request_id),
}
"""Constructors of errors that need arguments."""

CATALOGUE: Final[dict[str, type[ApiError]]] = {kind.error: kind for kind in errors.ERRORS}


class Fault(Struct, omit_defaults=True, rename="camel"):
    """A fault to inject into the next `left` matching requests."""

    left: int
    call: str | None = None
    """Action or other operation; None matches every request."""
    delay: float = 0
    error: str | None = None
    status: int | None = None
    drop: bool = False
    retry_after: int | None = None

    def apply(self, request: Request) -> Response | None:
        """Apply the fault after its delay; return None to continue with the normal response."""
        if self.drop:
            _drop(request)
        if self.error is not None:
            raise self._error(CATALOGUE[self.error], request)
        if self.status is None:
            return None
        headers = [] if self.retry_after is None else [(b"retry-after", b"%d" % self.retry_after)]
        return Response(self.status, headers=headers)

    def _error(self, kind: type[ApiError], request: Request) -> ApiError:
        make = _WITH_DETAILS.get(kind)
        if kind is errors.TooManyRequests and self.retry_after is not None:
            return errors.TooManyRequests(self.retry_after)
        error = kind() if make is None else make(request)
        if self.retry_after is not None:
            error.retry_after = self.retry_after
        return error


def _drop(request: Request) -> NoReturn:
    if request.connection is not None:
        request.connection.drop()
    raise ClientGone


class Faults:
    """Pending faults, in the order in which they were requested."""

    def __init__(self, max_body: int) -> None:
        self._max_body = max_body
        self.coming: list[Fault] = []
        self._forgotten = asyncio.Event()

    def forget(self) -> None:
        """Clear all faults and drop the requests that they delay."""
        self.coming.clear()
        self._forgotten.set()
        self._forgotten = asyncio.Event()

    def around(self, route: Route) -> Route:
        """Return the route with fault injection before the endpoint."""
        endpoint: Endpoint = route.endpoint

        async def endpoint_with_faults(request: Request) -> Response:
            fault = await self._next_for(request, route.call)
            if fault is None:
                return await endpoint(request)
            await self._wait(fault.delay, request)
            return fault.apply(request) or await endpoint(request)

        return Route(route.call, endpoint_with_faults)

    async def _wait(self, seconds: float, request: Request) -> None:
        """Wait, but stop if the client disconnects."""
        if not seconds:
            return
        forgotten = self._forgotten
        gone = [] if request.connection is None else [request.connection.gone]
        ends = [asyncio.create_task(event.wait()) for event in (forgotten, *gone)]
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
        body = await read_body(request, self._max_body)
        try:
            return str(parse_fields(body, request.head.media_type, ("action",)).get("action"))
        except ApiError:
            return BEFORE_ACTION
