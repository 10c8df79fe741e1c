"""Each fault against our own documentation is caught by the check for it."""

from pathlib import Path
from shutil import copytree

import pytest

from cloudconsole.conformance.client import ACTION_NAMES
from cloudconsole.conformance.extended.calls import ACCEPTED, REJECTED, Body
from cloudconsole.conformance.runner import EXTENDED
from cloudconsole.server.app import Console
from cloudconsole.server.config.settings import Settings
from tests.conformance.conftest import FaultyServer
from tests.conformance.extended_faults import FAULTS, make_unreadable
from tests.conformance.faulty_console import Exchange, Fault, FaultyConsole
from tests.conformance.kit_harness import run_kit, serving, target_at
from tests.conformance.test_interface_faults import assert_caught, with_full_runs
from tests.harness import FORM

PATHS = {
    "console.slash.api": "/api",
    "console.slash.auth.login": "/auth/login",
    "console.slash.auth.logout": "/auth/logout",
}


@pytest.mark.parametrize(("fault", "is_full"), with_full_runs(FAULTS))
def test_extended_fault_is_caught_by_its_check(faulty_server: FaultyServer, fault: Fault, is_full: bool) -> None:
    assert_caught(fault, faulty_server, "all", is_full=is_full)


def assert_only_failure(faulty_server: FaultyServer, fault: Fault) -> None:
    """Of the check and its prerequisites, only the check itself fails."""
    assert faulty_server.run_kit(fault, "all", fault.caught_by).failed("must") == {fault.caught_by}


@pytest.mark.parametrize("body", ACCEPTED + REJECTED, ids=lambda body: body.id)
def test_mishandled_body_is_caught_by_its_check(faulty_server: FaultyServer, body: Body) -> None:
    def mishandle_body(exchange: Exchange) -> None:
        if exchange.body == body.body and exchange.sent.get("content-type") == body.content_type:
            if body.error is None:
                make_unreadable(exchange)
            else:
                exchange.body, exchange.sent["content-type"] = b"action=GetNews", FORM

    assert_only_failure(faulty_server, Fault(body.id, f"console.body.{body.id}", before=mishandle_body))


@pytest.mark.parametrize("action", ACTION_NAMES)
def test_action_rejecting_forms_is_caught_by_its_check(faulty_server: FaultyServer, action: str) -> None:
    def take_json_only(exchange: Exchange) -> None:
        if exchange.action == action and exchange.sent["content-type"] == FORM:
            make_unreadable(exchange)

    assert_only_failure(faulty_server, Fault("JSON only", f"console.forms.{action}", before=take_json_only))


@pytest.mark.parametrize(("name", "path"), PATHS.items())
def test_slash_redirect_losing_a_post_is_caught_by_its_check(faulty_server: FaultyServer, name: str, path: str) -> None:
    def lose_posts(exchange: Exchange) -> None:
        if exchange.path == path:
            exchange.status = 302

    assert_only_failure(faulty_server, Fault("302", name, lose_posts))


def test_body_lost_by_an_upgrade_offer_is_caught_by_its_check(sample_store: Path, tmp_path: Path) -> None:
    data = copytree(sample_store, tmp_path / "data")
    # Plain httptools drops the body; our own server works around that.
    with serving(FaultyConsole(lambda: Console(Settings(data=data))), "on", "httptools") as base:
        run = run_kit(target_at(base), only=["console.upgrade-ignored"])
    assert run.failed("must") == {"console.upgrade-ignored"}


def test_every_extended_check_has_a_fault() -> None:
    caught = {fault.caught_by for fault in FAULTS} | {f"console.body.{body.id}" for body in ACCEPTED + REJECTED}
    caught |= {f"console.forms.{action}" for action in ACTION_NAMES} | set(PATHS) | {"console.upgrade-ignored"}
    assert caught == {check.id for check in EXTENDED}
