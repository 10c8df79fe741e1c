"""When overload begins and ends, and what is rejected; the clocks are fake, the loop is real."""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial, wraps

from cloudconsole.server.http import load_shedding
from cloudconsole.server.http.load_shedding import LoadShedder

Scene = Callable[["Worker"], Awaitable[None]]


class Worker:
    """A worker's loop iterations, driven by hand."""

    def __init__(self) -> None:
        self.seconds = self.work = 0.0
        self.load_shedder = LoadShedder(lambda: self.seconds, lambda: self.work)

    async def go_round(self, *, calls: int, work: float, pause: float = 0.0) -> int:
        """Run one iteration in which each served request does its share of the work; return the number served."""
        for _ in range(calls):
            self.load_shedder.arrived += 1
            if self.load_shedder.arrived >= load_shedding.MIN_REQUESTS or self.load_shedder.active:
                self.load_shedder.measure()
        await asyncio.sleep(0)
        served = 0
        for _ in range(calls):
            if not self.load_shedder.active or not self.load_shedder.should_reject(is_late=False):
                served += 1
                self.pass_time(work / calls)
                self.load_shedder.arrived = 0
        self.pass_time(pause, of_work=False)
        return served

    async def be_idle(self, seconds: float) -> None:
        """Wait until no iteration is scheduled."""
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        self.pass_time(seconds, of_work=False)

    async def be_crowded(self) -> None:
        while not self.load_shedder.active:
            await self.go_round(calls=500, work=0.05)

    def pass_time(self, seconds: float, *, of_work: bool = True) -> None:
        self.seconds += seconds
        if of_work:
            self.work += seconds


class Line:
    """A connection."""

    is_paused = was_late = False

    def pause(self) -> None:
        self.is_paused = True

    def resume(self) -> None:
        self.is_paused = False


async def until(is_so: Callable[[], bool]) -> None:
    async with asyncio.timeout(20):
        while not is_so():  # noqa: ASYNC110 - what changes it knows nothing of events
            await asyncio.sleep(0)


def scene(played: Scene) -> Callable[[], None]:
    """A test that runs in a loop, with a worker of its own."""

    @wraps(played)
    def test() -> None:
        async def play() -> None:
            await played(Worker())

        asyncio.run(play())

    del test.__wrapped__
    return test


@scene
async def test_one_burst_is_no_crowd_however_long_it_takes(worker: Worker) -> None:
    assert await worker.go_round(calls=200, work=0.2) == 200
    assert await worker.go_round(calls=300, work=0.3) == 300
    await worker.go_round(calls=1, work=0.0001)
    assert not worker.load_shedder.active


@scene
async def test_bursts_with_time_between_them_are_no_crowd(worker: Worker) -> None:
    for _ in range(50):
        await worker.go_round(calls=500, work=0.05)
        await worker.go_round(calls=1, work=0.0001, pause=0.1)
        assert not worker.load_shedder.active


@scene
async def test_one_long_round_after_another_is_a_crowd_from_the_first_that_is_more_than_a_burst(worker: Worker) -> None:
    assert await worker.go_round(calls=250, work=0.05) == 250
    assert await worker.go_round(calls=250, work=0.05) == 250
    assert await worker.go_round(calls=250, work=0.05) < 250
    assert worker.load_shedder.active


@scene
async def test_a_short_round_is_a_pause(worker: Worker) -> None:
    for _ in range(50):
        await worker.go_round(calls=500, work=load_shedding.LONG_ITERATION / 2)
    assert not worker.load_shedder.active


@scene
async def test_a_small_crowd_is_one_when_it_stays(worker: Worker) -> None:
    rounds = 0
    while not worker.load_shedder.active:
        await worker.go_round(calls=2 * load_shedding.MIN_REQUESTS, work=0.05)
        rounds += 1
    assert rounds > 2


@scene
async def test_few_calls_are_no_crowd_however_long_they_take(worker: Worker) -> None:
    for _ in range(50):
        await worker.go_round(calls=load_shedding.MIN_REQUESTS - 1, work=0.5)
    assert not worker.load_shedder.active


@scene
async def test_a_processor_that_others_have_is_no_crowd(worker: Worker) -> None:
    for _ in range(50):
        await worker.go_round(calls=100, work=0.019, pause=0.5)
    assert not worker.load_shedder.active


@scene
async def test_in_a_crowd_a_round_serves_until_its_budget_is_used_up(worker: Worker) -> None:
    await worker.be_crowded()
    served = await worker.go_round(calls=1000, work=0.01)
    assert abs(served - load_shedding.BUDGET / 0.00001) <= 1


@scene
async def test_in_a_crowd_calls_that_come_in_bunches_are_served_if_there_is_time_for_all(worker: Worker) -> None:
    await worker.be_crowded()
    await worker.go_round(calls=1000, work=0.1)
    for _ in range(20):
        await worker.go_round(calls=1, work=0.0001, pause=0.008)
        assert await worker.go_round(calls=80, work=0.008) == 80
    assert not worker.load_shedder.active


