"""What goes on beside the measured calls."""

import threading
from pathlib import Path

from bench.background import Paced, change

from cloudconsole.store.sqlite.engine import opened
from tests.harness import Caller, InProcess


def test_work_is_repeated_until_it_ends() -> None:
    often = threading.Semaphore(0)
    paced = Paced(often.release, rate=1000)
    for _ in range(3):
        assert often.acquire(timeout=20)
    paced.end()
    assert paced.done >= 3
    assert paced.problem is None


def test_work_that_fails_is_remembered_and_stops() -> None:
    failed = threading.Event()

    def fail() -> None:
        failed.set()
        raise ValueError("no")

    paced = Paced(fail, rate=1000)
    assert failed.wait(timeout=20)
    paced.end()
    assert isinstance(paced.problem, ValueError)
    assert paced.done == 0


def test_a_change_is_another_tenants(data: Path, demo: Caller, wire: InProcess) -> None:
    other = Caller(wire)
    other.login("other", "console-other")
    before = other.call("GetUsageLimits").data, demo.call("GetUsageLimits").data
    with opened(data, "cloud") as engine:
        change(engine)()
    assert other.call("GetUsageLimits").data != before[0]
    assert demo.call("GetUsageLimits").data == before[1]
