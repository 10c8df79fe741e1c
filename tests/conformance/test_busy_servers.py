"""A busy response counts neither as a rejection nor as a failure."""

from typing import Any

import pytest

from tests.conformance.conftest import FaultyServer
from tests.conformance.faulty_console import Exchange, Fault, Mutation, unchanged
from tests.conformance.mutations import on, request_header, respond_with

WORDS = {429: "rate limited", 502: "unavailable", 503: "unavailable", 504: "unavailable"}


def skip_csrf_check(exchange: Exchange) -> None:
    """Accept an action without the CSRF header, and remember that it had none."""
    exchange.memory["without header"] = exchange.action if "x-csrftoken" not in exchange.sent else None
    if exchange.action:
        request_header("x-csrftoken", lambda each: each.cookies.get("csrftoken"))(exchange)


def is_without_header(exchange: Exchange) -> bool:
    return exchange.action is not None and exchange.memory["without header"] == exchange.action


def has_origin(exchange: Exchange) -> bool:
    return "origin" in exchange.sent


@pytest.mark.parametrize("status", WORDS)
def test_busy_response_is_neither_a_rejection_nor_a_failure(faulty_server: FaultyServer, status: int) -> None:
    busy = respond_with(status)
    for check, fault in (
        ("csrf.header-required", Fault("busy", "", on(is_without_header, busy), skip_csrf_check)),
        ("calls.own-origin", Fault("busy", "", on(has_origin, busy))),
    ):
        result = faulty_server.run_kit(fault, "all", check).results[check]
        assert (result.outcome, result.note) == ("skipped", f"{WORDS[status]}: HTTP {status} with no body")


BUSY_NEWS = on(lambda each: is_without_header(each) and each.action == "GetNews", respond_with(429))
BUSY_ENVELOPE = respond_with(200, b'{"code": 429, "message": "later"}')


@pytest.mark.parametrize(
    ("check", "after", "outcome"),
    [
        # The code in the envelope counts, too.
        ("calls.own-origin", on(has_origin, BUSY_ENVELOPE), "skipped"),
        # A busy action does not hide the fault of another.
        ("csrf.header-required", BUSY_NEWS, "failed"),
        # It is not a documented error.
        ("console.paths.unknown", on(lambda each: each.path == "/nothing-is-here", respond_with(503)), "skipped"),
        # An action that is never served does not pass.
        ("answers.GetNews", on(lambda each: each.action == "GetNews", respond_with(429)), "skipped"),
        ("answers.GetNews", on(lambda each: each.action == "GetNews", respond_with(503)), "failed"),
    ],
)
def test_outcome_for_a_busy_response(faulty_server: FaultyServer, check: str, after: Mutation, outcome: str) -> None:
    before = skip_csrf_check if check == "csrf.header-required" else unchanged
    assert faulty_server.run_kit(Fault("busy", "", after, before), "all", check).results[check].outcome == outcome


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
