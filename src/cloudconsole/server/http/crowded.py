"""The part of a connection that has to do with too many others: calls are turned away, or the connection itself."""

from http import HTTPStatus
from typing import Any, Final

from uvicorn.protocols.http.httptools_impl import RequestResponseCycle

from cloudconsole.server.http.crowding import Crowding
from cloudconsole.server.http.head import LastHead
from cloudconsole.server.http.health import HEALTH_PATHS
from cloudconsole.server.http.patience import PatientProtocol
from cloudconsole.server.http.raw_answers import no_place_answer, turn_away
from cloudconsole.server.metrics.layout import CONNECTION_REFUSALS, TURNED_AWAY
from cloudconsole.server.metrics.shared_memory import Meter

LINGER_SECONDS: Final = 1


class CrowdedProtocol(PatientProtocol):
    max_connections: int
    meter: Meter
    crowding: Crowding

    rests = False
    came_late = False

    _last_head: LastHead

    def rest(self) -> None:
        """Read nothing more for now."""
        self.rests = True
        if not self.transport.is_closing():
            self.transport.pause_reading()

    def listen(self) -> None:
        """Read on."""
        self.rests = False
        if not self.transport.is_closing():
            self.transport.resume_reading()

    async def _attend(self, cycle: RequestResponseCycle, app: Any, came_late: bool) -> None:
        """In a crowd: refuse a call whose turn comes too late, by the shortest way."""
        # A body that is still arriving would have to be read all the same.
        may_be_refused = not cycle.more_body and cycle.scope["path"] not in HEALTH_PATHS
        if may_be_refused and self.crowding.turns_away(came_late=came_late):
            turn_away(cycle, self.crowding, self._last_head)
            self.meter.add(TURNED_AWAY)
            if not came_late:
                self.crowding.let_rest(self)
        else:
            await cycle.run_asgi(app)

    def _has_place(self) -> bool:
        return len(self.connections) <= self.max_connections

    def _refuse_place(self) -> None:
        """Answer before anything was asked; a moment to read that is left, since closing at once might reset it."""
        self.meter.add(CONNECTION_REFUSALS[HTTPStatus.SERVICE_UNAVAILABLE])
        self.transport.write(no_place_answer(self.config.encoded_headers))
        self.loop.call_later(LINGER_SECONDS, self.transport.abort)
