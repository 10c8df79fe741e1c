"""The server's writes: bounded in number and in time."""

import asyncio
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from cloudconsole.server import writing
from cloudconsole.server.observing.layout import SECONDS_BOUNDS, STORE_WRITES
from cloudconsole.server.observing.meter import Board, meter_alone
from cloudconsole.server.writing import MOST_WAITING, Writer
from cloudconsole.spec.errors import Unavailable


@pytest.fixture
def held_up() -> Iterator[threading.Event]:
    """What a write waits for."""
    event = threading.Event()
    yield event
    event.set()


@pytest.fixture
def thread(held_up: threading.Event) -> Iterator[ThreadPoolExecutor]:
    executor = ThreadPoolExecutor(1)
    yield executor
    held_up.set()
    executor.shutdown()


def test_its_result_is_handed_on(thread: ThreadPoolExecutor) -> None:
    assert asyncio.run(Writer(thread, meter_alone()).run(max, 1, 2)) == 2


def test_its_error_is_handed_on(thread: ThreadPoolExecutor) -> None:
    with pytest.raises(ZeroDivisionError):
        asyncio.run(Writer(thread, meter_alone()).run(divmod, 1, 0))


def test_more_writes_than_can_wait_are_turned_away(thread: ThreadPoolExecutor, held_up: threading.Event) -> None:
    async def flood() -> list[object]:
        writer = Writer(thread, meter_alone())
        waiting = [asyncio.ensure_future(writer.run(held_up.wait)) for _ in range(MOST_WAITING)]
        await asyncio.sleep(0)
        with pytest.raises(Unavailable):
            await writer.run(held_up.wait)
        held_up.set()
        answers: list[object] = list(await asyncio.gather(*waiting))
        answers.append(await writer.run(held_up.wait))
        return answers

    assert asyncio.run(flood()) == [True] * (MOST_WAITING + 1)


def test_none_waits_for_ever(
    thread: ThreadPoolExecutor, held_up: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writing, "BUSY_SECONDS", 0.01)

    async def wait_in_vain() -> list[object]:
        writer = Writer(thread, meter_alone())
        return list(await asyncio.gather(*(writer.run(held_up.wait) for _ in range(3)), return_exceptions=True))

    assert [type(answer) for answer in asyncio.run(wait_in_vain())] == [Unavailable] * 3


def test_only_writes_are_measured(thread: ThreadPoolExecutor) -> None:
    board = Board(1)
    writer = Writer(thread, board.meter(0))

    def measured() -> int:
        return sum(board.read()[0][STORE_WRITES : STORE_WRITES + len(SECONDS_BOUNDS) + 1])

    assert asyncio.run(writer.look(max, 1, 2)) == 2
    assert measured() == 0
    asyncio.run(writer.run(max, 1, 2))
    with pytest.raises(ZeroDivisionError):
        asyncio.run(writer.run(divmod, 1, 0))
    assert measured() == 2
