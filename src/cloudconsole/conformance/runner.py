"""Runs checks in order; whatever happens, each gives a result."""

from collections.abc import Iterable, Iterator
from time import monotonic
from typing import Literal, NamedTuple

from cloudconsole.conformance.assertions import Failed, Skipped
from cloudconsole.conformance.checks import Check
from cloudconsole.conformance.client import NoAnswer
from cloudconsole.conformance.context import Examination
from cloudconsole.conformance.redaction import one_line
from cloudconsole.conformance.responses import NotJson

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


def run_checks(checks: Iterable[Check], examination: Examination) -> Iterator[Result]:
    """A result for each check, as soon as there is one."""
    outcomes: dict[str, Outcome] = {}
    for check in checks:
        began = monotonic()
        outcome, note = _examine(check, examination, outcomes)
        outcomes[check.id] = outcome
        yield Result(check, outcome, one_line(note, examination.sender.secrets), monotonic() - began)


def _examine(check: Check, examination: Examination, outcomes: dict[str, Outcome]) -> tuple[Outcome, str]:
    for need in check.needs:
        if outcomes.get(need, "passed") != "passed":
            return "skipped", f"because {need} {'failed' if outcomes[need] == 'failed' else 'was skipped'}"
    try:
        return "passed", check.examine(examination) or ""
    except Skipped as reason:
        return "skipped", str(reason)
    except Failed as reason:
        return "failed", str(reason)
    except NotJson as reason:
        return "failed", f"the body is no JSON: {reason}"
    except NoAnswer as reason:
        return "failed", str(reason)
    except Exception as surprise:  # noqa: BLE001
        # Whatever a server may answer, the other checks go on.
        return "failed", f"the answer made no sense: {type(surprise).__name__}: {surprise}"
