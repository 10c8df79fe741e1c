"""The server's writes: bounded in number and in time."""

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


class HeldUp:
    """Work that waits until it may end."""

    def __init__(self) -> None:
        self.has_begun, self.may_end = threading.Event(), threading.Event()
        self.times = 0

    def __call__(self) -> bool:
        self.times += 1
        self.has_begun.set()
        return self.may_end.wait()

    async def begun(self) -> None:
        await asyncio.to_thread(self.has_begun.wait)


@pytest.fixture
def held_up() -> Iterator[HeldUp]:
    work = HeldUp()
    yield work
    work.may_end.set()


@pytest.fixture
def writer(held_up: HeldUp) -> Iterator[Writer]:
    made = Writer("writing", standalone_metrics())
    yield made
    held_up.may_end.set()
    made.close()


def test_its_result_is_handed_on(writer: Writer) -> None:
    assert asyncio.run(writer.write(max, 1, 2)) == 2


def test_its_error_is_handed_on(writer: Writer) -> None:
    with pytest.raises(ZeroDivisionError):
        asyncio.run(writer.write(divmod, 1, 0))


def test_more_writes_than_can_wait_are_turned_away(writer: Writer, held_up: HeldUp) -> None:
    async def flood() -> list[object]:
        waiting = [asyncio.ensure_future(writer.write(held_up))]
        await held_up.begun()
        waiting += [asyncio.ensure_future(writer.write(held_up)) for _ in range(MAX_WAITING)]
        await asyncio.sleep(0)
        with pytest.raises(Unavailable):
            await writer.write(held_up)
        held_up.may_end.set()
        answers: list[object] = list(await asyncio.gather(*waiting))
        answers.append(await writer.write(held_up))
        return answers

    assert asyncio.run(flood()) == [True] * (MAX_WAITING + 2)


async def give_up_waiting(writer: Writer, held_up: HeldUp, number: int) -> list[object]:
    """What so many are told that wait for work which has begun and does not end."""
    first: list[object] = []
    # On a busy machine the first may be given up before it begins: then another is.
    while not await asyncio.to_thread(held_up.has_begun.wait, 5 if first else 0):
        first = list(await asyncio.gather(writer.write(held_up), return_exceptions=True))
    others = (writer.write(held_up) for _ in range(number))
    return first + list(await asyncio.gather(*others, return_exceptions=True))


def test_none_waits_for_ever(writer: Writer, held_up: HeldUp, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cloudconsole.server.writer.BUSY_SECONDS", 0.01)
    answers = asyncio.run(give_up_waiting(writer, held_up, 2))
    assert [type(answer) for answer in answers] == [Unavailable] * 3


def test_what_was_given_up_counts_until_the_thread_is_free_and_is_not_begun_then(
    writer: Writer, held_up: HeldUp, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scenario() -> None:
        with monkeypatch.context() as patch:
            patch.setattr("cloudconsole.server.writer.BUSY_SECONDS", 0.01)
            await give_up_waiting(writer, held_up, 3)
        assert writer.waiting == 3
        held_up.may_end.set()
        await writer.write(max, 1, 2)
        assert (writer.waiting, held_up.times) == (0, 1)

    asyncio.run(scenario())


def test_the_work_is_given_up_when_its_caller_is(writer: Writer, monkeypatch: pytest.MonkeyPatch) -> None:
    """As long as it waited for its turn, it has less time for the database."""
    monkeypatch.setattr("cloudconsole.server.writer.BUSY_SECONDS", 1000)
    before = time.monotonic()
    until = asyncio.run(writer.read(write_deadline.get))
    assert before + 1000 <= until <= time.monotonic() + 1000


def test_work_that_hangs_keeps_nobody_from_ending(held_up: HeldUp, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cloudconsole.server.writer.BUSY_SECONDS", 0.01)
    monkeypatch.setattr("cloudconsole.server.writer.CLOSE_SECONDS", 0.01)
    writer = Writer("hanging", standalone_metrics())
    asyncio.run(give_up_waiting(writer, held_up, 0))
    writer.close()
    (hanging,) = (thread for thread in threading.enumerate() if thread.name == "hanging")
    assert hanging.daemon


def test_only_writes_are_measured() -> None:
    board = SharedMetrics(1)
    writer = Writer("writing", board.worker(0))

    def measured() -> int:
        return sum(board.read()[0][STORE_WRITES : STORE_WRITES + len(SECONDS_BOUNDS) + 1])

    assert asyncio.run(writer.read(max, 1, 2)) == 2
    assert measured() == 0
    asyncio.run(writer.write(max, 1, 2))
    with pytest.raises(ZeroDivisionError):
        asyncio.run(writer.write(divmod, 1, 0))
    assert measured() == 2
    writer.close()
