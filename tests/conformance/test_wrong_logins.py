"""Wrong logins: a password is verified only by an action that anonymous clients cannot use."""

import json

import pytest

from cloudconsole.conformance.client import ACTION_NAMES
from cloudconsole.conformance.limits import MAX_WRONG_LOGINS
from tests.conformance.conftest import FaultyServer
from tests.conformance.faulty_console import Exchange, Fault
from tests.conformance.kit_harness import DEMO, OTHER
from tests.conformance.mutations import is_rejected

MISTYPED = DEMO._replace(password="mistyped")
SUCCESS = json.dumps({"message": "ok", "code": 200, "data": []}).encode()


class WrongLoginCounter:
    """Makes some actions public, and counts logins with a wrong username or password."""

    def __init__(self, *public: str) -> None:
        self._public = public
        self.wrong_logins = 0

    def __call__(self, exchange: Exchange) -> None:
        if exchange.is_login and (exchange.fields.get("username"), exchange.fields.get("password")) not in (
            DEMO,
            OTHER,
        ):
            self.wrong_logins += 1
        if is_rejected(exchange) and exchange.action in self._public:
            exchange.status, exchange.content = 200, SUCCESS


PUBLIC = {"none": (), "news": ("GetNews",), "all": ACTION_NAMES}


def public_actions(name: str) -> tuple[WrongLoginCounter, Fault]:
    counter = WrongLoginCounter(*PUBLIC[name])
    return counter, Fault("public", "", counter)


@pytest.mark.parametrize(
    ("public", "changes"),
    [
        ("none", {}),
        ("none", {"account": MISTYPED}),
        ("news", {"account": MISTYPED}),
        ("all", {"account": MISTYPED}),
        ("news", {"other": OTHER._replace(password="mistyped")}),
        ("all", {"other": OTHER._replace(password="mistyped")}),
    ],
)
def test_at_most_two_wrong_logins_are_sent_and_all_are_counted(
    faulty_server: FaultyServer, public: str, changes: dict[str, object]
) -> None:
    counter, fault = public_actions(public)
    run = faulty_server.run_kit(fault, "all", **changes)
    assert counter.wrong_logins <= run.wrong_logins <= MAX_WRONG_LOGINS


@pytest.mark.parametrize("public", ["none", "news"])
def test_mistyped_password_fails_the_login_check(faulty_server: FaultyServer, public: str) -> None:
    run = faulty_server.run_kit(public_actions(public)[1], "all", account=MISTYPED)
    assert run.failed("must") == {"login.accepted"}
    assert run.wrong_logins == 1


def test_mistyped_password_of_the_other_account_fails_only_its_check(faulty_server: FaultyServer) -> None:
    counter, fault = public_actions("none")
    run = faulty_server.run_kit(fault, "all", other=OTHER._replace(password="mistyped"))
    assert run.failed("must") == {"console.domain.another-tenants"}
    note = run.results["console.login.wrong-password"].note
    assert note == "not sent: the limit of 2 wrong logins is reached"
    assert counter.wrong_logins == 2


def test_public_action_fails_only_the_access_checks(faulty_server: FaultyServer) -> None:
    run = faulty_server.run_kit(Fault("public", "", WrongLoginCounter("GetUsageLimits")), "interface")
    assert run.failed("must") == {"login.required", "csrf.header-required", "session.cookies-required"}
    assert run.failed("should") == {"csrf.header-compared"}
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
