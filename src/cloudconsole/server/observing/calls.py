"""What is seen of each call: it is counted, perhaps logged, and audited where someone came, left or was refused."""

import logging
import time

from cloudconsole.server.http.health import HEALTH_PATHS
from cloudconsole.server.http.request import Request
from cloudconsole.server.observing.audit import Audit
from cloudconsole.server.observing.layout import GONE, LOGIN, LOGOUT, OK
from cloudconsole.server.observing.meter import Meter

access_log = logging.getLogger("cloudconsole.access")

_AUDITED = {LOGIN, LOGOUT}


class CallObserver:
    def __init__(self, meter: Meter, audit: Audit, *, access_lines: bool) -> None:
        self._meter = meter
        self._audit = audit
        self._access_lines = access_lines

    def answered(self, request: Request, status: int) -> None:
        """Just before the answer is handed to the connection: whoever has it, finds it counted."""
        nanoseconds = time.perf_counter_ns() - request.started
        self._meter.count_call(request.call, request.outcome, nanoseconds)
        if request.outcome != OK or request.call in _AUDITED:
            self._audit.note(request, status)
        if self._access_lines:
            _log_access(request, status, nanoseconds)

    def left(self, request: Request) -> None:
        """The caller went away: there is nobody to answer."""
        nanoseconds = time.perf_counter_ns() - request.started
        self._meter.count_call(request.call, GONE, nanoseconds)
        if self._access_lines:
            _log_access(request, None, nanoseconds)


def _log_access(request: Request, status: int | None, nanoseconds: int) -> None:
    if request.path in HEALTH_PATHS:
        return
    milliseconds = round(nanoseconds / 1_000_000, 3)
    access_log.info(
        "%s %r %s %s, %s from %s, %s ms",
        request.method,
        request.path,
        status or "the caller went away",
        request.call,
        request.user or "nobody",
        request.address,
        milliseconds,
        extra={
            "fields": {
                "event": "call",
                "method": request.method,
                "path": request.path,
                "action": request.call,
                "user": request.user,
                "status": status,
                "duration_ms": milliseconds,
                "address": request.address,
            }
        },
    )
