"""A third-party console that conforms to the interface passes the interface profile."""

from collections.abc import Iterator

import pytest

from cloudconsole.conformance.client import Account
from tests.conformance.kit_harness import RunResult, run_kit, serving, target_at
from tests.conformance.third_party_console import ThirdPartyConsole


@pytest.fixture(scope="module")
def run() -> Iterator[RunResult]:
    with serving(ThirdPartyConsole()) as base:
        account = Account("someone", "a secret")
        yield run_kit(target_at(base, region="http://keystone/v3", account=account, other=None, domains=("7",)))


def test_third_party_console_passes_the_interface_profile(run: RunResult) -> None:
    assert {name: (each.outcome, each.note) for name, each in run.results.items() if each.outcome != "passed"} == {}


def test_choices_left_open_by_the_interface_are_reported(run: RunResult) -> None:
    assert run.results["forms.GetNews"].note == "form only"
    assert run.results["domain.enabled"].note == "a boolean"
    assert run.results["login.accepted"].note == "HTTP 302"
    assert run.results["errors.http-status"].note == "HTTP 200, code 422"
    assert run.results["urls.types"].note == 'besides the known ones: ["Tor"]'


def test_third_party_console_fails_the_extended_profile() -> None:
    with serving(ThirdPartyConsole()) as base:
        account = Account("someone", "a secret")
        target = target_at(base, region="http://keystone/v3", account=account, other=None, domains=("7",))
        failed = run_kit(target, "all").failed("must")
    assert {"console.welcome.data", "console.login.csrftoken-stays", "console.envelope.success"} <= failed
    assert all(name.startswith("console.") for name in failed)
