"""The pulse of a worker: readings, and the lag of its event loop."""

import asyncio
import time

import pytest

from cloudconsole.server.metrics import layout, observers
from cloudconsole.server.metrics.observers import LoopLagMonitor
from cloudconsole.server.metrics.shared_memory import SharedMetrics


@pytest.fixture
def board(monkeypatch: pytest.MonkeyPatch) -> SharedMetrics:
    monkeypatch.setattr(observers, "INTERVAL_SECONDS", 0.01)
    return SharedMetrics(1)


def lags(board: SharedMetrics) -> list[int]:
    start = layout.LOOP_LAG
    return board.read()[0][start : start + len(layout.SECONDS_BOUNDS) + 1]


def test_readings_are_taken_again_and_again(board: SharedMetrics) -> None:
    async def main() -> None:
        enough = asyncio.Event()
        taken: list[int] = []

        def take() -> None:
            taken.append(1)
            if len(taken) == 3:
                enough.set()

        LoopLagMonitor(board.worker(0), take).start()
        async with asyncio.timeout(60):
            await enough.wait()

    asyncio.run(main())
    assert sum(lags(board)) >= 3


def test_a_loop_that_was_held_up_is_seen(board: SharedMetrics) -> None:
    async def main() -> None:
        beaten = asyncio.Event()

        def look() -> None:
            # Only the first beat was held up; how many more there are before the loop ends is left to chance.
            if not beaten.is_set():
                seen.append((board.read()[0][layout.MAX_LAG], lags(board)))
                beaten.set()

        LoopLagMonitor(board.worker(0), look).start()
        # The loop is held up from the beat's moment on, for more than a quarter of a second.
        time.sleep(0.3)  # noqa: ASYNC251
        async with asyncio.timeout(60):
            await beaten.wait()

    seen: list[tuple[int, list[int]]] = []
    asyncio.run(main())
    ((longest, counts),) = seen
    assert longest >= 250_000_000
    quarter = layout.SECONDS_BOUNDS.index(250_000_000)
    assert (sum(counts[: quarter + 1]), sum(counts)) == (0, 1)


def test_the_longest_lag_is_forgotten_after_a_while(board: SharedMetrics, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(observers, "REMEMBERED_INTERVALS", 3)
    watched = LoopLagMonitor(board.worker(0), lambda: None)
    seen = []
    for lag in (1, 9, 2, 2, 2, 2, 3, 3, 3):
        watched._record_lag(lag)
        seen.append(board.read()[0][layout.MAX_LAG])
    assert seen == [1, 9, 9, 9, 9, 2, 3, 3, 3]