@scene
async def test_a_long_pause_makes_a_round_no_longer_than_calls_may_be_late(worker: Worker) -> None:
    await worker.be_crowded()
    await worker.go_round(calls=1000, work=0.1)
    await worker.go_round(calls=1, work=0.0001, pause=load_shedding.COOLDOWN / 2)
    served = await worker.go_round(calls=1000, work=0.1)
    assert abs(served - (load_shedding.BUDGET + load_shedding.LATE) / 0.0001) <= 1


@scene
async def test_some_calls_of_a_round_are_served_however_long_they_take(worker: Worker) -> None:
    await worker.be_crowded()
    assert await worker.go_round(calls=100, work=10) == load_shedding.MIN_SERVED


@scene
async def test_each_round_has_its_own_budget(worker: Worker) -> None:
    await worker.be_crowded()
    first = await worker.go_round(calls=1000, work=0.1)
    assert await worker.go_round(calls=1000, work=0.1) == first


@scene
async def test_what_came_late_is_turned_away_whatever_time_is_left(worker: Worker) -> None:
    await worker.be_crowded()
    await worker.go_round(calls=1, work=0.0001)
    assert worker.load_shedder.should_reject(is_late=True)
    assert not worker.load_shedder.should_reject(is_late=False)


@scene
async def test_a_crowd_stays_while_some_wait_to_be_heard_again(worker: Worker) -> None:
    await worker.be_crowded()
    for _ in range(200):
        worker.load_shedder.pause(Line())
        await worker.go_round(calls=100, work=0.01)
        worker.pass_time(0.01)
    assert worker.load_shedder.active


@scene
async def test_a_crowd_is_gone_when_nobody_waits_to_be_heard_again(worker: Worker) -> None:
    await worker.be_crowded()
    await worker.go_round(calls=1000, work=0.1)
    begun = worker.seconds
    while worker.load_shedder.active:
        await worker.go_round(calls=10, work=0.001)
    assert 0.9 < (worker.seconds - begun) / load_shedding.COOLDOWN < 1.1


@scene
async def test_a_crowd_stays_while_rounds_are_too_short_for_all(worker: Worker) -> None:
    await worker.be_crowded()
    for _ in range(100):
        await worker.go_round(calls=1000, work=0.1)
        await worker.go_round(calls=1, work=0.0001, pause=load_shedding.COOLDOWN / 2)
    assert worker.load_shedder.active


@scene
async def test_a_crowd_that_left_at_once_is_forgotten(worker: Worker) -> None:
    await worker.be_crowded()
    await worker.go_round(calls=1000, work=0.1)
    await worker.be_idle(2 * load_shedding.COOLDOWN)
    assert await worker.go_round(calls=500, work=0.05) == 500


@scene
async def test_who_was_turned_away_is_read_from_again_when_its_turn_comes(worker: Worker) -> None:
    lines = [Line() for _ in range(load_shedding.RESUMED_PER_TICK + 1)]
    for line in lines:
        worker.load_shedder.pause(line)
    assert all(line.is_paused for line in lines)
    await until(lambda: not lines[0].is_paused)
    await until(lambda: not lines[-1].is_paused)


@scene
async def test_more_are_heard_with_every_tick_until_a_round_is_too_short_again(worker: Worker) -> None:
    await worker.be_crowded()
    await worker.go_round(calls=1000, work=0.1)
    lines = [Line() for _ in range(100)]
    for line in lines:
        worker.load_shedder.pause(line)

    def heard() -> int:
        return sum(not line.is_paused for line in lines)

    for expected in (1, 3, 6):
        await until(partial(lambda ticks: heard() == ticks * load_shedding.RESUMED_PER_TICK, expected))
    await worker.go_round(calls=1000, work=0.1)
    before = heard()
    await until(lambda: heard() > before)
    assert heard() - before == load_shedding.RESUMED_PER_TICK


@scene
async def test_what_was_sent_to_one_that_rested_long_counts_as_late_for_one_tick(worker: Worker) -> None:
    line = Line()
    worker.load_shedder.pause(line)
    worker.pass_time(2 * load_shedding.LATE)
    await until(lambda: not line.is_paused)
    assert line.was_late
    await until(lambda: not line.was_late)


@scene
async def test_the_last_who_come_late_are_turned_away_before_the_crowd_is_gone(worker: Worker) -> None:
    await worker.be_crowded()
    line = Line()
    worker.load_shedder.pause(line)
    worker.pass_time(2 * load_shedding.COOLDOWN, of_work=False)
    await until(lambda: not line.is_paused)
    await worker.go_round(calls=1, work=0.0001)
    was_late, was_on = line.was_late, worker.load_shedder.active
    await until(lambda: not line.was_late)
    await worker.go_round(calls=1, work=0.0001)
    assert (was_late, was_on, worker.load_shedder.active) == (True, True, False)
    # It was read before, and its turn comes now.
    assert worker.load_shedder.should_reject(is_late=True)


@scene
async def test_who_rested_only_a_moment_is_not_late(worker: Worker) -> None:
    line = Line()
    worker.load_shedder.pause(line)
    await until(lambda: not line.is_paused)
    assert not line.was_late
