"""What is asked of a console, and in which words."""

import pytest

from tests.conformance.changes import cookie, logged_in, on
from tests.conformance.conftest import Workshop
from tests.conformance.damaged import Fault
from tests.conformance.faults_of_the_interface import FAULTS
from tests.conformance.listening import subject_at


@pytest.mark.parametrize(
    ("base", "origin"),
    [
        ("http://127.0.0.1:8000", "http://127.0.0.1:8000"),
        ("HTTP://LocalHost:80/console", "http://localhost"),
        ("https://Console.example:443", "https://console.example"),
        ("https://console.example:8443/a/b", "https://console.example:8443"),
    ],
)
def test_an_origin_is_written_as_browsers_write_it(base: str, origin: str) -> None:
    assert subject_at(base).origin == origin


def test_a_cookie_set_at_login_need_not_reach_the_login(workshop: Workshop) -> None:
    fault = Fault("for actions", "", on(logged_in, cookie("sessionid", "Path=/;", "Path=/api/;")))
    assert workshop.examine(fault, "interface", "session.one-jar").results["session.one-jar"].outcome == "passed"


NOTES = {
    "code as text in answers to forms": 'sent as form: GetUsageLimits.code is "200", not the integer 200; ',
    "code as text": 'GetUsageLimits.code is "200", not the integer 200; ',
    "usage as a float in answers to forms": "sent as form: data.totalRAMUsed is 5.0, not an integer",
    "another domain in answers to forms": 'sent as form: domainId is "1", but "206813" was requested',
}


@pytest.mark.parametrize(("name", "note"), NOTES.items(), ids=NOTES)
def test_what_only_forms_get_is_told_as_such(workshop: Workshop, name: str, note: str) -> None:
    (fault,) = (fault for fault in FAULTS if fault.name == name)
    assert workshop.examine(fault, "interface", fault.caught_by).results[fault.caught_by].note.startswith(note)
