"""Counting in shared memory: every process's own region, and none of a predecessor's counts lost."""

import os

import pytest

from cloudconsole.server.metrics import layout
from cloudconsole.server.metrics.shared_memory import SharedMetrics, WorkerMetrics
from cloudconsole.spec.errors import ApiError

MILLISECOND = 1_000_000


@pytest.fixture
def board() -> SharedMetrics:
    return SharedMetrics(3)


def durations_of(board: SharedMetrics, call: str, worker: int = 0) -> list[int]:
    """The buckets of a call's histogram, and then its sum."""
    start = layout.OPERATION_OFFSETS[call] + len(layout.OUTCOMES)
    return board.read()[worker][start : start + layout.HISTOGRAM_CELLS]


def count_of(board: SharedMetrics, call: str, outcome: str) -> int:
    place = layout.OPERATION_OFFSETS[call] + layout.OUTCOME_OFFSETS[outcome]
    return sum(cells[place] for cells in board.read())


def test_every_error_is_an_outcome() -> None:
    assert set(layout.OUTCOMES) == {layout.OK, layout.GONE, *(kind.error for kind in ApiError.__subclasses__())}
    assert len(set(layout.OUTCOMES)) == len(layout.OUTCOMES)


def test_no_two_figures_share_a_cell() -> None:
    calls = [
        layout.OPERATION_OFFSETS[call] + place
        for call in layout.OPERATIONS
        for place in (*layout.OUTCOME_OFFSETS.values(), *range(len(layout.OUTCOMES), layout.OPERATION_CELLS))
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
    cells = [*calls, *histograms, *counters, *layout.GAUGES]
    assert sorted(cells) == list(range(len(cells)))
    assert len(cells) <= layout.WORKER_CELLS


def test_bounds_go_from_50_microseconds_to_10_seconds() -> None:
    assert layout.SECONDS_BOUNDS[0] == 50_000
    assert layout.SECONDS_BOUNDS[-1] == 10_000 * MILLISECOND
    assert list(layout.SECONDS_BOUNDS) == sorted(set(layout.SECONDS_BOUNDS))


@pytest.mark.parametrize(
    ("nanoseconds", "bucket"),
    [(0, 0), (50_000, 0), (50_001, 1), (MILLISECOND, 4), (10_000 * MILLISECOND, 16), (10_000 * MILLISECOND + 1, 17)],
)
def test_a_duration_falls_into_the_first_bucket_that_holds_it(
    board: SharedMetrics, nanoseconds: int, bucket: int
) -> None:
    board.worker(0).count_request("GetNews", "ok", nanoseconds)
    *buckets, total = durations_of(board, "GetNews")
    assert buckets == [int(number == bucket) for number in range(len(layout.SECONDS_BOUNDS) + 1)]
    assert total == nanoseconds


def test_connections_are_accepted_once_every_worker_accepts(board: SharedMetrics) -> None:
    seen = []
    for worker in range(3):
        seen.append(board.is_accepting())
        board.worker(worker).set(layout.ACCEPTING, 1)
    assert (seen, board.is_accepting()) == ([False] * 3, True)
    board.worker(1).clear_gauges()
    assert not board.is_accepting()


def test_each_worker_counts_in_its_own_region(board: SharedMetrics) -> None:
    for worker in range(3):
        for _ in range(worker + 1):
            board.worker(worker).count_request("login", "csrf_failed", 1)
    place = layout.OPERATION_OFFSETS["login"] + layout.OUTCOME_OFFSETS["csrf_failed"]
    assert [cells[place] for cells in board.read()] == [1, 2, 3]


def in_a_process_of_its_own(meter: WorkerMetrics, times: int) -> None:
    process = os.fork()
    if not process:
        meter.begin()
        for _ in range(times):
            meter.count_request("GetFlavors", "ok", MILLISECOND)
        meter.set(layout.IN_FLIGHT, 7)
        os._exit(0)
    assert os.waitpid(process, 0) == (process, 0)


def test_what_other_processes_count_is_seen_here(board: SharedMetrics) -> None:
    for worker in range(3):
        in_a_process_of_its_own(board.worker(worker), 1000)
    assert count_of(board, "GetFlavors", "ok") == 3000
    assert durations_of(board, "GetFlavors", 2)[-1] == 1000 * MILLISECOND


def test_a_successor_goes_on_counting_but_has_values_of_its_own(board: SharedMetrics) -> None:
    in_a_process_of_its_own(board.worker(1), 1000)
    assert board.read()[1][layout.IN_FLIGHT] == 7
    board.worker(1).begin()
    assert board.read()[1][layout.IN_FLIGHT] == 0
    assert board.read()[1][layout.PROCESS] == os.getpid()
    assert count_of(board, "GetFlavors", "ok") == 1000
