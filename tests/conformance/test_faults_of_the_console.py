"""What our own documentation says beyond the interface is held, too: each broken console is caught by name."""

from pathlib import Path
from shutil import copytree

import pytest

from cloudconsole.conformance.client import ACTION_NAMES
from cloudconsole.conformance.extended.calls import ACCEPTED, REJECTED, Body
from cloudconsole.conformance.runner import EXTENDED
from cloudconsole.server.app import Console
from cloudconsole.server.config.settings import Settings
from tests.conformance.conftest import Workshop
from tests.conformance.damaged import Damaged, Exchange, Fault
from tests.conformance.faults_of_the_console import FAULTS, unreadable
from tests.conformance.listening import examine, listening, subject_at
from tests.conformance.test_faults import hold_caught, with_whole_runs
from tests.harness import FORM

PATHS = {
    "console.slash.api": "/api",
    "console.slash.auth.login": "/auth/login",
    "console.slash.auth.logout": "/auth/logout",
}


@pytest.mark.parametrize(("fault", "is_whole"), with_whole_runs(FAULTS))
def test_it_is_caught_by_name(workshop: Workshop, fault: Fault, is_whole: bool) -> None:
    hold_caught(fault, workshop, "all", is_whole=is_whole)


def caught_alone(workshop: Workshop, fault: Fault) -> None:
    """Of the check and those that it builds on, it is the only one that fails."""
    assert workshop.examine(fault, "all", fault.caught_by).failed("must") == {fault.caught_by}


@pytest.mark.parametrize("body", ACCEPTED + REJECTED, ids=lambda body: body.id)
def test_a_body_that_is_treated_otherwise_is_caught_by_name(workshop: Workshop, body: Body) -> None:
    def treat_otherwise(exchange: Exchange) -> None:
        if exchange.body == body.body and exchange.sent.get("content-type") == body.content_type:
            if body.error is None:
                unreadable(exchange)
            else:
                exchange.body, exchange.sent["content-type"] = b"action=GetNews", FORM

    caught_alone(workshop, Fault(body.id, f"console.body.{body.id}", before=treat_otherwise))


@pytest.mark.parametrize("action", ACTION_NAMES)
def test_an_action_that_takes_no_form_is_caught_by_name(workshop: Workshop, action: str) -> None:
    def take_json_only(exchange: Exchange) -> None:
        if exchange.action == action and exchange.sent["content-type"] == FORM:
            unreadable(exchange)

    caught_alone(workshop, Fault("JSON only", f"console.forms.{action}", before=take_json_only))


@pytest.mark.parametrize(("name", "path"), PATHS.items())
def test_a_missing_slash_that_loses_a_post_is_caught_by_name(workshop: Workshop, name: str, path: str) -> None:
    def lose_posts(exchange: Exchange) -> None:
        if exchange.path == path:
            exchange.status = 302

    caught_alone(workshop, Fault("302", name, lose_posts))


def test_a_body_lost_with_an_offer_to_upgrade_is_caught_by_name(sample_store: Path, tmp_path: Path) -> None:
    data = copytree(sample_store, tmp_path / "data")
    # This parser, as it comes, drops the body: what our own server mends.
    with listening(Damaged(lambda: Console(Settings(data=data))), "on", "httptools") as base:
        seen = examine(subject_at(base), only=["console.upgrade-ignored"])
    assert seen.failed("must") == {"console.upgrade-ignored"}


def test_every_check_has_a_fault_that_it_catches() -> None:
    caught = {fault.caught_by for fault in FAULTS} | {f"console.body.{body.id}" for body in ACCEPTED + REJECTED}
    caught |= {f"console.forms.{action}" for action in ACTION_NAMES} | set(PATHS) | {"console.upgrade-ignored"}
    assert caught == {check.id for check in EXTENDED}
