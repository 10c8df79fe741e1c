"""All checks in order, and their execution."""

from collections.abc import Iterable, Iterator
from time import monotonic
from typing import Final, Literal, NamedTuple

from cloudconsole.conformance.assertions import CheckFailed, CheckSkipped
from cloudconsole.conformance.checks import Check
from cloudconsole.conformance.client import NoResponse
from cloudconsole.conformance.context import CheckContext
from cloudconsole.conformance.extended import calls as extended_calls
from cloudconsole.conformance.extended import http, values
from cloudconsole.conformance.extended import session as extended_session
from cloudconsole.conformance.interface import calls, errors, lists, records, session
from cloudconsole.conformance.redaction import redact
from cloudconsole.conformance.responses import NotJson

INTERFACE: Final[tuple[Check, ...]] = (
    *session.checks,
    *calls.checks,
    *records.checks,
    *lists.checks,
    *errors.checks,
)
EXTENDED: Final[tuple[Check, ...]] = (
    *extended_session.checks,
    *extended_calls.checks,
    *values.checks,
    *http.checks,
)

PROFILES: Final = {"interface": INTERFACE, "all": INTERFACE + EXTENDED}
"""What can be asked for: the interface alone, or with it what this project's own console does beyond it."""


Outcome = Literal["passed", "failed", "skipped"]


class Result(NamedTuple):
    check: Check
    outcome: Outcome
    note: str
    """Why it failed or was skipped, or what was seen; never with a secret in it."""
    seconds: float

    @property
    def is_broken_must(self) -> bool:
        return self.outcome == "failed" and self.check.level == "must"


def run_checks(checks: Iterable[Check], examination: CheckContext) -> Iterator[Result]:
    """A result for each check, as soon as there is one."""
    outcomes: dict[str, Outcome] = {}
    for check in checks:
        began = monotonic()
        outcome, note = _examine(check, examination, outcomes)
        outcomes[check.id] = outcome
        yield Result(check, outcome, redact(note, examination.sender.secrets), monotonic() - began)


def _examine(check: Check, examination: CheckContext, outcomes: dict[str, Outcome]) -> tuple[Outcome, str]:
    for need in check.needs:
        if outcomes.get(need, "passed") != "passed":
            return "skipped", f"because {need} {'failed' if outcomes[need] == 'failed' else 'was skipped'}"
    try:
        return "passed", check.examine(examination) or ""
    except CheckSkipped as reason:
        return "skipped", str(reason)
    except CheckFailed as reason:
        return "failed", str(reason)
    except NotJson as reason:
        return "failed", f"the body is no JSON: {reason}"
    except NoResponse as reason:
        return "failed", str(reason)
    except Exception as surprise:  # noqa: BLE001
        # Whatever a server may answer, the other checks go on.
        return "failed", f"the answer made no sense: {type(surprise).__name__}: {surprise}"
