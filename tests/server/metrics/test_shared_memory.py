"""Metrics in shared memory: one region per worker, whose counters survive restarts; the lag of its event loop."""

import asyncio
import os
from types import SimpleNamespace

import pytest

from cloudconsole.server.metrics import layout, loop_lag
from cloudconsole.server.metrics.loop_lag import LoopLagMonitor
from cloudconsole.server.metrics.shared_memory import SharedMetrics, WorkerMetrics
from cloudconsole.spec.errors import ERRORS

MILLISECOND = 1_000_000


@pytest.fixture
def shared_metrics(monkeypatch: pytest.MonkeyPatch) -> SharedMetrics:
    monkeypatch.setattr(loop_lag, "INTERVAL_SECONDS", 0.01)
    return SharedMetrics(3)


def durations_of(shared_metrics: SharedMetrics, operation: str, worker: int = 0) -> list[int]:
    """Buckets of an operation's histogram, followed by its sum."""
    start = layout.OPERATION_OFFSETS[operation] + len(layout.OUTCOMES)
    return shared_metrics.read()[worker][start : start + layout.HISTOGRAM_CELLS]


def counts(shared_metrics: SharedMetrics, operation: str, outcome: str) -> list[int]:
    """Counts of each worker."""
    cell = layout.OPERATION_OFFSETS[operation] + layout.OUTCOME_OFFSETS[outcome]
    return [cells[cell] for cells in shared_metrics.read()]


def test_every_error_is_an_outcome() -> None:
    errors = {kind.error for kind in ERRORS}
    assert set(layout.OUTCOMES) == {layout.OK, layout.GONE, layout.EXTENSION_ERROR, *errors}
    assert len(set(layout.OUTCOMES)) == len(layout.OUTCOMES)


@pytest.mark.parametrize("plugins", [(), ("GetA", "GetB")])
def test_no_two_metrics_share_a_cell(plugins: tuple[str, ...]) -> None:
    operations = [
        start + offset
        for start in layout.operation_offsets(plugins).values()
        for offset in (*layout.OUTCOME_OFFSETS.values(), *range(len(layout.OUTCOMES), layout.OPERATION_CELLS))
    ]
    starts = (layout.STORE_WRITES, layout.LOOP_LAG, *layout.UPSTREAM_OFFSETS.values())
    histograms = [start + number for start in starts for number in range(layout.HISTOGRAM_CELLS)]
    counters = [
        layout.CACHE_HITS,
        layout.CACHE_MISSES,
        layout.STORE_ERRORS,
        layout.AUDIT_SUPPRESSED,
        layout.SHED_REQUESTS,
        *layout.RESTARTS.values(),
        *layout.CONNECTION_REJECTIONS.values(),
        *layout.UPSTREAM_FAILURES.values(),
    ]
    cells = [*operations, *histograms, *counters, *layout.GAUGES]
    assert sorted(cells) == list(range(len(cells)))
    assert len(cells) <= layout.worker_cells(plugins)


@pytest.mark.parametrize(
    ("nanoseconds", "bucket"),
    [(0, 0), (50_000, 0), (50_001, 1), (MILLISECOND, 4), (10_000 * MILLISECOND, 16), (10_000 * MILLISECOND + 1, 17)],
)
def test_a_duration_is_counted_in_the_first_bucket_that_fits(
    shared_metrics: SharedMetrics, nanoseconds: int, bucket: int
) -> None:
    shared_metrics.worker(0).count_request("GetNews", "ok", nanoseconds)
    *buckets, total = durations_of(shared_metrics, "GetNews")
    assert buckets == [int(number == bucket) for number in range(len(layout.SECONDS_BOUNDS) + 1)]
    assert total == nanoseconds


def test_connections_are_accepted_once_every_worker_accepts(shared_metrics: SharedMetrics) -> None:
    seen = []
    for worker in range(3):
        seen.append(shared_metrics.is_accepting())
        shared_metrics.worker(worker).set(layout.ACCEPTING, 1)
    assert (seen, shared_metrics.is_accepting()) == ([False] * 3, True)
    shared_metrics.worker(1).clear_gauges()
    assert not shared_metrics.is_accepting()


def count_in_a_process(metrics: WorkerMetrics, times: int) -> None:
    process = os.fork()
    if not process:
        metrics.begin()
        for _ in range(times):
            metrics.count_request("GetFlavors", "ok", MILLISECOND)
        metrics.set(layout.IN_FLIGHT, 7)
        os._exit(0)
    assert os.waitpid(process, 0) == (process, 0)


def test_each_process_counts_in_its_own_region(shared_metrics: SharedMetrics) -> None:
    for worker in range(3):
        count_in_a_process(shared_metrics.worker(worker), worker + 1)
    assert counts(shared_metrics, "GetFlavors", "ok") == [1, 2, 3]
    assert durations_of(shared_metrics, "GetFlavors", 2)[-1] == 3 * MILLISECOND


def test_a_restarted_worker_keeps_counters_and_resets_gauges(shared_metrics: SharedMetrics) -> None:
    count_in_a_process(shared_metrics.worker(1), 1000)
    assert shared_metrics.read()[1][layout.IN_FLIGHT] == 7
    shared_metrics.worker(1).begin()
    assert shared_metrics.read()[1][layout.IN_FLIGHT] == 0
    assert shared_metrics.read()[1][layout.PROCESS] == os.getpid()
    assert counts(shared_metrics, "GetFlavors", "ok") == [0, 1000, 0]


def lags(shared_metrics: SharedMetrics) -> list[int]:
    start = layout.LOOP_LAG
    return shared_metrics.read()[0][start : start + len(layout.SECONDS_BOUNDS) + 1]


def test_readings_are_taken_repeatedly(shared_metrics: SharedMetrics) -> None:
    async def main() -> None:
        readings = asyncio.Queue[None]()
        LoopLagMonitor(shared_metrics.worker(0), lambda: readings.put_nowait(None)).start()
        async with asyncio.timeout(120):
            for _ in range(3):
                await readings.get()

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


def test_longest_lag_is_forgotten_after_a_while(shared_metrics: SharedMetrics, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop_lag, "REMEMBERED_INTERVALS", 3)
    monitor = LoopLagMonitor(shared_metrics.worker(0), lambda: None)
    seen = []
    for lag in (1, 9, 2, 2, 2, 2, 3, 3, 3):
        monitor._record_lag(lag)
        seen.append(shared_metrics.read()[0][layout.MAX_LAG])
    assert seen == [1, 9, 9, 9, 9, 2, 3, 3, 3]


def test_errors_that_a_package_declares_are_counted_together() -> None:
    shared = SharedMetrics(1, ("GetA",))
    shared.worker(0).count_request("GetA", "shop_closed", 1000)
    assert shared.read()[0][shared.operations["GetA"] + layout.OUTCOME_OFFSETS[layout.EXTENSION_ERROR]] == 1
