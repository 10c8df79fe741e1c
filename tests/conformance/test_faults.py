"""Every check passes on our console and fails on one with its fault; a busy response is neither."""

import pytest

from cloudconsole.conformance.runner import PROFILES
from tests.conformance.conftest import FaultyServer, target_at
from tests.conformance.faults import FAULTS, faults_by_check
from tests.conformance.faulty_console import Exchange, Fault, Mutation, unchanged
from tests.conformance.interface_faults import FAULTS as INTERFACE_FAULTS
from tests.conformance.mutations import cookie, is_logged_in, on, request_header, respond_with

OF_ALL_RESPONSES = ("console.cookies.", "console.envelope.", "console.headers.", "console.errors.")
COVERING_CHECKS = (
    *("login.accepted", "calls.action-required", "console.domain.missing-id"),
    *("console.paths.unknown", "console.language", "console.request-id.replaced"),
)
"""Checks that cause responses of every kind, for checks that inspect all responses."""


def test_without_a_fault_nothing_fails(faulty_server: FaultyServer) -> None:
    assert faulty_server.run_kit(Fault("none", ""), "all").unpassed_without_connection() == {}


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_fault_is_caught_by_its_check(faulty_server: FaultyServer, fault: Fault) -> None:
    """No other check may fail; those that the fault prevents are skipped."""
    covering = COVERING_CHECKS if fault.caught_by.startswith(OF_ALL_RESPONSES) else ()
    base = f"{fault.scheme}://127.0.0.1:8000"
    run = faulty_server.run_kit(fault, "all", fault.caught_by, *covering, base=base, region=f"{base}/v3")
    failed = run.failed("must") | run.failed("should") | run.failed("info")
    assert failed == {fault.caught_by}, run.unpassed()


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_fault_fails_one_check_of_a_whole_run(faulty_server: FaultyServer, fault: Fault) -> None:
    """What else it prevents or causes is skipped."""
    base = f"{fault.scheme}://127.0.0.1:8000"
    run = faulty_server.run_kit(fault, "all", base=base, region=f"{base}/v3")
    failed = {name: note for name, (outcome, note) in run.unpassed().items() if outcome == "failed"}
    assert failed.keys() == {fault.caught_by}, failed


def test_every_requirement_has_a_fault() -> None:
    assert {check.id for check in PROFILES["all"] if check.level != "info"} == set(faults_by_check())


@pytest.mark.parametrize(
    ("base", "origin"),
    [
        ("http://127.0.0.1:8000", "http://127.0.0.1:8000"),
        ("HTTP://LocalHost:80/console", "http://localhost"),
        ("https://Console.example:443", "https://console.example"),
        ("https://console.example:8443/a/b", "https://console.example:8443"),
    ],
)
def test_origin_is_serialised_as_in_browsers(base: str, origin: str) -> None:
    assert target_at(base).origin == origin


def test_login_cookie_may_be_limited_to_actions(faulty_server: FaultyServer) -> None:
    fault = Fault("for actions", "", on(is_logged_in, cookie("sessionid", "Path=/;", "Path=/api/;")))
    assert faulty_server.run_kit(fault, "interface", "session.one-jar").results["session.one-jar"].outcome == "passed"


NOTES = {
    "code as text in responses to forms": 'sent as form: GetUsageLimits.code is "200", not the integer 200; ',
    "code as text": 'GetUsageLimits.code is "200", not the integer 200; ',
    "usage as a float in responses to forms": "sent as form: data.totalRAMUsed is 5.0, not an integer",
    "another domain in responses to forms": 'sent as form: domainId is "1", but "206813" was requested',
}


@pytest.mark.parametrize(("name", "note"), NOTES.items(), ids=NOTES)
def test_note_says_that_only_forms_are_affected(faulty_server: FaultyServer, name: str, note: str) -> None:
    (fault,) = (fault for fault in INTERFACE_FAULTS if fault.name == name)
    assert faulty_server.run_kit(fault, "interface", fault.caught_by).results[fault.caught_by].note.startswith(note)


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
    ("retry_after", "requests", "outcome"), [("0", 2, "passed"), ("6", 1, "skipped"), ("x", 1, "skipped")]
)
def test_request_is_repeated_after_a_short_retry_after(
    faulty_server: FaultyServer, retry_after: str, requests: int, outcome: str
) -> None:
    busy_once = BusyOnce(retry_after)
    run = faulty_server.run_kit(Fault("busy", "", busy_once), "interface", "calls.own-origin")
    assert (busy_once.requests, run.results["calls.own-origin"].outcome) == (requests, outcome)
