"""Access log and audit log of requests; audit records are rate-limited."""

import logging
import time
from collections.abc import Callable, Container
from typing import Final, Protocol

from cloudconsole.server.logging import RateLimiter
from cloudconsole.server.metrics.layout import (
    AUDIT_SUPPRESSED,
    GONE,
    LOGIN,
    LOGOUT,
    OK,
    OPERATOR_LOGIN,
    OPERATOR_LOGOUT,
)
from cloudconsole.server.metrics.shared_memory import WorkerMetrics


class LoggedRequest(Protocol):
    started: int
    """Value of `time.perf_counter_ns`."""
    method: str
    path: str
    address: str
    user: str | None
    call: str
    outcome: str


audit_log = logging.getLogger("cloudconsole.audit")

RECORDS_PER_SECOND: Final = 10
"""For each event and reason, in each worker: a flood of one kind of rejection hides no other.

Successful logins and logouts are expensive for the client and never suppressed.
"""

SUSPICIOUS: Final = {"csrf_failed", "invalid_host", "invalid_credentials", "too_many_requests"}
"""Reasons that are rare for legitimate clients; logged as warnings."""


class AuditLog:
    def __init__(self, metrics: WorkerMetrics, seconds: Callable[[], float] = time.monotonic) -> None:
        self._metrics = metrics
        self._rate_limiter: RateLimiter[tuple[str, str]] = RateLimiter(RECORDS_PER_SECOND, 1, seconds)

    def record(self, call: LoggedRequest, status: int) -> None:
        """Record a login, a logout or a rejection; of server errors only those that prevented a login."""
        if call.outcome == OK:
            _write(logging.INFO, call.call, call, f"{call.call} of {call.user} from {call.address}")
        elif call.call in (LOGIN, OPERATOR_LOGIN):
            self._record_rejection(f"{call.call}_refused", call, call.user or "an unknown user")
        elif status < 500:
            self._record_rejection("refused", call, call.user or "an anonymous client")

    def log_suppressed(self, *, until_now: bool = False) -> None:
        """Log how many records were suppressed in the elapsed intervals, or in all."""
        for (event, reason), number in self._rate_limiter.suppressed(until_now=until_now):
            fields = {"event": "suppressed", "of": event, "reason": reason, "number": number}
            audit_log.warning("suppressed %d more of %s: %s", number, event, reason, extra={"fields": fields})

    def _record_rejection(self, event: str, call: LoggedRequest, user: str) -> None:
        self.log_suppressed()
        if not self._rate_limiter.allows((event, call.outcome)):
            self._metrics.add(AUDIT_SUPPRESSED)
            return
        level = logging.WARNING if call.outcome in SUSPICIOUS else logging.INFO
        _write(level, event, call, f"{call.call} rejected for {user} from {call.address}: {call.outcome}")


def _write(level: int, event: str, call: LoggedRequest, text: str) -> None:
    fields = {"event": event, "user": call.user, "address": call.address, "action": call.call}
    if call.outcome != OK:
        fields["reason"] = call.outcome
    audit_log.log(level, "%s", text, extra={"fields": fields})


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
