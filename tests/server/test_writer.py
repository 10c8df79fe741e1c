"""The write queue: bounded in length and in time."""

import asyncio
import threading
import time
from collections.abc import Iterator

import pytest

from cloudconsole.server.metrics.layout import SECONDS_BOUNDS, STORE_WRITES
from cloudconsole.server.metrics.shared_memory import SharedMetrics, standalone_metrics
from cloudconsole.server.writer import MAX_WAITING, Writer
from cloudconsole.spec.errors import Unavailable
from cloudconsole.store.base import write_deadline


class BlockedWork:
    """Work that blocks until it may end."""

    def __init__(self) -> None:
        self.has_begun, self.may_end = threading.Event(), threading.Event()
        self.runs = 0

    def __call__(self) -> bool:
        self.runs += 1
        self.has_begun.set()
        return self.may_end.wait()

    async def wait_until_begun(self) -> None:
        await asyncio.to_thread(self.has_begun.wait)


@pytest.fixture
def blocked_work() -> Iterator[BlockedWork]:
    work = BlockedWork()
    yield work
    work.may_end.set()


@pytest.fixture
def writer(blocked_work: BlockedWork) -> Iterator[Writer]:
    writer = Writer("writing", standalone_metrics())
    yield writer
    blocked_work.may_end.set()
    writer.close()


def test_writes_beyond_the_queue_limit_are_rejected(writer: Writer, blocked_work: BlockedWork) -> None:
    async def flood() -> list[object]:
        waiting = [asyncio.ensure_future(writer.write(blocked_work))]
        await blocked_work.wait_until_begun()
        waiting += [asyncio.ensure_future(writer.write(blocked_work)) for _ in range(MAX_WAITING)]
        await asyncio.sleep(0)
        with pytest.raises(Unavailable):
            await writer.write(blocked_work)
        blocked_work.may_end.set()
        results: list[object] = list(await asyncio.gather(*waiting))
        results.append(await writer.write(blocked_work))
        return results

    assert asyncio.run(flood()) == [True] * (MAX_WAITING + 2)


async def time_out_writes(writer: Writer, blocked_work: BlockedWork, count: int) -> list[object]:
    """Return the results of writes that wait for work which has begun and does not end."""
    first: list[object] = []
    # On a busy machine the first may time out before it begins: then start another.
    while not await asyncio.to_thread(blocked_work.has_begun.wait, 5 if first else 0):
        first = list(await asyncio.gather(writer.write(blocked_work), return_exceptions=True))
    others = (writer.write(blocked_work) for _ in range(count))
    return first + list(await asyncio.gather(*others, return_exceptions=True))


def test_waiting_writes_time_out_and_stay_in_the_queue_but_never_run(
    writer: Writer, blocked_work: BlockedWork, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scenario() -> None:
        with monkeypatch.context() as patch:
            patch.setattr("cloudconsole.server.writer.BUSY_SECONDS", 0.01)
            results = await time_out_writes(writer, blocked_work, 3)
        assert {type(result) for result in results} == {Unavailable}
        assert writer.waiting == 3
        blocked_work.may_end.set()
        await writer.write(max, 1, 2)
        assert (writer.waiting, blocked_work.runs) == (0, 1)

    asyncio.run(scenario())


def test_work_has_the_same_deadline_as_its_request(writer: Writer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Time spent in the queue is not available for the database."""
    monkeypatch.setattr("cloudconsole.server.writer.BUSY_SECONDS", 1000)
    before = time.monotonic()
    until = asyncio.run(writer.read(write_deadline.get))
    assert before + 1000 <= until <= time.monotonic() + 1000


def test_hanging_work_does_not_prevent_shutdown(blocked_work: BlockedWork, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cloudconsole.server.writer.BUSY_SECONDS", 0.01)
    monkeypatch.setattr("cloudconsole.server.writer.CLOSE_SECONDS", 0.01)
    writer = Writer("hanging", standalone_metrics())
    asyncio.run(time_out_writes(writer, blocked_work, 0))
    writer.close()
    (hanging,) = (thread for thread in threading.enumerate() if thread.name == "hanging")
    assert hanging.daemon


def test_only_writes_are_measured() -> None:
    metrics = SharedMetrics(1)
    writer = Writer("writing", metrics.worker(0))

    def measured() -> int:
        return sum(metrics.read()[0][STORE_WRITES : STORE_WRITES + len(SECONDS_BOUNDS) + 1])

    assert asyncio.run(writer.read(max, 1, 2)) == 2
    assert measured() == 0
    assert asyncio.run(writer.write(max, 1, 2)) == 2
    with pytest.raises(ZeroDivisionError):
        asyncio.run(writer.write(divmod, 1, 0))
    assert measured() == 2
    writer.close()
