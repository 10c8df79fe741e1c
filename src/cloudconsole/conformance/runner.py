"""All checks in order, and their execution."""

from collections.abc import Iterable, Iterator, Sequence
from time import monotonic
from typing import Final, Literal, NamedTuple

from cloudconsole.conformance import extensions
from cloudconsole.conformance.assertions import CausedBy, CheckFailed, CheckSkipped
from cloudconsole.conformance.checks import Check
from cloudconsole.conformance.connection import NoResponse
from cloudconsole.conformance.context import CheckContext
from cloudconsole.conformance.extended import calls as extended_calls
from cloudconsole.conformance.extended import connections, csrf, envelope, http, login, responses, uploads, values
from cloudconsole.conformance.extended import session as extended_session
from cloudconsole.conformance.interface import calls, connection, errors, payloads, session
from cloudconsole.conformance.redaction import redact
from cloudconsole.conformance.responses import NotJson

INTERFACE: Final[tuple[Check, ...]] = (
    *session.checks,
    *calls.checks,
    *payloads.checks,
    *errors.checks,
)
EXTENDED: Final[tuple[Check, ...]] = (
    *login.checks,
    *csrf.checks,
    *extended_session.checks,
    *uploads.checks,
    *extended_calls.checks,
    *values.checks,
    *http.checks,
    *connections.checks,
    *envelope.checks,
    *responses.checks,
)

EXTENSIONS: Final[tuple[Check, ...]] = tuple(extensions.checks)
CONNECTION: Final[tuple[Check, ...]] = tuple(connection.checks)
"""Interface checks of all requests of the run, so the last ones."""

PROFILES: Final = {
    "interface": INTERFACE + CONNECTION,
    "extensions": INTERFACE + EXTENSIONS + CONNECTION,
    "all": INTERFACE + EXTENDED + EXTENSIONS + CONNECTION,
}
"""Selectable profiles: the interface, also the extensions that a console lists, or all behaviour of Cloud Console."""


def select(checks: Sequence[Check], names: Iterable[str]) -> tuple[Check, ...]:
    """Return the checks with these IDs or in these sections, and what they need; raise ValueError for unknown names.

    A section is named completely or by its number. Checks of the whole run are always included.
    """
    selected = {check.id for check in CONNECTION}
    for name in names:
        found = {check.id for check in checks if name in _names(check)}
        if not found:
            raise ValueError(name)
        selected |= found
    for check in reversed(checks):
        selected |= set(check.needs) if check.id in selected else set()
    return tuple(check for check in checks if check.id in selected)


def names(checks: Iterable[Check]) -> list[str]:
    """Return all names by which checks can be selected."""
    return list(dict.fromkeys(name for check in checks for name in _names(check)))


def _names(check: Check) -> tuple[str, ...]:
    number, _, _ = check.section.partition(" ")
    return check.id, check.section, f"{check.profile}: {check.section}", number if number[0].isdigit() else check.id


Outcome = Literal["passed", "failed", "skipped"]


class Result(NamedTuple):
    check: Check
    outcome: Outcome
    note: str
    """Why it failed or was skipped, or an observation; without secrets."""
    seconds: float

    @property
    def is_failed_must(self) -> bool:
        return self.outcome == "failed" and self.check.level == "must"


def run_checks(checks: Iterable[Check], context: CheckContext) -> Iterator[Result]:
    """Run the checks and yield each result as soon as it is known."""
    outcomes: dict[str, Outcome] = {}
    for check in checks:
        began = monotonic()
        context.sender.check = check.id
        outcome, note = _run_check(check, context, outcomes)
        outcomes[check.id] = outcome
        yield Result(check, outcome, redact(note, context.sender.secrets), monotonic() - began)


def _run_check(check: Check, context: CheckContext, outcomes: dict[str, Outcome]) -> tuple[Outcome, str]:
    failed = context.failed_checks
    for need in check.needs:
        if outcomes.get(need, "passed") != "passed":
            if need in failed:
                failed[check.id] = failed[need]
            return "skipped", f"because {need} {'failed' if outcomes[need] == 'failed' else 'was skipped'}"
    try:
        return "passed", check.examine(context) or ""
    except CausedBy as reason:
        failed[check.id] = failed.get(reason.check, reason.check)
        return "skipped", str(reason)
    except CheckSkipped as reason:
        return "skipped", str(reason)
    except CheckFailed as failure:
        note, causes = str(failure), (*failure.causes, *check.causes)
    except NotJson as failure:
        note, causes = f"the body is not JSON: {failure}", check.causes
    except NoResponse as problem:
        return "skipped", str(connection.caused_by(problem))
    except Exception as error:  # noqa: BLE001
        # Continue with the other checks, whatever a server responds.
        note, causes = f"unexpected response: {type(error).__name__}: {error}", check.causes
    cause = next((failed[each] for each in causes if each in failed), None)
    failed[check.id] = cause or check.id
    return ("skipped", str(CausedBy(cause, note))) if cause else ("failed", note)
