"""The runner: every check yields a result, whatever it raises."""

from typing import cast

import pytest

from cloudconsole.conformance.assertions import CheckFailed, CheckSkipped
from cloudconsole.conformance.checks import Check
from cloudconsole.conformance.client import NoResponse, Sender
from cloudconsole.conformance.context import CheckContext
from cloudconsole.conformance.limits import LimitExceeded
from cloudconsole.conformance.responses import NotJson
from cloudconsole.conformance.runner import run_checks
from tests.conformance.kit_harness import target_at


def check(name: str, error: Exception | None, *needs: str) -> Check:
    def run(_: CheckContext) -> str:
        if error is not None:
            raise error
        return "seen"

    return Check(name, "interface", "a section", "must", "A title.", run, needs)


def outcomes(*checks: Check) -> dict[str, tuple[str, str]]:
    with Sender("http://127.0.0.1:1", {"demo": "console-demo"}) as sender:
        context = CheckContext(target_at("http://127.0.0.1:1"), sender)
        return {result.check.id: (result.outcome, result.note) for result in run_checks(checks, context)}


@pytest.mark.parametrize(
    ("error", "outcome", "note"),
    [
        (None, "passed", "seen"),
        (CheckFailed("not so"), "failed", "not so"),
        (CheckSkipped("nothing there"), "skipped", "nothing there"),
        (NoResponse("no whole answer"), "failed", "no whole answer"),
        (NotJson("there is no body"), "failed", "the body is not JSON: there is no body"),
        (LimitExceeded("not asked"), "skipped", "not asked"),
        (KeyError("data"), "failed", "unexpected response: KeyError: 'data'"),
        (RecursionError("too deep"), "failed", "unexpected response: RecursionError: too deep"),
        (CheckFailed("it said console-demo\n"), "failed", r"it said [secret]\n"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else "",
)
def test_every_check_yields_a_result(error: Exception | None, outcome: str, note: str) -> None:
    assert outcomes(check("one", error), check("two", None)) == {"one": (outcome, note), "two": ("passed", "seen")}


def test_dependents_of_an_unpassed_check_are_skipped_with_a_reason() -> None:
    assert outcomes(check("one", CheckFailed("x")), check("two", None, "one"), check("three", None, "two")) == {
        "one": ("failed", "x"),
        "two": ("skipped", "because one failed"),
        "three": ("skipped", "because two was skipped"),
    }


def test_run_can_be_interrupted() -> None:
    interruption = cast("Exception", KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        outcomes(check("one", interruption))
