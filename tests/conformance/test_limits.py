"""Limits of a run: requests, time and wrong logins; afterwards only logouts are sent, and no session is left behind."""

import asyncio
import json
import sqlite3
from contextlib import closing
from dataclasses import replace

import pytest

from cloudconsole.conformance import limits
from cloudconsole.conformance.client import ACTION_NAMES
from cloudconsole.conformance.limits import MAX_REQUESTS, MAX_UNANSWERED, LimitExceeded, RunLimits
from cloudconsole.server.app import Console
from cloudconsole.server.config.settings import Settings
from tests.client.scripted_server import LOST, Canned, ScriptedServer, envelope
from tests.conformance.conftest import DEMO, OTHER, FaultyServer, run_kit, target_at
from tests.conformance.faulty_console import Exchange, Fault, FaultyConsole
from tests.conformance.mutations import is_rejected

LOGIN = ("POST", "/auth/login/")


class TestRunLimits:
    def test_requests_are_reserved_for_logouts(self) -> None:
        run_limits = RunLimits({})
        run_limits.reserved_logouts = 9
        for _ in range(MAX_REQUESTS - 9):
            run_limits.spend("GET", "/api/", b"")
        with pytest.raises(LimitExceeded, match="the limit of 399 requests"):
            run_limits.spend("GET", "/api/", b"")
        run_limits.begin_logouts()
        for _ in range(9):
            run_limits.spend("POST", "/auth/logout/", b"")
        with pytest.raises(LimitExceeded):
            run_limits.spend("POST", "/auth/logout/", b"")
        assert run_limits.requests == MAX_REQUESTS

    @pytest.mark.parametrize(
        ("seconds", "unanswered", "message"),
        [(0.0, 0, "s for the whole run is over"), (300.0, MAX_UNANSWERED, "the last 3 requests got no response")],
    )
    def test_logouts_are_sent_after_time_is_up_and_after_unanswered_requests(
        self, monkeypatch: pytest.MonkeyPatch, seconds: float, unanswered: int, message: str
    ) -> None:
        monkeypatch.setattr(limits, "MAX_RUN_SECONDS", seconds)
        run_limits = RunLimits({})
        run_limits.unanswered = unanswered
        with pytest.raises(LimitExceeded, match=message):
            run_limits.spend("GET", "/api/", b"")
        run_limits.begin_logouts()
        run_limits.spend("POST", "/auth/logout/", b"")

    @pytest.mark.parametrize(
        "body",
        [
            b"username=demo&password=wrong",
            b"username=nobody&password=console-demo",
            b"username=demo",
            b"password=console-demo",
            b"",
            b'{"username":"demo","password":"wrong"}',
            b"[]",
            b"\xff",
            b"username=demo&password=console-demo&password=x",
        ],
    )
    def test_login_without_known_credentials_counts_as_wrong(self, body: bytes) -> None:
        run_limits = RunLimits({"demo": "console-demo"})
        run_limits.verify("demo")
        for _ in range(2):
            run_limits.spend(*LOGIN, body)
        with pytest.raises(LimitExceeded, match="2 wrong logins"):
            run_limits.spend(*LOGIN, body)
        run_limits.spend(*LOGIN, b"username=demo&password=console-demo")
        assert (run_limits.requests, run_limits.wrong_logins) == (3, 2)

    def test_given_password_counts_as_wrong_until_verified(self) -> None:
        run_limits = RunLimits({"demo": "console-demo"})
        for _ in range(2):
            run_limits.spend(*LOGIN, b"username=demo&password=console-demo")
        with pytest.raises(LimitExceeded):
            run_limits.spend(*LOGIN, b"username=demo&password=console-demo")
        for _ in range(2):
            run_limits.verify("demo")
            assert run_limits.wrong_logins == 0

    def test_verifying_one_account_does_not_verify_another(self) -> None:
        run_limits = RunLimits({"demo": "console-demo", "other": "console-other"})
        run_limits.spend(*LOGIN, b"username=other&password=console-other")
        run_limits.spend(*LOGIN, b"username=demo&password=console-demo")
        run_limits.verify("demo")
        assert run_limits.wrong_logins == 1


MISTYPED, MISTYPED_OTHER = DEMO._replace(password="mistyped"), OTHER._replace(password="mistyped")
SUCCESS = json.dumps({"message": "ok", "code": 200, "data": []}).encode()


