"""The audit lines: who came, who left, who was refused and why. A flood of refusals cannot fill a disk."""

import logging
import time
from collections.abc import Callable
from typing import Final

from cloudconsole.server.http.request import Request
from cloudconsole.server.observing.layout import AUDIT_LEFT_OUT, LOGIN, OK
from cloudconsole.server.observing.meter import Meter

audit_log = logging.getLogger("cloudconsole.audit")

LINES_A_SECOND: Final = 20
"""For each kind of refusal, in each worker. Logins and logouts cost their caller more and are never left out."""

SUSPICIOUS: Final = {"csrf_failed", "invalid_host", "invalid_credentials", "too_many_requests"}
"""Reasons that an honest caller seldom gives."""


class _Allowance:
    """So many lines in each second; what is beyond is counted."""

    def __init__(self, seconds: Callable[[], float]) -> None:
        self._seconds = seconds
        self._second = -1
        self._used = 0
        self.left_out = 0

    def takes_one(self) -> bool:
        second = int(self._seconds())
        if second != self._second:
            self._second, self._used = second, 0
        if self._used == LINES_A_SECOND:
            self.left_out += 1
            return False
        self._used += 1
        return True

    def is_over(self) -> bool:
        """Whether the second in which lines were left out has passed."""
        return int(self._seconds()) != self._second


class Audit:
    def __init__(self, meter: Meter, seconds: Callable[[], float] = time.monotonic) -> None:
        self._meter = meter
        self._allowances = {event: _Allowance(seconds) for event in ("login_refused", "refused")}

    def note(self, request: Request, status: int) -> None:
        """A login, a logout or a refusal; that something of ours failed is none, unless it kept someone from login."""
        if request.outcome == OK:
            _write(logging.INFO, request.call, request, f"{request.call} of {request.user} from {request.address}")
        elif request.call == LOGIN:
            self._note_refusal("login_refused", request, request.user or "an unknown user")
        elif status < 500:
            self._note_refusal("refused", request, request.user or "a visitor")

    def tell_left_out(self) -> None:
        """Say how many lines were left out in the seconds that have passed."""
        for event, allowance in self._allowances.items():
            if allowance.left_out and allowance.is_over():
                number, allowance.left_out = allowance.left_out, 0
                fields = {"event": "left_out", "of": event, "number": number}
                audit_log.warning("%d more lines of %s were left out", number, event, extra={"fields": fields})

    def _note_refusal(self, event: str, request: Request, user: str) -> None:
        self.tell_left_out()
        if not self._allowances[event].takes_one():
            self._meter.add(AUDIT_LEFT_OUT)
            return
        level = logging.WARNING if request.outcome in SUSPICIOUS else logging.INFO
        _write(level, event, request, f"{request.call} refused for {user} from {request.address}: {request.outcome}")


def _write(level: int, event: str, request: Request, text: str) -> None:
    fields = {"event": event, "user": request.user, "address": request.address, "action": request.call}
    if request.outcome != OK:
        fields["reason"] = request.outcome
    audit_log.log(level, "%s", text, extra={"fields": fields})
