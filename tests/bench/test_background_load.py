"""Background load."""

import threading
from pathlib import Path

from bench.background_load import PacedThread, resource_changer

from cloudconsole.store.sqlite.engine import opened
from tests.harness import ApiClient, InProcessTransport


def test_work_is_repeated_until_stopped() -> None:
    calls = threading.Semaphore(0)
    paced = PacedThread(calls.release, rate=1000)
    for _ in range(3):
        assert calls.acquire(timeout=20)
    paced.stop()
    assert paced.count >= 3
    assert paced.error is None


def test_failed_work_stops_the_thread_and_records_the_error() -> None:
    failed = threading.Event()

    def fail() -> None:
        failed.set()
        raise ValueError("no")

    paced = PacedThread(fail, rate=1000)
    assert failed.wait(timeout=20)
    paced.stop()
    assert isinstance(paced.error, ValueError)
    assert paced.count == 0


def test_a_change_affects_another_tenant_only(data: Path, demo: ApiClient, transport: InProcessTransport) -> None:
    other = ApiClient(transport)
    other.login("other", "console-other")
    before = other.call("GetUsageLimits").data, demo.call("GetUsageLimits").data
    with opened(data, "cloud") as engine:
        resource_changer(engine)()
    assert other.call("GetUsageLimits").data != before[0]
    assert demo.call("GetUsageLimits").data == before[1]
