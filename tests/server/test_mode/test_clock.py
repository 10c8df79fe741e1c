"""The controllable clock: where it starts, and how it runs, stops and is reset."""

import time
from datetime import UTC

import pytest

from cloudconsole.server.test_mode.clock import EARLIEST, LATEST, ControllableClock, check_moment, read_moment

MOMENT = 1_767_229_170.0


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The machine's clock, which only the test advances."""
    now = [2_000_000_000.0]
    monkeypatch.setattr(time, "time", lambda: now[0])
    return now


def test_clock_without_a_start_is_the_machines(machine: list[float]) -> None:
    clock = ControllableClock()
    machine[0] += 5
    assert (clock.now(), clock.is_fixed) == (machine[0], False)


def test_clock_runs_from_its_start(machine: list[float]) -> None:
    clock = ControllableClock(MOMENT)
    machine[0] += 5
    assert clock.now() == MOMENT + 5


def test_fixed_clock_stays_at_its_start(machine: list[float]) -> None:
    clock = ControllableClock(MOMENT, fixed=True)
    machine[0] += 5
    assert (clock.now(), clock.is_fixed) == (MOMENT, True)


def test_fixed_clock_without_a_start_stays_at_its_creation(machine: list[float]) -> None:
    created_at = machine[0]
    clock = ControllableClock(fixed=True)
    machine[0] += 5
    assert clock.now() == created_at


def test_setting_the_clock_keeps_it_running_or_fixed(machine: list[float]) -> None:
    running, stopped = ControllableClock(), ControllableClock(fixed=True)
    for clock in (running, stopped):
        clock.set(MOMENT)
    machine[0] += 5
    assert (running.now(), stopped.now()) == (MOMENT + 5, MOMENT)


def test_fixed_clock_resumes_where_it_stopped(machine: list[float]) -> None:
    clock = ControllableClock(MOMENT)
    clock.fix()
    machine[0] += 5
    assert clock.now() == MOMENT
    clock.run()
    machine[0] += 5
    assert clock.now() == MOMENT + 5


@pytest.mark.parametrize("fixed", [False, True])
@pytest.mark.parametrize("start", [None, MOMENT])
def test_reset_restores_the_initial_clock(machine: list[float], start: float | None, fixed: bool) -> None:
    clock, started_at = ControllableClock(start, fixed=fixed), machine[0]
    clock.set(1.0)
    (clock.run if fixed else clock.fix)()
    machine[0] += 5
    clock.reset()
    expected = MOMENT if start else (started_at if fixed else machine[0])
    assert (clock.now(), clock.is_fixed) == (expected, fixed)


def test_time_without_offset_is_in_the_operators_zone() -> None:
    assert read_moment("2026-01-01T00:59:30", UTC) == MOMENT


@pytest.mark.parametrize("moment", [EARLIEST - 1, LATEST])
def test_time_out_of_range_is_rejected(moment: float) -> None:
    with pytest.raises(ValueError, match="must be a time from 1971 to 8999"):
        check_moment(moment)
