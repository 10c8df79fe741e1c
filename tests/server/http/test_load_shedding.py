"""When overload begins and ends, and what is rejected; the clocks are fake, the loop is real."""

import asyncio
from collections.abc import Callable
from functools import partial

import pytest

from cloudconsole.server.http import load_shedding
from cloudconsole.server.http.load_shedding import LoadShedder
from tests.harness import async_test


class Worker:
    """A worker's loop iterations, driven by hand."""

    def __init__(self) -> None:
        self.seconds = self.work = 0.0
        self.load_shedder = LoadShedder(lambda: self.seconds, lambda: self.work)

    async def iterate(self, *, requests: int, work: float, pause: float = 0.0) -> int:
        """Run one iteration in which each served request does its share of the work; return the number served."""
        self.load_shedder.start_iteration(requests)
        served = 0
        for _ in range(requests):
            if not self.load_shedder.active or not self.load_shedder.should_reject():
                served += 1
                self.pass_time(work / requests)
        self.pass_time(pause, of_work=False)
        return served

    async def be_idle(self, seconds: float) -> None:
        """Wait until no iteration is scheduled."""
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        self.pass_time(seconds, of_work=False)

    async def become_overloaded(self) -> None:
        while not self.load_shedder.active:
            await self.iterate(requests=500, work=0.05)

    def pass_time(self, seconds: float, *, of_work: bool = True) -> None:
        self.seconds += seconds
        if of_work:
            self.work += seconds


class FakeConnection:
    is_paused = was_late = False

    def update_reading(self) -> None:
        """Do nothing: nobody sends."""


async def wait_until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(120):
        while not condition():  # noqa: ASYNC110 - there is no event to wait for
            await asyncio.sleep(0)


@pytest.fixture
def worker() -> Worker:
    return Worker()


@async_test
async def test_one_burst_is_no_overload_however_long_it_takes(worker: Worker) -> None:
    assert await worker.iterate(requests=200, work=0.2) == 200
    assert await worker.iterate(requests=300, work=0.3) == 300
    await worker.iterate(requests=1, work=0.0001)
    assert not worker.load_shedder.active


@async_test
async def test_successive_long_iterations_beyond_a_burst_are_overload(worker: Worker) -> None:
    assert await worker.iterate(requests=250, work=0.05) == 250
    assert await worker.iterate(requests=250, work=0.05) == 250
    assert await worker.iterate(requests=250, work=0.05) < 250
    assert worker.load_shedder.active


@pytest.mark.parametrize(
    "iterations",
    [
        pytest.param([(500, load_shedding.LONG_ITERATION / 2, 0.0)], id="short iterations"),
        pytest.param([(load_shedding.MIN_REQUESTS - 1, 0.5, 0.0)], id="few requests"),
        pytest.param([(100, 0.019, 0.5)], id="CPU time of other processes"),
        pytest.param([(500, 0.05, 0.0), (1, 0.0001, 0.1)], id="bursts with pauses between them"),
    ],
)
@async_test
async def test_load_within_the_limits_is_no_overload(
    worker: Worker, iterations: list[tuple[int, float, float]]
) -> None:
    for requests, work, pause in iterations * 50:
        await worker.iterate(requests=requests, work=work, pause=pause)
        assert not worker.load_shedder.active


@async_test
async def test_persistent_moderate_load_becomes_overload(worker: Worker) -> None:
    iterations = 0
    while not worker.load_shedder.active:
        await worker.iterate(requests=2 * load_shedding.MIN_REQUESTS, work=0.05)
        iterations += 1
    assert iterations > 2


@async_test
async def test_under_overload_each_iteration_serves_within_its_own_budget(worker: Worker) -> None:
    await worker.become_overloaded()
    for _ in range(2):
        served = await worker.iterate(requests=1000, work=0.01)
        assert abs(served - load_shedding.BUDGET / 0.00001) <= 1


@async_test
async def test_under_overload_small_groups_are_served_after_idle_time(worker: Worker) -> None:
    await worker.become_overloaded()
    await worker.iterate(requests=1000, work=0.1)
    for _ in range(20):
        await worker.iterate(requests=1, work=0.0001, pause=0.008)
        assert await worker.iterate(requests=80, work=0.008) == 80
    assert not worker.load_shedder.active


