"""The clock itself: where it begins, and how it runs, stands and comes back."""

import time
from datetime import UTC

import pytest

from cloudconsole.server.test_mode.clock import EARLIEST, LATEST, ControllableClock, check_moment, read_moment

MOMENT = 1_767_229_170.0


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The machine's clock, held."""
    held = [2_000_000_000.0]
    monkeypatch.setattr(time, "time", lambda: held[0])
    return held


def test_without_a_start_it_is_the_machines(machine: list[float]) -> None:
    clock = ControllableClock()
    machine[0] += 5
    assert (clock.now(), clock.is_fixed) == (machine[0], False)


def test_it_runs_from_its_start(machine: list[float]) -> None:
    clock = ControllableClock(MOMENT)
    machine[0] += 5
    assert clock.now() == MOMENT + 5


def test_it_stands_at_its_start(machine: list[float]) -> None:
    clock = ControllableClock(MOMENT, fixed=True)
    machine[0] += 5
    assert (clock.now(), clock.is_fixed) == (MOMENT, True)


def test_alone_fixed_stands_at_the_moment_it_was_made(machine: list[float]) -> None:
    made = machine[0]
    clock = ControllableClock(fixed=True)
    machine[0] += 5
    assert clock.now() == made


def test_it_keeps_running_or_standing_when_it_is_set(machine: list[float]) -> None:
    running, standing = ControllableClock(), ControllableClock(fixed=True)
    for clock in (running, standing):
        clock.set(MOMENT)
    machine[0] += 5
    assert (running.now(), standing.now()) == (MOMENT + 5, MOMENT)


def test_it_stands_and_runs_on_from_there(machine: list[float]) -> None:
    clock = ControllableClock(MOMENT)
    clock.fix()
    machine[0] += 5
    assert clock.now() == MOMENT
    clock.run()
    machine[0] += 5
    assert clock.now() == MOMENT + 5


@pytest.mark.parametrize("fixed", [False, True])
@pytest.mark.parametrize("start", [None, MOMENT])
def test_a_reset_makes_it_what_it_was(machine: list[float], start: float | None, fixed: bool) -> None:
    clock, begun = ControllableClock(start, fixed=fixed), machine[0]
    clock.set(1.0)
    (clock.run if fixed else clock.fix)()
    machine[0] += 5
    clock.reset()
    expected = MOMENT if start else (begun if fixed else machine[0])
    assert (clock.now(), clock.is_fixed) == (expected, fixed)


def test_a_text_without_offset_is_in_the_operators_zone() -> None:
    assert read_moment("2026-01-01T00:59:30", UTC) == MOMENT


@pytest.mark.parametrize("moment", [EARLIEST - 1, LATEST])
def test_there_are_ends_of_time(moment: float) -> None:
    with pytest.raises(ValueError, match="must be a time from 1971 to 8999"):
        check_moment(moment)
