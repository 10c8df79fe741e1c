"""The audit lines: who came, who left, who was refused and why. A flood of refusals cannot fill a disk."""

import logging
import time
from collections.abc import Callable
from typing import Final

from cloudconsole.server.observing.allowance import Allowance
from cloudconsole.server.observing.layout import AUDIT_LEFT_OUT, LOGIN, OK, OPERATOR_LOGIN
from cloudconsole.server.observing.meter import Meter
from cloudconsole.server.observing.seen import SeenCall

audit_log = logging.getLogger("cloudconsole.audit")

LINES_A_SECOND: Final = 10
"""For each event and reason, in each worker: a flood of one refusal hides no other.

Logins and logouts cost their caller more and are never left out.
"""

SUSPICIOUS: Final = {"csrf_failed", "invalid_host", "invalid_credentials", "too_many_requests"}
"""Reasons that an honest caller seldom gives."""


class Audit:
    def __init__(self, meter: Meter, seconds: Callable[[], float] = time.monotonic) -> None:
        self._meter = meter
        self._allowance: Allowance[tuple[str, str]] = Allowance(LINES_A_SECOND, 1, seconds)

    def note(self, call: SeenCall, status: int) -> None:
        """A login, a logout or a refusal; that something of ours failed is none, unless it kept someone from login."""
        if call.outcome == OK:
            _write(logging.INFO, call.call, call, f"{call.call} of {call.user} from {call.address}")
        elif call.call in (LOGIN, OPERATOR_LOGIN):
            self._note_refusal(f"{call.call}_refused", call, call.user or "an unknown user")
        elif status < 500:
            self._note_refusal("refused", call, call.user or "a visitor")

    def tell_left_out(self, *, until_now: bool = False) -> None:
        """Say how many lines were left out in the seconds that are over, or altogether."""
        for (event, reason), number in self._allowance.left_out(until_now=until_now):
            fields = {"event": "left_out", "of": event, "reason": reason, "number": number}
            audit_log.warning("left out %d more of %s: %s", number, event, reason, extra={"fields": fields})

    def _note_refusal(self, event: str, call: SeenCall, user: str) -> None:
        self.tell_left_out()
        if not self._allowance.takes((event, call.outcome)):
            self._meter.add(AUDIT_LEFT_OUT)
            return
        level = logging.WARNING if call.outcome in SUSPICIOUS else logging.INFO
        _write(level, event, call, f"{call.call} refused for {user} from {call.address}: {call.outcome}")


def _write(level: int, event: str, call: SeenCall, text: str) -> None:
    fields = {"event": event, "user": call.user, "address": call.address, "action": call.call}
    if call.outcome != OK:
        fields["reason"] = call.outcome
    audit_log.log(level, "%s", text, extra={"fields": fields})
