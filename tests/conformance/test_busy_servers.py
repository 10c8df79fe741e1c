"""A server that is too busy has refused nothing, and failed nothing either."""

from typing import Any

import pytest

from tests.conformance.changes import answered, as_if_sent, on
from tests.conformance.conftest import Workshop
from tests.conformance.damaged import Exchange, Fault

WORDS = {429: "rate limited", 502: "unavailable", 503: "unavailable", 504: "unavailable"}

unchecked = on(lambda each: each.action, as_if_sent("x-csrftoken", lambda each: each.cookies.get("csrftoken")))


def without_header(exchange: Exchange) -> bool:
    """Of calls, as they were sent."""
    return exchange.action is not None and "was-without" in exchange.memory


def note_header(exchange: Exchange) -> None:
    exchange.memory.pop("was-without", None)
    if exchange.action and "x-csrftoken" not in exchange.sent:
        exchange.memory["was-without"] = True
    unchecked(exchange)


@pytest.mark.parametrize("status", WORDS)
def test_it_has_refused_nothing(workshop: Workshop, status: int) -> None:
    fault = Fault("busy", "", on(without_header, answered(status)), note_header)
    result = workshop.examine(fault, "interface", "csrf.header-required").results["csrf.header-required"]
    assert (result.outcome, result.note) == ("skipped", f"{WORDS[status]}: HTTP {status} with no body")


@pytest.mark.parametrize("status", WORDS)
def test_it_has_failed_nothing(workshop: Workshop, status: int) -> None:
    fault = Fault("busy", "", on(lambda each: "origin" in each.sent, answered(status)))
    result = workshop.examine(fault, "interface", "calls.own-origin").results["calls.own-origin"]
    assert (result.outcome, result.note) == ("skipped", f"{WORDS[status]}: HTTP {status} with no body")


def test_the_code_in_the_envelope_may_say_so(workshop: Workshop) -> None:
    busy = answered(200, b'{"code": 429, "message": "later"}')
    fault = Fault("busy", "", on(lambda each: "origin" in each.sent, busy))
    result = workshop.examine(fault, "interface", "calls.own-origin").results["calls.own-origin"]
    assert (result.outcome, result.note[:12]) == ("skipped", "rate limited")


def test_one_that_serves_another_all_the_same_is_caught(workshop: Workshop) -> None:
    busy_with_news = on(lambda each: without_header(each) and each.action == "GetNews", answered(429))
    seen = workshop.examine(Fault("busy", "", busy_with_news, note_header), "interface", "csrf.header-required")
    assert seen.failed("must") == {"csrf.header-required"}


def test_a_refusal_of_ours_is_not_seen_in_it(workshop: Workshop) -> None:
    fault = Fault("busy", "", on(lambda each: each.path == "/nothing-is-here", answered(503)))
    assert workshop.examine(fault, "all", "console.paths.unknown").results["console.paths.unknown"].outcome == "skipped"


@pytest.mark.parametrize(("status", "outcome"), [(429, "skipped"), (503, "failed")])
def test_an_action_that_is_never_served_does_not_pass(workshop: Workshop, status: int, outcome: str) -> None:
    fault = Fault("busy", "", on(lambda each: each.action == "GetNews", answered(status)))
    assert workshop.examine(fault, "interface", "answers.GetNews").results["answers.GetNews"].outcome == outcome


def test_one_that_is_always_busy_conforms_to_nothing(workshop: Workshop) -> None:
    assert workshop.examine(Fault("busy", "", answered(503)), "interface").failed("must") == {"session.opens"}


class Once:
    """Busy the first time somebody asks with an Origin, and says until when."""

    def __init__(self, retry_after: str) -> None:
        self._retry_after = retry_after
        self.asked = 0

    def __call__(self, exchange: Exchange) -> None:
        if "origin" in exchange.sent:
            self.asked += 1
            if self.asked == 1:
                answered(429)(exchange)
                exchange.set_header("retry-after", self._retry_after)


@pytest.mark.parametrize(
    ("retry_after", "asked", "outcome"),
    [("0", 2, "passed"), ("6", 1, "skipped"), ("x", 1, "skipped")],
)
def test_it_is_asked_again_after_the_time_it_wants_if_that_is_short(
    workshop: Workshop, retry_after: str, asked: int, outcome: Any
) -> None:
    once = Once(retry_after)
    seen = workshop.examine(Fault("busy", "", once), "interface", "calls.own-origin")
    assert (once.asked, seen.results["calls.own-origin"].outcome) == (asked, outcome)
