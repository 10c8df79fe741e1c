"""The kit can fail: each of many broken consoles is caught by the very check that is for it."""

import pytest

from cloudconsole.conformance.table import INTERFACE, PROFILES
from tests.conformance.conftest import Workshop
from tests.conformance.damaged import Fault
from tests.conformance.faults_of_the_interface import FAULTS as INTERFACE_FAULTS

LEVELS = {check.id: check.level for check in PROFILES["all"]}


def hold_caught(fault: Fault, workshop: Workshop, profile: str) -> None:
    seen = workshop.examine(fault, profile)
    failed = seen.failed("must") | seen.failed("should")
    assert fault.caught_by in failed, {name: each.note for name, each in seen.results.items() if each.note}
    assert failed - {fault.caught_by} <= fault.follows
    assert seen.failed("info") == set()


@pytest.mark.parametrize("fault", INTERFACE_FAULTS, ids=lambda fault: fault.name)
def test_a_fault_of_the_interface_is_caught_by_name(workshop: Workshop, fault: Fault) -> None:
    hold_caught(fault, workshop, "interface")


def test_without_a_fault_nothing_fails(workshop: Workshop) -> None:
    seen = workshop.examine(Fault("none", ""), "all")
    assert {name: (each.outcome, each.note) for name, each in seen.results.items() if each.outcome != "passed"} == {}


def test_every_demand_of_the_interface_has_a_fault_that_breaks_it() -> None:
    demands = {check.id for check in INTERFACE if check.level != "info"}
    per_action = {name for name in demands if name.startswith("answers.")}
    assert demands - per_action <= {fault.caught_by for fault in INTERFACE_FAULTS}
    assert per_action & {fault.caught_by for fault in INTERFACE_FAULTS}
