"""The kit can fail: each of many broken consoles is caught by the very check that is for it."""

from collections.abc import Sequence
from typing import Any

import pytest

from cloudconsole.conformance.runner import INTERFACE, PROFILES
from tests.conformance.conftest import Workshop
from tests.conformance.damaged import Fault
from tests.conformance.faults_of_the_interface import FAULTS as INTERFACE_FAULTS

LEVELS = {check.id: check.level for check in PROFILES["all"]}


ANSWERED = ("login.accepted", "console.domain.missing-id")
"""Checks that get answers of every kind, for those that look through all."""


def with_whole_runs(faults: Sequence[Fault]) -> list[Any]:
    """Faults, each with whether all checks of the profile are run: that takes long, so that every eighth is.

    There nothing else may fail at all. With the others nothing may that the check builds on.
    """
    return [pytest.param(fault, at % 8 == 0, id=fault.name) for at, fault in enumerate(faults)]


def hold_caught(fault: Fault, workshop: Workshop, profile: str, *, is_whole: bool) -> None:
    only = () if is_whole else (fault.caught_by, *fault.follows, *(ANSWERED if profile == "all" else ()))
    seen = workshop.examine(fault, profile, *only)
    failed = seen.failed("must") | seen.failed("should")
    assert fault.caught_by in failed, {name: each.note for name, each in seen.results.items() if each.note}
    assert failed - {fault.caught_by} <= fault.follows
    assert seen.failed("info") == set()


@pytest.mark.parametrize(("fault", "is_whole"), with_whole_runs(INTERFACE_FAULTS))
def test_a_fault_of_the_interface_is_caught_by_name(workshop: Workshop, fault: Fault, is_whole: bool) -> None:
    hold_caught(fault, workshop, "interface", is_whole=is_whole)


def test_without_a_fault_nothing_fails(workshop: Workshop) -> None:
    seen = workshop.examine(Fault("none", ""), "all")
    assert {name: (each.outcome, each.note) for name, each in seen.results.items() if each.outcome != "passed"} == {}


def test_every_demand_of_the_interface_has_a_fault_that_breaks_it() -> None:
    demands = {check.id for check in INTERFACE if check.level != "info"}
    per_action = {name for name in demands if name.startswith("answers.")}
    assert demands - per_action <= {fault.caught_by for fault in INTERFACE_FAULTS}
    assert per_action & {fault.caught_by for fault in INTERFACE_FAULTS}
