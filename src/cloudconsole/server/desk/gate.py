"""The gate before all calls of a console in test mode: closed, it lets none in, and those within have left."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from cloudconsole.server.http.proxy import Front
from cloudconsole.server.http.request import Request
from cloudconsole.server.http.response import Response
from cloudconsole.server.http.routing import Endpoint, Route


class Gate:
    def __init__(self) -> None:
        self._open, self._nobody_within = asyncio.Event(), asyncio.Event()
        self._open.set()
        self._nobody_within.set()
        self._within = 0

    def around(self, route: Route) -> Route:
        """The route with the gate before it: a call waits there while it is closed."""
        endpoint: Endpoint = route.endpoint

        async def let_in(request: Request, front: Front) -> Response:
            # Asked again, since it may have been closed anew before this call's turn came.
            while not self._open.is_set():
                await self._open.wait()
            self._within += 1
            self._nobody_within.clear()
            try:
                return await endpoint(request, front)
            finally:
                self._within -= 1
                if not self._within:
                    self._nobody_within.set()

        return Route(route.call, let_in)

    @asynccontextmanager
    async def closed(self) -> AsyncIterator[None]:
        """While no call is under way; to be held by one at a time."""
        self._open.clear()
        try:
            await self._nobody_within.wait()
            yield
        finally:
            self._open.set()
