"""The connection of a console whose calls may be told to fail: one can end without an answer."""

from typing import Any

from uvicorn.protocols.http.httptools_impl import RequestResponseCycle

from cloudconsole.server.http.protocol import GuardedProtocol
from cloudconsole.server.http.request import DROP


class DroppableProtocol(GuardedProtocol):
    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        scope: dict[str, Any] = cycle.scope  # type: ignore[assignment]
        scope[DROP] = self.drop
        super()._start_asgi_task(cycle, app)
