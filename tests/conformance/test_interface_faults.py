"""Each fault of the interface is caught by the check for it."""

from collections.abc import Sequence
from typing import Any

import pytest

from cloudconsole.conformance.runner import INTERFACE, PROFILES
from tests.conformance.conftest import FaultyServer
from tests.conformance.faulty_console import Fault
from tests.conformance.interface_faults import FAULTS as INTERFACE_FAULTS

LEVELS = {check.id: check.level for check in PROFILES["all"]}


COVERING_CHECKS = ("login.accepted", "console.domain.missing-id")
"""Checks that cause responses of every kind, for checks that inspect all responses."""


def with_full_runs(faults: Sequence[Fault]) -> list[Any]:
    """Parametrize faults; every eighth runs the full profile, since full runs are slow.

    In a full run no other check may fail; in the others, no prerequisite of the check may.
    """
    return [pytest.param(fault, at % 8 == 0, id=fault.name) for at, fault in enumerate(faults)]


def assert_caught(fault: Fault, faulty_server: FaultyServer, profile: str, *, is_full: bool) -> None:
    only = () if is_full else (fault.caught_by, *fault.also_fails, *(COVERING_CHECKS if profile == "all" else ()))
    run = faulty_server.run_kit(fault, profile, *only)
    failed = run.failed("must") | run.failed("should")
    assert fault.caught_by in failed, {name: each.note for name, each in run.results.items() if each.note}
    assert failed - {fault.caught_by} <= fault.also_fails
    assert run.failed("info") == set()


@pytest.mark.parametrize(("fault", "is_full"), with_full_runs(INTERFACE_FAULTS))
def test_interface_fault_is_caught_by_its_check(faulty_server: FaultyServer, fault: Fault, is_full: bool) -> None:
    assert_caught(fault, faulty_server, "interface", is_full=is_full)


def test_without_a_fault_nothing_fails(faulty_server: FaultyServer) -> None:
    run = faulty_server.run_kit(Fault("none", ""), "all")
    assert {name: (each.outcome, each.note) for name, each in run.results.items() if each.outcome != "passed"} == {}


def test_every_requirement_of_the_interface_has_a_fault() -> None:
    requirements = {check.id for check in INTERFACE if check.level != "info"}
    per_action = {name for name in requirements if name.startswith("answers.")}
    assert requirements - per_action <= {fault.caught_by for fault in INTERFACE_FAULTS}
    assert per_action & {fault.caught_by for fault in INTERFACE_FAULTS}
