"""Liveness and readiness endpoints, for any Host."""

import logging
from collections.abc import Callable
from typing import Final

from cloudconsole.server.http.request import Request
from cloudconsole.server.http.response import Response, json_response
from cloudconsole.spec import envelope
from cloudconsole.spec.errors import Unavailable
from cloudconsole.spec.i18n import Text
from cloudconsole.store.base import Reader
from cloudconsole.store.health import unexpected_revisions
from cloudconsole.store.migrations import known_revisions

log = logging.getLogger(__name__)

ALIVE_PATH: Final = "/healthz"
READY_PATH: Final = "/readyz"
HEALTH_PATHS: Final = frozenset({ALIVE_PATH, READY_PATH})

_ALIVE: Final = Text("Alive.", "运行中。")
_READY: Final = Text("Ready.", "已就绪。")
_INCOMPATIBLE: Final = Text(
    "Not ready: the store is at schema revision {found}, which this version (revision {own}) cannot serve.",
    "未就绪：存储的架构版本为 {found}，本版本（{own}）无法使用。",
)


class HealthEndpoint:
    def __init__(self, reader: Reader, is_draining: Callable[[], bool]) -> None:
        self._reader = reader
        self._is_draining = is_draining
        self._is_incompatible = False

    async def alive(self, request: Request) -> Response:
        return json_response(envelope.notice(_ALIVE, 200, request.head.language))

    async def ready(self, request: Request) -> Response:
        """Succeed unless the server is stopping or its store is unavailable or incompatible."""
        await self._reader.changes.poll()
        if self._is_draining():
            raise Unavailable
        await self._require_compatible_store()
        return json_response(envelope.notice(_READY, 200, request.head.language))

    async def _require_compatible_store(self) -> None:
        """Log only transitions, not every probe."""
        incompatible, own = await unexpected_revisions(self._reader), known_revisions()[0]
        if incompatible and not self._is_incompatible:
            log.warning(
                "not ready: the store is at revision %s, which this version (revision %s) cannot serve",
                incompatible[0],
                own,
            )
        elif self._is_incompatible and not incompatible:
            log.warning("ready: this version (revision %s) can serve the store again", own)
        self._is_incompatible = bool(incompatible)
        if incompatible:
            raise Unavailable(instead=_INCOMPATIBLE, found=incompatible[0], own=own)
