"""What is looked at alike of whatever answers from outside: its clock and its certificate."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Final

from cloudconsole.server.doctor.findings import Finding, problem, warning
from cloudconsole.server.doctor.probe import Answer
from cloudconsole.server.runtime.tls import EXPIRY_WARNING

CLOCK_TOLERANCE_SECONDS: Final = 5


def clock_findings(clock: str, answer: Answer, because: str = "") -> Iterator[Finding]:
    difference = answer.clock_difference
    if abs(difference) > CLOCK_TOLERANCE_SECONDS:
        direction = "ahead of" if difference > 0 else "behind"
        text = f"{clock} is {abs(difference):.0f} seconds {direction} this machine's{because}"
        yield warning(text, "run a time service on both")


def certificate_findings(
    certificate: str, answer: Answer, now: float, mend: str, command: str = ""
) -> Iterator[Finding]:
    if answer.certificate_end is not None:
        yield from expiry_findings(certificate, answer.certificate_end, now, mend, command)


def expiry_findings(certificate: str, end: float, now: float, mend: str, command: str = "") -> Iterator[Finding]:
    if end > now + EXPIRY_WARNING.total_seconds():
        return
    moment = datetime.fromtimestamp(end, UTC).strftime("%Y-%m-%d %H:%M UTC")
    if end <= now:
        yield problem(f"{certificate} expired on {moment}", mend, command)
    else:
        yield warning(f"{certificate} expires on {moment}", mend, command)
