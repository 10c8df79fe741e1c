"""Who gets a place, in which order, and who is told to come back; the loop is real, nobody reads anything."""

import asyncio
from collections.abc import Awaitable, Callable
from functools import wraps

import pytest

from cloudconsole.spec.errors import Unavailable
from cloudconsole.store.postgres import pool
from cloudconsole.store.postgres.pool import MAX_WAITING_PER_SLOT, WaitQueue

NUMBER = 2
FEW = NUMBER * MAX_WAITING_PER_SLOT
BURST = 3 * FEW
PATIENCE = 60.0


class Readers:
    """They come one by one, and hold their places until they are sent away."""

    def __init__(self) -> None:
        self.places = WaitQueue(NUMBER)
        self.reading: list[int] = []
        self.told: list[int] = []
        self.gave_up: list[int] = []
        self.tasks: list[asyncio.Task[None]] = []
        self._ends: dict[int, asyncio.Event] = {}

    async def come(self, count: int, seconds: float = PATIENCE) -> None:
        first = len(self.tasks)
        self.tasks += [asyncio.create_task(self._read(number, seconds)) for number in range(first, first + count)]
        await self._settle()

    async def end(self, count: int = 1) -> list[int]:
        """So many reads, one after the other; gives who began instead."""
        before = set(self.reading)
        for _ in range(count):
            self._ends[self.reading.pop(0)].set()
            await self._settle()
        return [number for number in self.reading if number not in before]

    async def leave(self) -> None:
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)

    async def _read(self, number: int, seconds: float) -> None:
        self._ends[number] = asyncio.Event()
        try:
            async with self.places.slot(asyncio.get_running_loop().time() + seconds):
                self.reading.append(number)
                await self._ends[number].wait()
        except Unavailable as refusal:
            (self.gave_up if refusal.closes else self.told).append(number)

    async def _settle(self) -> None:
        for _ in range(5):
            await asyncio.sleep(0)


Scene = Callable[[Readers], Awaitable[None]]


@pytest.fixture(autouse=True)
def _small_bursts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "BURST", BURST)


def scene(played: Scene) -> Callable[[], None]:
    @wraps(played)
    def test() -> None:
        async def play() -> None:
            readers = Readers()
            await played(readers)
            await readers.leave()

        asyncio.run(play())

    del test.__wrapped__
    return test


@scene
async def test_so_many_read_at_once(readers: Readers) -> None:
    await readers.come(NUMBER + 1)
    assert readers.reading == list(range(NUMBER))


@scene
async def test_a_burst_is_served_in_turn(readers: Readers) -> None:
    await readers.come(NUMBER + BURST)
    assert await readers.end(BURST) == [NUMBER + BURST - 2, NUMBER + BURST - 1]
    assert (readers.told, readers.gave_up) == ([], [])


@scene
async def test_in_a_crowd_the_last_few_are_served(readers: Readers) -> None:
    await readers.come(NUMBER + BURST + 1)
    last = len(readers.tasks) - 1
    assert await readers.end() == [last - FEW + 1]
    await readers.come(1)
    assert await readers.end() == [last - FEW + 2]


@scene
async def test_in_a_crowd_one_is_told_to_come_back_for_each_that_was_served(readers: Readers) -> None:
    await readers.come(NUMBER + BURST + 1)
    assert readers.told == []
    await readers.end(3)
    assert readers.told == [NUMBER, NUMBER + 1, NUMBER + 2]


@scene
async def test_in_a_crowd_newcomers_take_the_places_of_others_in_line(readers: Readers) -> None:
    await readers.come(NUMBER + BURST + 1)
    await readers.come(FEW)
    assert await readers.end() == [len(readers.tasks) - FEW]


@scene
async def test_once_nobody_reads_all_who_were_to_leave_are_told(readers: Readers) -> None:
    await readers.come(NUMBER + BURST + 1)
    await readers.end(FEW + NUMBER)
    assert readers.reading == []
    assert sorted(readers.told) == list(range(NUMBER, NUMBER + BURST + 1 - FEW))


@scene
async def test_after_a_crowd_a_burst_is_served_again(readers: Readers) -> None:
    await readers.come(NUMBER + BURST + 1)
    await readers.end(FEW + NUMBER)
    told = len(readers.told)
    await readers.come(NUMBER + BURST)
    await readers.end(NUMBER + BURST)
    assert (len(readers.told), readers.reading) == (told, [])


@scene
async def test_a_crowd_is_gone_when_nobody_waits_though_someone_reads(readers: Readers) -> None:
    await readers.come(NUMBER + BURST + 1)
    for _ in range(BURST + 1 - FEW):
        await readers.end()
        await readers.come(1)
    await readers.end(FEW + 1)
    assert len(readers.reading) == NUMBER - 1
    first_in_line = len(readers.tasks) + 1
    await readers.come(1 + FEW + 1)
    assert await readers.end() == [first_in_line]


@scene
async def test_a_crowd_stays_while_someone_is_to_be_told(readers: Readers) -> None:
    await readers.come(NUMBER + BURST + 1)
    await readers.end(FEW + 1)
    first_in_line = len(readers.tasks) + NUMBER - 1
    await readers.come(NUMBER - 1 + FEW + 1)
    assert await readers.end() == [first_in_line + 1]


@scene
async def test_who_has_no_place_in_time_gives_up(readers: Readers) -> None:
    await readers.come(NUMBER)
    await readers.come(1, seconds=0)
    await asyncio.wait(readers.tasks[NUMBER:])
    assert readers.gave_up == [NUMBER]
    await readers.come(1)
    assert await readers.end() == [NUMBER + 1]


@scene
async def test_in_a_crowd_too_nobody_waits_longer_than_that(readers: Readers) -> None:
    await readers.come(NUMBER)
    await readers.come(BURST + 1, seconds=0)
    await asyncio.wait(readers.tasks[NUMBER:])
    assert readers.gave_up == list(range(NUMBER, NUMBER + BURST + 1))


@scene
async def test_who_goes_away_is_passed_over(readers: Readers) -> None:
    await readers.come(NUMBER + 2)
    readers.tasks[NUMBER].cancel()
    assert await readers.end() == [NUMBER + 1]


@scene
async def test_a_place_that_came_in_the_moment_of_going_away_is_the_next_ones(readers: Readers) -> None:
    await readers.come(NUMBER - 1)
    async with readers.places.slot(asyncio.get_running_loop().time() + PATIENCE):
        await readers.come(2)
    goes, stays = readers.tasks[NUMBER - 1 :]
    goes.cancel()
    await asyncio.wait([goes])
    await readers.come(0)
    assert readers.reading[-1] == readers.tasks.index(stays)
