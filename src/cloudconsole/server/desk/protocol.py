"""The connection of a console whose calls may be told to fail: one can end without an answer."""

import asyncio
from typing import Any

from typing_extensions import override
from uvicorn.protocols.http.httptools_impl import RequestResponseCycle

from cloudconsole.server.http.connection import GuardedProtocol
from cloudconsole.server.http.request import DROP, GONE


class DroppableProtocol(GuardedProtocol):
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
