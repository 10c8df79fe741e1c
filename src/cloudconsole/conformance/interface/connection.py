"""Interface checks: every request of the run gets a response. Checks without a response refer to these."""

from cloudconsole.conformance.assertions import CausedBy, check, check_no_problems
from cloudconsole.conformance.checks import CheckGroup
from cloudconsole.conformance.client import Loss
from cloudconsole.conformance.connection import NoResponse, Unreachable
from cloudconsole.conformance.context import CheckContext

checks = CheckGroup("interface")

SECTION = "4.2 Endpoint table"
ALIVE, ANSWERED = "connection.alive", "connection.answered"


@checks.must(ALIVE, SECTION)
def alive(console: CheckContext) -> None:
    """The server accepts connections until the end of the run."""
    losses = console.sender.losses
    refused = _first_refused(losses)
    before = "" if not refused else f"; before, {_describe(losses[refused - 1])}"
    check(refused is None, "" if refused is None else f"{_describe(losses[refused])}{before}")


@checks.must(ANSWERED, SECTION)
def answered(console: CheckContext) -> None:
    """Every request gets a complete HTTP response."""
    losses = console.sender.losses
    refused = _first_refused(losses)
    others = [loss for loss in losses if not isinstance(loss.problem, Unreachable)]
    if refused and others == losses[:refused][-1:]:
        raise CausedBy(ALIVE, _describe(losses[refused]))
    check_no_problems([_describe(loss) for loss in others])


def caused_by(problem: NoResponse) -> CausedBy:
    """Refer to the check that reports a missing response."""
    return CausedBy(ALIVE if isinstance(problem, Unreachable) else ANSWERED, str(problem))


def _first_refused(losses: list[Loss]) -> int | None:
    return next((index for index, loss in enumerate(losses) if isinstance(loss.problem, Unreachable)), None)


def _describe(loss: Loss) -> str:
    return f"{loss.request} (in {loss.check}): {loss.problem}"
