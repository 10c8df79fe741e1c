"""Wrong logins: a password is right only if it opens what strangers do not get, whatever else succeeds."""

import json

import pytest

from cloudconsole.conformance.limits import MAX_WRONG_LOGINS
from tests.conformance.changes import refused
from tests.conformance.conftest import Workshop
from tests.conformance.damaged import Exchange, Fault
from tests.conformance.listening import DEMO, OTHER, examine, subject_at

MISTYPED = DEMO._replace(password="mistyped")
SUCCESS = json.dumps({"message": "ok", "code": 200, "data": []}).encode()


class Counting:
    """Some actions are for everybody; counts the logins with a wrong name or password."""

    def __init__(self, *public: str) -> None:
        self._public = public
        self.wrong_logins = 0

    def __call__(self, exchange: Exchange) -> None:
        if exchange.is_login and (exchange.fields.get("username"), exchange.fields.get("password")) not in (
            DEMO,
            OTHER,
        ):
            self.wrong_logins += 1
        if refused(exchange) and exchange.action in self._public:
            exchange.status, exchange.content = 200, SUCCESS


PUBLIC = {
    "none": (),
    "news": ("GetNews",),
    "all": (
        "GetUsageLimits",
        "GetFlavors",
        "GetUrlList",
        "GetDomainDetail",
        "GetNews",
        "GetConsumptionsEstimated",
    ),
}


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
def test_there_are_two_wrong_logins_at_most_and_all_are_told(
    workshop: Workshop, public: str, changes: dict[str, object]
) -> None:
    counting = Counting(*PUBLIC[public])
    workshop.have(Fault("public", "", counting))
    seen = examine(subject_at(workshop.base, **changes), "all")
    assert counting.wrong_logins <= seen.wrong_logins <= MAX_WRONG_LOGINS


@pytest.mark.parametrize("public", ["none", "news"])
def test_a_mistyped_password_is_told_as_such(workshop: Workshop, public: str) -> None:
    workshop.have(Fault("public", "", Counting(*PUBLIC[public])))
    seen = examine(subject_at(workshop.base, account=MISTYPED))
    assert seen.failed("must") == {"login.accepted"}
    assert seen.wrong_logins == 1


def test_an_action_for_everybody_is_the_only_fault(workshop: Workshop) -> None:
    seen = workshop.examine(Fault("public", "", Counting("GetUsageLimits")), "interface")
    assert seen.failed("must") == {"login.required", "csrf.header-required", "session.cookies-required"}
    assert seen.failed("should") == {"csrf.header-compared"}
    assert seen.wrong_logins == 1


def test_a_stranger_who_is_not_heard_proves_nothing(workshop: Workshop) -> None:
    """Only who is refused shows that there is something to be let into."""

    def be_busy_with_strangers(exchange: Exchange) -> None:
        if refused(exchange):
            exchange.status, exchange.content = 503, b""

    workshop.have(Fault("busy", "", be_busy_with_strangers))
    seen = examine(subject_at(workshop.base))
    assert seen.results["login.required"].outcome == "skipped"
    assert seen.results["login.token-required"].note == "no action is known to require a login"
    assert seen.wrong_logins == 1
