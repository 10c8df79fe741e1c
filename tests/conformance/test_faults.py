"""Every check passes on our console, and fails on a console with its fault."""

import pytest

from cloudconsole.conformance.runner import EXTENDED, INTERFACE
from tests.conformance.conftest import FaultyServer
from tests.conformance.extended_faults import FAULTS as EXTENDED_FAULTS
from tests.conformance.faulty_console import Fault
from tests.conformance.interface_faults import FAULTS as INTERFACE_FAULTS

OF_ALL_RESPONSES = ("console.cookies.", "console.envelope.", "console.headers.")
COVERING_CHECKS = ("login.accepted", "console.domain.missing-id")
"""Checks that cause responses of every kind, for checks that inspect all responses."""


def test_without_a_fault_nothing_fails(faulty_server: FaultyServer) -> None:
    assert faulty_server.run_kit(Fault("none", ""), "all").unpassed() == {}


@pytest.mark.parametrize("fault", INTERFACE_FAULTS + EXTENDED_FAULTS, ids=lambda fault: fault.name)
def test_fault_is_caught_by_its_check(faulty_server: FaultyServer, fault: Fault) -> None:
    """Of the check, its prerequisites and the checks that fail as a consequence, no other may fail."""
    covering = COVERING_CHECKS if fault.caught_by.startswith(OF_ALL_RESPONSES) else ()
    run = faulty_server.run_kit(fault, "all", fault.caught_by, *fault.also_fails, *covering)
    failed = run.failed("must") | run.failed("should")
    assert fault.caught_by in failed, run.unpassed()
    assert failed - {fault.caught_by} <= fault.also_fails
    assert run.failed("info") == set()


def test_every_requirement_has_a_fault() -> None:
    requirements = {check.id for check in INTERFACE + EXTENDED if check.level != "info"}
    caught = {fault.caught_by for fault in INTERFACE_FAULTS + EXTENDED_FAULTS}
    # The same check for each action: some have a fault.
    assert {name for name in requirements - caught if not name.startswith("answers.")} == set()
