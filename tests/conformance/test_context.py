"""The check context: origin, cookies and the wording of notes."""

import pytest

from tests.conformance.conftest import FaultyServer
from tests.conformance.faulty_console import Fault
from tests.conformance.interface_faults import FAULTS
from tests.conformance.kit_harness import target_at
from tests.conformance.mutations import cookie, is_logged_in, on


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
    (fault,) = (fault for fault in FAULTS if fault.name == name)
    assert faulty_server.run_kit(fault, "interface", fault.caught_by).results[fault.caught_by].note.startswith(note)
