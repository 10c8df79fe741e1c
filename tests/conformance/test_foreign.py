"""A console that is unlike ours, but keeps to the interface, is found to do so."""

from collections.abc import Iterator

import pytest

from cloudconsole.conformance.client import Account
from tests.conformance.foreign import Foreign
from tests.conformance.listening import Seen, examine, listening, subject_at


@pytest.fixture(scope="module")
def seen() -> Iterator[Seen]:
    with listening(Foreign()) as base:
        account = Account("someone", "a secret")
        yield examine(subject_at(base, region="http://keystone/v3", account=account, other=None, domains=("7",)))


def test_it_passes_the_first_profile_wholly(seen: Seen) -> None:
    assert {name: (each.outcome, each.note) for name, each in seen.results.items() if each.outcome != "passed"} == {}


def test_what_the_interface_leaves_open_is_reported(seen: Seen) -> None:
    assert seen.results["forms.GetNews"].note == "form only"
    assert seen.results["domain.enabled"].note == "a boolean"
    assert seen.results["login.accepted"].note == "HTTP 302"
    assert seen.results["errors.http-status"].note == "HTTP 200, code 422"
    assert seen.results["urls.types"].note == 'besides the known ones: ["Tor"]'


def test_it_is_not_taken_for_ours() -> None:
    with listening(Foreign()) as base:
        account = Account("someone", "a secret")
        subject = subject_at(base, region="http://keystone/v3", account=account, other=None, domains=("7",))
        failed = examine(subject, "all").failed("must")
    assert {"console.welcome.data", "console.login.csrftoken-stays", "console.envelope.success"} <= failed
    assert all(name.startswith("console.") for name in failed)
