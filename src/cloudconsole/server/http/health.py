"""Whether the process is alive and ready to serve, for whatever watches it; answered for any Host."""

import logging
from collections.abc import Callable
from typing import Final

from cloudconsole.server.http.front import Front
from cloudconsole.server.http.request import Request
from cloudconsole.server.http.response import Response, json_response
from cloudconsole.spec import envelope
from cloudconsole.spec.errors import Unavailable
from cloudconsole.spec.language import Text
from cloudconsole.store.migrations import known_revisions
from cloudconsole.store.reader import Reader
from cloudconsole.store.readiness import odd_revisions

log = logging.getLogger(__name__)

ALIVE_PATH: Final = "/healthz"
READY_PATH: Final = "/readyz"
HEALTH_PATHS: Final = frozenset({ALIVE_PATH, READY_PATH})

_ALIVE: Final = Text("Alive.", "运行中。")
_READY: Final = Text("Ready.", "已就绪。")


class HealthEndpoint:
    def __init__(self, reader: Reader, is_draining: Callable[[], bool]) -> None:
        self._reader = reader
        self._is_draining = is_draining
        self._has_odd_tables = False

    async def alive(self, request: Request, _front: Front) -> Response:
        """Always: that we answer is all there is to know."""
        return json_response(envelope.notice(_ALIVE, 200, request.head.language))

    async def ready(self, request: Request, _front: Front) -> Response:
        """Only while calls would be served: not when stopping, nor without a store that can be watched and is known."""
        await self._reader.changes.look()
        if self._is_draining() or await self._finds_odd_tables():
            raise Unavailable
        return json_response(envelope.notice(_READY, 200, request.head.language))

    async def _finds_odd_tables(self) -> bool:
        """Told when it begins and when it ends, not each time that somebody asks."""
        odd = await odd_revisions(self._reader)
        if odd and not self._has_odd_tables:
            needed = known_revisions()[0]
            log.warning("not ready: the store's tables are of revision %s, and this program's of %s", odd[0], needed)
        elif self._has_odd_tables and not odd:
            log.warning("ready: the store's tables are of this program's revision again")
        self._has_odd_tables = bool(odd)
        return self._has_odd_tables
