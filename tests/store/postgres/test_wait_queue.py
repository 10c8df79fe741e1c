"""The wait queue of the read pool: order, overload and timeouts, on a real event loop without a database."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from cloudconsole.spec.errors import Unavailable
from cloudconsole.store.postgres import pool
from cloudconsole.store.postgres.pool import MAX_WAITING_PER_SLOT, WaitQueue

SLOTS = 2
MAX_WAITING = SLOTS * MAX_WAITING_PER_SLOT
BURST = 3 * MAX_WAITING
TIMEOUT = 3600.0


class Readers:
    """Readers that start one by one and hold their slots until they are finished."""

    def __init__(self) -> None:
        self.queue = WaitQueue(SLOTS)
        self.reading: list[int] = []
        self.rejected: list[int] = []
        self.timed_out: list[int] = []
        self.tasks: list[asyncio.Task[None]] = []
        self._finished: dict[int, asyncio.Event] = {}

    async def start(self, count: int, seconds: float = TIMEOUT) -> None:
        first = len(self.tasks)
        self.tasks += [asyncio.create_task(self._read(number, seconds)) for number in range(first, first + count)]
        await self._run_pending()

    async def finish(self, count: int = 1) -> list[int]:
        """Finish this many reads, one after the other; return the readers that started instead."""
        before = set(self.reading)
        for _ in range(count):
            self._finished[self.reading.pop(0)].set()
            await self._run_pending()
        return [number for number in self.reading if number not in before]

    async def cancel_all(self) -> None:
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)

    async def _read(self, number: int, seconds: float) -> None:
        self._finished[number] = asyncio.Event()
        try:
            async with self.queue.slot(asyncio.get_running_loop().time() + seconds):
                self.reading.append(number)
                await self._finished[number].wait()
        except Unavailable as error:
            (self.timed_out if error.closes else self.rejected).append(number)

    async def _run_pending(self) -> None:
        for _ in range(5):
            await asyncio.sleep(0)


AsyncTest = Callable[[Readers], Awaitable[None]]


@pytest.fixture(autouse=True)
def _small_bursts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "BURST", BURST)


def async_test(function: AsyncTest) -> Callable[[], None]:
    def test() -> None:
        async def run() -> None:
            readers = Readers()
            await function(readers)
            await readers.cancel_all()

        asyncio.run(run())

    return test


@async_test
async def test_concurrent_reads_are_limited_to_the_slots(readers: Readers) -> None:
    await readers.start(SLOTS + 1)
    assert readers.reading == list(range(SLOTS))


@async_test
async def test_burst_is_served_in_order(readers: Readers) -> None:
    await readers.start(SLOTS + BURST)
    assert await readers.finish(BURST) == [SLOTS + BURST - 2, SLOTS + BURST - 1]
    assert (readers.rejected, readers.timed_out) == ([], [])


@async_test
async def test_overload_serves_the_newest_reads_and_rejects_one_for_each(readers: Readers) -> None:
    await readers.start(SLOTS + BURST + 1)
    last = len(readers.tasks) - 1
    assert readers.rejected == []
    assert await readers.finish() == [last - MAX_WAITING + 1]
    await readers.start(1)
    assert await readers.finish() == [last - MAX_WAITING + 2]
    await readers.finish()
    assert readers.rejected == [SLOTS, SLOTS + 1, SLOTS + 2]


@async_test
async def test_new_reads_displace_waiting_ones_during_overload(readers: Readers) -> None:
    await readers.start(SLOTS + BURST + 1)
    await readers.start(MAX_WAITING)
    assert await readers.finish() == [len(readers.tasks) - MAX_WAITING]


@async_test
async def test_idle_queue_has_rejected_all_displaced_reads_and_serves_a_burst(readers: Readers) -> None:
    await readers.start(SLOTS + BURST + 1)
    await readers.finish(MAX_WAITING + SLOTS)
    rejected = list(range(SLOTS, SLOTS + BURST + 1 - MAX_WAITING))
    assert (readers.reading, sorted(readers.rejected)) == ([], rejected)
    await readers.start(SLOTS + BURST)
    await readers.finish(SLOTS + BURST)
    assert (readers.reading, sorted(readers.rejected)) == ([], rejected)


@async_test
async def test_overload_ends_when_no_read_waits(readers: Readers) -> None:
    await readers.start(SLOTS + BURST + 1)
    for _ in range(BURST + 1 - MAX_WAITING):
        await readers.finish()
        await readers.start(1)
    await readers.finish(MAX_WAITING + 1)
    assert len(readers.reading) == SLOTS - 1
    first_waiting = len(readers.tasks) + 1
    await readers.start(1 + MAX_WAITING + 1)
    assert await readers.finish() == [first_waiting]


@async_test
async def test_overload_lasts_while_rejections_are_pending(readers: Readers) -> None:
    await readers.start(SLOTS + BURST + 1)
    await readers.finish(MAX_WAITING + 1)
    first_waiting = len(readers.tasks) + SLOTS - 1
    await readers.start(SLOTS - 1 + MAX_WAITING + 1)
    assert await readers.finish() == [first_waiting + 1]


@async_test
async def test_waiting_read_times_out(readers: Readers) -> None:
    await readers.start(SLOTS)
    await readers.start(1, seconds=0)
    await asyncio.wait(readers.tasks[SLOTS:])
    assert readers.timed_out == [SLOTS]
    await readers.start(1)
    assert await readers.finish() == [SLOTS + 1]


@async_test
async def test_waiting_reads_time_out_during_overload(readers: Readers) -> None:
    await readers.start(SLOTS)
    await readers.start(BURST + 1, seconds=0)
    await asyncio.wait(readers.tasks[SLOTS:])
    assert readers.timed_out == list(range(SLOTS, SLOTS + BURST + 1))


@async_test
async def test_cancelled_read_is_skipped(readers: Readers) -> None:
    await readers.start(SLOTS + 2)
    readers.tasks[SLOTS].cancel()
    assert await readers.finish() == [SLOTS + 1]


@async_test
async def test_slot_granted_to_a_cancelled_read_is_passed_on(readers: Readers) -> None:
    await readers.start(SLOTS - 1)
    async with readers.queue.slot(asyncio.get_running_loop().time() + TIMEOUT):
        await readers.start(2)
    cancelled, waiting = readers.tasks[SLOTS - 1 :]
    cancelled.cancel()
    await asyncio.wait([cancelled])
    await readers.start(0)
    assert readers.reading[-1] == readers.tasks.index(waiting)
