"""A console of another design over real connections: its own choices, and faults that only connections show."""

import pytest

from tests.conformance.conftest import RunResult, run_kit, target_at
from tests.conformance.foreign_console import FAULTS, ConnectionFault, ForeignConsole, foreign_console

OTHER_CHOICES = {
    *("console.login.token-in-header", "console.login.again", "console.login.csrf", "console.login.foreign-origin"),
    *("console.login.region", "console.login.form-only", "console.login.repeated-cookies", "console.login.order"),
    *("console.csrf.made-up", "console.csrf.another-sessions", "console.csrf.foreign-page", "console.welcome.data"),
    *("console.cookies.once", "console.cookies.scope", "console.cookies.csrftoken-lifetime"),
    *("console.welcome.keeps-cookies", "console.welcome.keeps-session", "console.session.quoted-cookie"),
    *("console.session.valid-cookie-first", "console.logout.refusals", "console.body.other-charset"),
    *("console.body.other-type", "console.body.no-type", "console.body.nan", "console.body.half-character"),
    *("console.body.not-utf-8-form", "console.body.action-no-text", "console.body.order", "console.domain.missing-id"),
    *("console.domain.invalid-id", "console.domain.integer-id", "console.domain.values"),
    *("console.consumption.amounts", "console.slash.api", "console.slash.auth.login", "console.slash.auth.logout"),
    *("console.methods.options", "console.methods.not-allowed", "console.host", "console.documents"),
    *("console.envelope.refusal", "console.language", "console.headers.request-id", "console.headers.nosniff"),
    *("console.headers.framing", "console.headers.caching"),
}
"""What it does otherwise than Cloud Console, as far as the interface leaves it open."""


def examine(console: ForeignConsole, profile: str, *only: str, timeout: float = 120) -> RunResult:
    target = target_at(console.base, other=None, domains=("206813",))
    return run_kit(target, profile, only=only, timeout=timeout)


def test_it_conforms_to_the_interface_and_differs_beyond_it() -> None:
    with foreign_console() as console:
        assert examine(console, "interface").unpassed() == {}
        run = examine(console, "all")
    assert run.failed("must") | run.failed("should") == OTHER_CHOICES


WAITING = {
    *("console.body.rejected-unread", "console.body.chunked-endless"),
    *("console.body.too-large", "console.body.chunked-too-large"),
}
"""Checks with whose faults a response stays away until the time is over."""


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_fault_is_caught_by_its_check(fault: ConnectionFault) -> None:
    covering = ("answers.GetNews", "connection.alive", "connection.answered")
    timeout = 5 if fault.caught_by in WAITING else 120
    with foreign_console(fault.name) as console:
        run = examine(console, "all", fault.caught_by, *covering, timeout=timeout)
    assert run.failed("must") | run.failed("should") == {fault.caught_by}


def test_checks_without_a_response_name_the_check_that_fails() -> None:
    with foreign_console("the server dies") as console:
        run = examine(console, "interface")
    assert run.failed("must") == {"connection.alive"}
    assert run.results["connection.alive"].note == (
        "POST /api/ (in login.accepted): could not connect: Connection refused; "
        "before, POST /api/ (in login.accepted): the connection was closed without a response"
    )
    expected = "because connection.alive failed: POST /api/ (in login.accepted): could not connect: Connection refused"
    assert run.results["connection.answered"].note == expected


@pytest.mark.parametrize("runs", [3, pytest.param(100, marks=pytest.mark.slow)])
def test_a_server_has_the_same_result_every_time(runs: int) -> None:
    with foreign_console("an early 413 closes the connection without reading the body") as console:
        results = [examine(console, "all") for _ in range(runs)]
    assert results[0].failed("must") | results[0].failed("should") == {*OTHER_CHOICES, "console.body.drained"}
    assert len({tuple((name, *result[1:3]) for name, result in run.results.items()) for run in results}) == 1
