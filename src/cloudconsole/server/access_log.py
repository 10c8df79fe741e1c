"""Access log; counts and logs every finished request."""

import logging
import time
from collections.abc import Container

from cloudconsole.server.audit_log import AuditLog, LoggedRequest
from cloudconsole.server.metrics.layout import GONE, LOGIN, LOGOUT, OK, OPERATOR_LOGIN, OPERATOR_LOGOUT
from cloudconsole.server.metrics.shared_memory import WorkerMetrics

access_log = logging.getLogger("cloudconsole.access")

_AUDITED = {LOGIN, LOGOUT, OPERATOR_LOGIN, OPERATOR_LOGOUT}


class RequestObserver:
    """Counts and logs finished requests; `quiet_paths` are not in the access log."""

    def __init__(
        self, metrics: WorkerMetrics, audit: AuditLog, *, access_lines: bool, quiet_paths: Container[str]
    ) -> None:
        self._metrics = metrics
        self._audit = audit
        self._access_lines = access_lines
        self._quiet_paths = quiet_paths

    def finished(self, call: LoggedRequest, status: int) -> None:
        """Record a request; call this before the response is sent, so that its client finds it counted."""
        nanoseconds = time.perf_counter_ns() - call.started
        self._metrics.count_request(call.call, call.outcome, nanoseconds)
        if call.outcome != OK or call.call in _AUDITED:
            self._audit.record(call, status)
        if self._access_lines and call.path not in self._quiet_paths:
            _log_access(call, status, nanoseconds)

    def client_gone(self, call: LoggedRequest) -> None:
        """Record a request whose client has disconnected."""
        nanoseconds = time.perf_counter_ns() - call.started
        self._metrics.count_request(call.call, GONE, nanoseconds)
        if self._access_lines and call.path not in self._quiet_paths:
            _log_access(call, None, nanoseconds)


def _log_access(call: LoggedRequest, status: int | None, nanoseconds: int) -> None:
    milliseconds = round(nanoseconds / 1_000_000, 3)
    access_log.info(
        "%s %r %s %s, %s from %s, %s ms",
        call.method,
        call.path,
        status or "client disconnected",
        call.call,
        call.user or "-",
        call.address,
        milliseconds,
        extra={
            "fields": {
                "event": "request",
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
