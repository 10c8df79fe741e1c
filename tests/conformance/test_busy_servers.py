"""A busy response counts neither as a rejection nor as a failure."""

from typing import Any

import pytest

from tests.conformance.conftest import FaultyServer
from tests.conformance.faulty_console import Exchange, Fault
from tests.conformance.mutations import on, request_header, respond_with

WORDS = {429: "rate limited", 502: "unavailable", 503: "unavailable", 504: "unavailable"}

skip_csrf_check = on(
    lambda each: each.action, request_header("x-csrftoken", lambda each: each.cookies.get("csrftoken"))
)


def without_header(exchange: Exchange) -> bool:
    """Whether an action was sent without the CSRF header."""
    return exchange.action is not None and "was-without" in exchange.memory


def record_missing_header(exchange: Exchange) -> None:
    exchange.memory.pop("was-without", None)
    if exchange.action and "x-csrftoken" not in exchange.sent:
        exchange.memory["was-without"] = True
    skip_csrf_check(exchange)


@pytest.mark.parametrize("status", WORDS)
def test_busy_response_is_not_a_rejection(faulty_server: FaultyServer, status: int) -> None:
    fault = Fault("busy", "", on(without_header, respond_with(status)), record_missing_header)
    result = faulty_server.run_kit(fault, "interface", "csrf.header-required").results["csrf.header-required"]
    assert (result.outcome, result.note) == ("skipped", f"{WORDS[status]}: HTTP {status} with no body")


@pytest.mark.parametrize("status", WORDS)
def test_busy_response_is_not_a_failure(faulty_server: FaultyServer, status: int) -> None:
    fault = Fault("busy", "", on(lambda each: "origin" in each.sent, respond_with(status)))
    result = faulty_server.run_kit(fault, "interface", "calls.own-origin").results["calls.own-origin"]
    assert (result.outcome, result.note) == ("skipped", f"{WORDS[status]}: HTTP {status} with no body")


def test_busy_code_in_the_envelope_is_recognised(faulty_server: FaultyServer) -> None:
    busy = respond_with(200, b'{"code": 429, "message": "later"}')
    fault = Fault("busy", "", on(lambda each: "origin" in each.sent, busy))
    result = faulty_server.run_kit(fault, "interface", "calls.own-origin").results["calls.own-origin"]
    assert (result.outcome, result.note[:12]) == ("skipped", "rate limited")


def test_busy_action_does_not_hide_a_fault_of_another(faulty_server: FaultyServer) -> None:
    busy_with_news = on(lambda each: without_header(each) and each.action == "GetNews", respond_with(429))
    run = faulty_server.run_kit(
        Fault("busy", "", busy_with_news, record_missing_header), "interface", "csrf.header-required"
    )
    assert run.failed("must") == {"csrf.header-required"}


def test_busy_response_is_not_a_documented_error(faulty_server: FaultyServer) -> None:
    fault = Fault("busy", "", on(lambda each: each.path == "/nothing-is-here", respond_with(503)))
    assert (
        faulty_server.run_kit(fault, "all", "console.paths.unknown").results["console.paths.unknown"].outcome
        == "skipped"
    )


@pytest.mark.parametrize(("status", "outcome"), [(429, "skipped"), (503, "failed")])
def test_an_action_that_is_never_served_does_not_pass(faulty_server: FaultyServer, status: int, outcome: str) -> None:
    fault = Fault("busy", "", on(lambda each: each.action == "GetNews", respond_with(status)))
    assert faulty_server.run_kit(fault, "interface", "answers.GetNews").results["answers.GetNews"].outcome == outcome


def test_always_busy_server_does_not_conform(faulty_server: FaultyServer) -> None:
    assert faulty_server.run_kit(Fault("busy", "", respond_with(503)), "interface").failed("must") == {"session.opens"}


class BusyOnce:
    """Responds to the first request with an Origin header with 429 and Retry-After."""

    def __init__(self, retry_after: str) -> None:
        self._retry_after = retry_after
        self.requests = 0

    def __call__(self, exchange: Exchange) -> None:
        if "origin" in exchange.sent:
            self.requests += 1
            if self.requests == 1:
                respond_with(429)(exchange)
                exchange.set_header("retry-after", self._retry_after)


@pytest.mark.parametrize(
    ("retry_after", "requests", "outcome"),
    [("0", 2, "passed"), ("6", 1, "skipped"), ("x", 1, "skipped")],
)
def test_request_is_repeated_after_a_short_retry_after(
    faulty_server: FaultyServer, retry_after: str, requests: int, outcome: Any
) -> None:
    busy_once = BusyOnce(retry_after)
    run = faulty_server.run_kit(Fault("busy", "", busy_once), "interface", "calls.own-origin")
    assert (busy_once.requests, run.results["calls.own-origin"].outcome) == (requests, outcome)
