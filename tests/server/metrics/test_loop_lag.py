"""Periodic readings of a worker, and the lag of its event loop."""

import asyncio
from types import SimpleNamespace

import pytest

from cloudconsole.server.metrics import layout, loop_lag
from cloudconsole.server.metrics.loop_lag import LoopLagMonitor
from cloudconsole.server.metrics.shared_memory import SharedMetrics


@pytest.fixture
def shared_metrics(monkeypatch: pytest.MonkeyPatch) -> SharedMetrics:
    monkeypatch.setattr(loop_lag, "INTERVAL_SECONDS", 0.01)
    return SharedMetrics(1)


def lags(shared_metrics: SharedMetrics) -> list[int]:
    start = layout.LOOP_LAG
    return shared_metrics.read()[0][start : start + len(layout.SECONDS_BOUNDS) + 1]


def test_readings_are_taken_repeatedly(shared_metrics: SharedMetrics) -> None:
    async def main() -> None:
        enough = asyncio.Event()
        taken: list[int] = []

        def take() -> None:
            taken.append(1)
            if len(taken) == 3:
                enough.set()

        LoopLagMonitor(shared_metrics.worker(0), take).start()
        async with asyncio.timeout(120):
            await enough.wait()

    asyncio.run(main())
    assert sum(lags(shared_metrics)) >= 3


def test_a_blocked_loop_is_measured(shared_metrics: SharedMetrics, monkeypatch: pytest.MonkeyPatch) -> None:
    now = 1000

    async def main() -> None:
        nonlocal now
        has_beaten = asyncio.Event()
        LoopLagMonitor(shared_metrics.worker(0), has_beaten.set).start()
        now += 10_000_000 + 250_000_001
        async with asyncio.timeout(120):
            await has_beaten.wait()

    monkeypatch.setattr(loop_lag, "time", SimpleNamespace(perf_counter_ns=lambda: now))
    asyncio.run(main())
    assert shared_metrics.read()[0][layout.MAX_LAG] == 250_000_001
    # Later beats are on time.
    _on_time, *late = lags(shared_metrics)
    assert late.index(1) == layout.SECONDS_BOUNDS.index(250_000_000)
    assert sum(late) == 1


def test_the_longest_lag_is_forgotten_after_a_while(
    shared_metrics: SharedMetrics, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loop_lag, "REMEMBERED_INTERVALS", 3)
    monitor = LoopLagMonitor(shared_metrics.worker(0), lambda: None)
    seen = []
    for lag in (1, 9, 2, 2, 2, 2, 3, 3, 3):
        monitor._record_lag(lag)
        seen.append(shared_metrics.read()[0][layout.MAX_LAG])
    assert seen == [1, 9, 9, 9, 9, 2, 3, 3, 3]