class WrongLoginCounter:
    """Makes some actions public, and counts logins with a wrong username or password."""

    def __init__(self, *public: str) -> None:
        self._public = public
        self.wrong_logins = 0

    def __call__(self, exchange: Exchange) -> None:
        account = exchange.fields.get("username"), exchange.fields.get("password")
        if exchange.is_login and account not in (DEMO, OTHER):
            self.wrong_logins += 1
        if is_rejected(exchange) and exchange.action in self._public:
            exchange.status, exchange.content = 200, SUCCESS


@pytest.mark.parametrize(
    ("public", "changes", "sent", "counted", "failed"),
    [
        ((), {}, 2, 2, set()),
        ((), {"account": MISTYPED}, 1, 1, {"login.accepted"}),
        (("GetNews",), {"account": MISTYPED}, 1, 1, {"login.accepted"}),
        (ACTION_NAMES, {"account": MISTYPED}, 2, 2, None),
        ((), {"other": MISTYPED_OTHER}, 2, 2, {"console.domain.another-tenants"}),
        (("GetNews",), {"other": MISTYPED_OTHER}, 2, 2, None),
        # No action shows whether a login succeeded, so that each counts as wrong.
        (ACTION_NAMES, {"other": MISTYPED_OTHER}, 0, 2, None),
    ],
)
def test_at_most_two_wrong_logins_are_sent_and_all_are_counted(
    faulty_server: FaultyServer,
    public: tuple[str, ...],
    changes: dict[str, object],
    sent: int,
    counted: int,
    failed: set[str] | None,
) -> None:
    """A password is verified only by an action that anonymous clients cannot use."""
    counter = WrongLoginCounter(*public)
    run = faulty_server.run_kit(Fault("public", "", counter), "all", **changes)
    assert (counter.wrong_logins, run.wrong_logins) == (sent, counted)
    assert failed is None or run.failed("must") == failed


def test_public_action_fails_only_the_access_checks(faulty_server: FaultyServer) -> None:
    run = faulty_server.run_kit(Fault("public", "", WrongLoginCounter("GetUsageLimits")), "interface")
    assert run.failed("must") == {"login.required", "csrf.header-required"}
    assert run.failed("should") == set()
    assert run.wrong_logins == 1


def test_busy_response_to_an_anonymous_client_verifies_nothing(faulty_server: FaultyServer) -> None:
    """Only a rejected anonymous request shows that an action requires a login."""

    def be_busy_for_anonymous_clients(exchange: Exchange) -> None:
        if is_rejected(exchange):
            exchange.status, exchange.content = 503, b""

    run = faulty_server.run_kit(Fault("busy", "", be_busy_for_anonymous_clients), "interface")
    assert run.results["login.required"].outcome == "skipped"
    assert run.results["login.token-required"].note == "no action is known to require a login"
    assert run.wrong_logins == 1


@pytest.mark.embedded_only
def test_no_session_is_left_if_any_region_is_accepted(settings: Settings) -> None:
    console = Console(replace(settings, any_region=True))
    with asyncio.Runner() as runner:
        run = run_kit(target_at(), "all", application=FaultyConsole(console), runner=runner)
        runner.run(console.leave())
        console.close()
    assert run.unpassed_without_connection() == {
        "console.login.region": ("skipped", "any region is accepted: https://identity.invalid/v3 logged in")
    }
    with closing(sqlite3.connect(settings.data / "activity.db")) as store:
        assert store.execute("SELECT * FROM sessions").fetchall() == []


def test_every_login_is_followed_by_a_logout_despite_failures() -> None:
    """Each login opens a session, whatever its credentials; the first two logouts get no response."""
    names = [f"session-{number:03}" for number in range(MAX_REQUESTS)]
    with ScriptedServer() as server:
        server.login = [Canned(headers=[("Set-Cookie", f"sessionid={name}; HttpOnly; Path=/")]) for name in names]
        server.rule = lambda request: envelope([], code=200 if request.cookies.get("sessionid") in names else 401)
        server.logout = [LOST, LOST, Canned(200)]
        # A large body gets no response until the time is over.
        run_kit(target_at(server.base), "all", timeout=5)
    assert len(server.logins) > 5
    logouts = [request for request in server.requests if request.path == "/auth/logout/"]
    assert {*names[: len(server.logins)]} <= {request.cookies.get("sessionid") for request in logouts}