@async_test
async def test_idle_time_extends_the_budget_only_up_to_a_limit(worker: Worker) -> None:
    await worker.become_overloaded()
    await worker.iterate(requests=1000, work=0.1)
    await worker.iterate(requests=1, work=0.0001, pause=load_shedding.COOLDOWN / 2)
    served = await worker.iterate(requests=1000, work=0.1)
    assert abs(served - (load_shedding.BUDGET + load_shedding.LATE) / 0.0001) <= 1


@async_test
async def test_each_iteration_serves_a_minimum_of_requests(worker: Worker) -> None:
    await worker.become_overloaded()
    assert await worker.iterate(requests=100, work=10) == load_shedding.MIN_SERVED


@async_test
async def test_shedding_continues_while_connections_are_paused(worker: Worker) -> None:
    await worker.become_overloaded()
    for _ in range(200):
        worker.load_shedder.pause(FakeConnection())
        await worker.iterate(requests=100, work=0.01)
        worker.pass_time(0.01)
    assert worker.load_shedder.active


@async_test
async def test_shedding_stops_after_the_cooldown(worker: Worker) -> None:
    await worker.become_overloaded()
    await worker.iterate(requests=1000, work=0.1)
    begun = worker.seconds
    while worker.load_shedder.active:
        await worker.iterate(requests=10, work=0.001)
    assert 0.9 < (worker.seconds - begun) / load_shedding.COOLDOWN < 1.1


@async_test
async def test_shedding_continues_while_the_budget_is_exceeded(worker: Worker) -> None:
    await worker.become_overloaded()
    for _ in range(100):
        await worker.iterate(requests=1000, work=0.1)
        await worker.iterate(requests=1, work=0.0001, pause=load_shedding.COOLDOWN / 2)
    assert worker.load_shedder.active


@async_test
async def test_shedding_stops_after_an_idle_period(worker: Worker) -> None:
    await worker.become_overloaded()
    await worker.iterate(requests=1000, work=0.1)
    await worker.be_idle(2 * load_shedding.COOLDOWN)
    assert await worker.iterate(requests=500, work=0.05) == 500


@async_test
async def test_paused_connections_are_resumed_in_order(worker: Worker) -> None:
    connections = [FakeConnection() for _ in range(load_shedding.RESUMED_PER_TICK + 1)]
    for connection in connections:
        worker.load_shedder.pause(connection)
    assert all(connection.is_paused for connection in connections)
    await wait_until(lambda: not connections[0].is_paused)
    await wait_until(lambda: not connections[-1].is_paused)


@async_test
async def test_each_tick_resumes_more_until_the_budget_is_exceeded(worker: Worker) -> None:
    await worker.become_overloaded()
    await worker.iterate(requests=1000, work=0.1)
    connections = [FakeConnection() for _ in range(100)]
    for connection in connections:
        worker.load_shedder.pause(connection)

    def resumed() -> int:
        return sum(not connection.is_paused for connection in connections)

    for expected in (1, 3, 6):
        await wait_until(partial(lambda ticks: resumed() == ticks * load_shedding.RESUMED_PER_TICK, expected))
    await worker.iterate(requests=1000, work=0.1)
    before = resumed()
    await wait_until(lambda: resumed() > before)
    assert resumed() - before == load_shedding.RESUMED_PER_TICK


@async_test
async def test_a_connection_paused_for_long_is_late_for_one_tick(worker: Worker) -> None:
    brief, connection = FakeConnection(), FakeConnection()
    worker.load_shedder.pause(connection)
    worker.pass_time(2 * load_shedding.LATE)
    worker.load_shedder.pause(brief)
    await wait_until(lambda: not connection.is_paused and not brief.is_paused)
    assert (connection.was_late, brief.was_late) == (True, False)
    await wait_until(lambda: not connection.was_late)


@async_test
async def test_shedding_outlasts_the_last_late_requests(worker: Worker) -> None:
    await worker.become_overloaded()
    connection = FakeConnection()
    worker.load_shedder.pause(connection)
    worker.pass_time(2 * load_shedding.COOLDOWN, of_work=False)
    await wait_until(lambda: not connection.is_paused)
    await worker.iterate(requests=1, work=0.0001)
    was_late, was_active = connection.was_late, worker.load_shedder.active
    await wait_until(lambda: not connection.was_late)
    await worker.iterate(requests=1, work=0.0001)
    assert (was_late, was_active, worker.load_shedder.active) == (True, True, False)
