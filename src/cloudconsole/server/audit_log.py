"""Audit events in the log: logins, logouts and rate-limited rejections. The audit log itself is in the store."""

import logging
import time
from collections.abc import Callable
from typing import Final, Protocol

from cloudconsole.server.logging import RateLimiter
from cloudconsole.server.metrics.layout import AUDIT_SUPPRESSED, LOGIN, OK, OPERATOR_LOGIN
from cloudconsole.server.metrics.shared_memory import WorkerMetrics


class LoggedRequest(Protocol):
    started: int
    """Value of `time.perf_counter_ns`."""
    method: str
    path: str
    user: str | None
    call: str
    outcome: str

    @property
    def address(self) -> str: ...


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
