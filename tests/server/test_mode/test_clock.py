"""The controllable clock, and seeded random bytes; without a seed, only the system's randomness is used."""

import os
import time
from collections.abc import Callable
from datetime import UTC

import pytest

from cloudconsole.server.app import Console
from cloudconsole.server.config.settings import Settings
from cloudconsole.server.test_mode.clock import (
    EARLIEST,
    LATEST,
    ControllableClock,
    SeededRandomSource,
    check_moment,
    read_moment,
)
from tests.harness import ApiClient, FakeClock, InProcessTransport

MOMENT = 1_767_229_170.0


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The machine's clock, which only the test advances."""
    now = [2_000_000_000.0]
    monkeypatch.setattr(time, "time", lambda: now[0])
    return now


@pytest.mark.parametrize("fixed", [False, True])
@pytest.mark.parametrize("start", [None, MOMENT])
def test_clock_runs_from_its_start_unless_it_is_fixed(machine: list[float], start: float | None, fixed: bool) -> None:
    clock, started_at = ControllableClock(start, fixed=fixed), start or machine[0]
    machine[0] += 5
    assert (clock.now(), clock.is_fixed) == (started_at if fixed else started_at + 5, fixed)


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


# Seeded random bytes


def draw(source: SeededRandomSource) -> list[bytes]:
    return [source.token_bytes(24) for _ in range(3)]


def test_seed_determines_all_bytes_on_every_machine() -> None:
    assert SeededRandomSource("7").token_bytes(8).hex() == "eb6f99900b21c3f7"
    assert set(draw(SeededRandomSource("a"))).isdisjoint(draw(SeededRandomSource("b")))


def test_seeded_bytes_do_not_repeat() -> None:
    assert len(set(draw(SeededRandomSource("a")))) == 3


def test_seeded_bytes_restart_at_the_saved_position() -> None:
    source = SeededRandomSource("a")
    source.token_bytes(32)
    source.save_position()
    first = draw(source)
    source.restart()
    assert draw(source) == first


@pytest.fixture
def system_bytes(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """All bytes drawn from the system's random source."""
    drawn: list[bytes] = []
    real: Callable[[int], bytes] = os.urandom

    def record(size: int) -> bytes:
        drawn.append(real(size))
        return drawn[-1]

    monkeypatch.setattr(os, "urandom", record)
    return drawn


def test_tokens_use_system_randomness_without_a_seed(
    settings: Settings, clock: FakeClock, system_bytes: list[bytes]
) -> None:
    transport = InProcessTransport(Console(settings, clock))
    client = ApiClient(transport)
    client.open()
    anonymous = client.cookies["sessionid"]
    assert client.login().status == 200
    transport.close()
    key, token, anonymous_bytes, session_bytes = system_bytes
    assert len(key) == 32
    assert client.token.startswith(token.hex())
    assert anonymous == "a" + anonymous_bytes.hex()
    assert client.cookies["sessionid"] == "s" + session_bytes.hex()
