"""A third-party console that conforms to the interface passes the interface profile only."""

import pytest

from cloudconsole.conformance.client import Account
from tests.conformance.kit_harness import RunResult, run_kit, target_at
from tests.conformance.third_party_console import ThirdPartyConsole


@pytest.fixture(scope="module")
def run() -> RunResult:
    account = Account("someone", "a secret")
    target = target_at(region="http://keystone/v3", account=account, other=None, domains=("7",))
    return run_kit(target, "all", application=ThirdPartyConsole())


def test_third_party_console_passes_the_interface_profile(run: RunResult) -> None:
    assert {name: why for name, why in run.unpassed().items() if not name.startswith("console.")} == {}


def test_choices_left_open_by_the_interface_are_reported(run: RunResult) -> None:
    assert run.results["forms.GetNews"].note == "form only"
    assert run.results["domain.enabled"].note == "a boolean"
    assert run.results["login.accepted"].note == "HTTP 302"
    assert run.results["errors.http-status"].note == "HTTP 200, code 422"
    assert run.results["urls.types"].note == 'besides the known ones: ["Tor"]'


def test_third_party_console_fails_the_extended_profile(run: RunResult) -> None:
    expected = {"console.welcome.data", "console.login.csrftoken-stays", "console.envelope.success"}
    assert expected <= run.failed("must")
