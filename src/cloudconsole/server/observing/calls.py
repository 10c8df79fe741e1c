"""What is seen of each call: it is counted, perhaps logged, and audited where someone came, left or was refused."""

import logging
import time
from collections.abc import Container

from cloudconsole.server.observing.audit import Audit
from cloudconsole.server.observing.layout import GONE, LOGIN, LOGOUT, OK, OPERATOR_LOGIN, OPERATOR_LOGOUT
from cloudconsole.server.observing.meter import Meter
from cloudconsole.server.observing.seen import SeenCall

access_log = logging.getLogger("cloudconsole.access")

_AUDITED = {LOGIN, LOGOUT, OPERATOR_LOGIN, OPERATOR_LOGOUT}


class CallObserver:
    """`quiet_paths` leave no access lines, where there are any."""

    def __init__(self, meter: Meter, audit: Audit, *, access_lines: bool, quiet_paths: Container[str]) -> None:
        self._meter = meter
        self._audit = audit
        self._access_lines = access_lines
        self._quiet_paths = quiet_paths

    def answered(self, call: SeenCall, status: int) -> None:
        """Just before the answer is handed to the connection: whoever has it, finds it counted."""
        nanoseconds = time.perf_counter_ns() - call.started
        self._meter.count_call(call.call, call.outcome, nanoseconds)
        if call.outcome != OK or call.call in _AUDITED:
            self._audit.note(call, status)
        if self._access_lines and call.path not in self._quiet_paths:
            _log_access(call, status, nanoseconds)

    def left(self, call: SeenCall) -> None:
        """The caller went away: there is nobody to answer."""
        nanoseconds = time.perf_counter_ns() - call.started
        self._meter.count_call(call.call, GONE, nanoseconds)
        if self._access_lines and call.path not in self._quiet_paths:
            _log_access(call, None, nanoseconds)


def _log_access(call: SeenCall, status: int | None, nanoseconds: int) -> None:
    milliseconds = round(nanoseconds / 1_000_000, 3)
    access_log.info(
        "%s %r %s %s, %s from %s, %s ms",
        call.method,
        call.path,
        status or "the caller went away",
        call.call,
        call.user or "nobody",
        call.address,
        milliseconds,
        extra={
            "fields": {
                "event": "call",
                "method": call.method,
                "path": call.path,
                "action": call.call,
                "user": call.user,
                "status": status,
                "duration_ms": milliseconds,
                "address": call.address,
            }
        },
    )
