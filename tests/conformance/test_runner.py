"""Running checks: each gives a result, whatever happens in it."""

from typing import cast

import pytest

from cloudconsole.conformance.assertions import CheckFailed, CheckSkipped
from cloudconsole.conformance.checks import Check
from cloudconsole.conformance.client import NoResponse, Sender
from cloudconsole.conformance.context import CheckContext
from cloudconsole.conformance.limits import LimitExceeded
from cloudconsole.conformance.responses import NotJson
from cloudconsole.conformance.runner import run_checks
from tests.conformance.listening import subject_at


def check(name: str, problem: Exception | None, *needs: str) -> Check:
    def examine(_: CheckContext) -> str:
        if problem is not None:
            raise problem
        return "seen"

    return Check(name, "interface", "a section", "must", "A title.", examine, needs)


def outcomes(*checks: Check) -> dict[str, tuple[str, str]]:
    with Sender("http://127.0.0.1:1", {"demo": "console-demo"}) as sender:
        examination = CheckContext(subject_at("http://127.0.0.1:1"), sender)
        return {result.check.id: (result.outcome, result.note) for result in run_checks(checks, examination)}


@pytest.mark.parametrize(
    ("problem", "outcome", "note"),
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
def test_a_check_gives_a_result(problem: Exception | None, outcome: str, note: str) -> None:
    assert outcomes(check("one", problem), check("two", None)) == {"one": (outcome, note), "two": ("passed", "seen")}


def test_what_builds_on_a_check_that_did_not_pass_is_skipped_with_the_reason() -> None:
    assert outcomes(check("one", CheckFailed("x")), check("two", None, "one"), check("three", None, "two")) == {
        "one": ("failed", "x"),
        "two": ("skipped", "because one failed"),
        "three": ("skipped", "because two was skipped"),
    }


def test_one_may_still_be_interrupted() -> None:
    interruption = cast("Exception", KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        outcomes(check("one", interruption))
