"""Waiting for a password check: nobody takes all the places, so that others still get in."""

import asyncio
import threading
from collections import Counter
from collections.abc import Callable, Iterator

import pytest

from cloudconsole.backends.embedded import identity
from cloudconsole.backends.embedded.identity import QUEUE_LIMIT
from cloudconsole.server.http.turns import Turns
from cloudconsole.spec.errors import Unavailable
from cloudconsole.store.passwords import password_matches
from tests.harness import InProcess, Reply
from tests.server.http.test_throttle import RIGHT, Guesser

SHARE = QUEUE_LIMIT // 2


def test_each_holder_has_half_of_the_places() -> None:
    turns = Turns(4, retry_after=3)
    with turns.taken("ann", "192.0.2.1"), turns.taken("ann", "192.0.2.2"):
        with pytest.raises(Unavailable) as refused, turns.taken("ann", "192.0.2.3"):
            pass
        with turns.taken("bob", "192.0.2.1"):
            pass
    assert refused.value.retry_after == 3


def test_there_are_no_more_places_than_that_for_all() -> None:
    turns = Turns(2, retry_after=3)
    with turns.taken("ann"), turns.taken("bob"), pytest.raises(Unavailable), turns.taken("carl"):
        pass
    with turns.taken("carl"):
        pass


def test_a_place_is_free_again_whatever_became_of_its_holder() -> None:
    turns = Turns(2, retry_after=3)
    for _ in range(3):
        with pytest.raises(ZeroDivisionError), turns.taken("ann"):
            raise ZeroDivisionError
    assert not turns._held


@pytest.fixture
def held_up(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """No password check ends before this is set."""
    event = threading.Event()

    def waiting(password_hash: str, password: str) -> bool:
        assert event.wait(timeout=60)
        return password_matches(password_hash, password)

    monkeypatch.setattr(identity, "password_matches", waiting)
    yield event
    event.set()


class Crowd:
    """More logins at once than can wait, each from an address and as a user; then someone else comes."""

    def __init__(self, wire: InProcess, held_up: threading.Event) -> None:
        self._wire = wire
        self._held_up = held_up
        self._guesser = Guesser(wire)

    def come(self, who: list[tuple[str, str, str]], then: tuple[str, str, str]) -> tuple[Counter[int], Reply]:
        """How the crowd was answered, and how the one who came when all of it was waiting or had been refused."""
        return self._wire.together(self._come(who, then))[0]  # type: ignore[no-any-return]

    async def _come(self, who: list[tuple[str, str, str]], then: tuple[str, str, str]) -> tuple[Counter[int], Reply]:
        crowd = [await self._start(*each) for each in who]
        await self._until(lambda: self._waiting + sum(task.done() for task in crowd) == len(crowd))
        before = self._waiting
        other = await self._start(*then)
        await self._until(lambda: self._waiting > before or other.done())
        self._held_up.set()
        replies = await asyncio.gather(*crowd)
        for reply in replies:
            assert reply.status != 503 or (reply.error, reply.header("Retry-After")) == ("unavailable", "3")
        return Counter(reply.status for reply in replies), await other

    @property
    def _waiting(self) -> int:
        return self._wire.console._watched[0].waiting

    async def _start(self, address: str, username: str, password: str) -> "asyncio.Task[Reply]":
        self._wire.address = address
        task = asyncio.ensure_future(self._guesser.later(username, password))
        # It takes the address with its first step.
        await asyncio.sleep(0)
        return task

    async def _until(self, reached: Callable[[], bool]) -> None:
        async with asyncio.timeout(60):
            while not reached():  # noqa: ASYNC110
                await asyncio.sleep(0.001)


@pytest.fixture
def crowd(wire: InProcess, held_up: threading.Event) -> Crowd:
    return Crowd(wire, held_up)


ELSEWHERE = ("198.51.100.1", "other", "console-other")


def test_an_account_that_logs_in_from_everywhere_leaves_room_for_others(crowd: Crowd) -> None:
    everywhere = [(f"192.0.2.{number}", *RIGHT) for number in range(QUEUE_LIMIT + 10)]
    answers, other = crowd.come(everywhere, ELSEWHERE)
    assert answers == {200: SHARE, 503: QUEUE_LIMIT + 10 - SHARE}
    assert other.status == 200


def test_an_address_that_asks_for_everyone_leaves_room_for_others(crowd: Crowd) -> None:
    everyone = [("192.0.2.7", f"user{number}", "wrong") for number in range(QUEUE_LIMIT + 10)]
    answers, other = crowd.come(everyone, ELSEWHERE)
    assert answers == {401: SHARE, 503: QUEUE_LIMIT + 10 - SHARE}
    assert other.status == 200


def test_a_whole_ipv6_network_is_one_address(crowd: Crowd) -> None:
    everyone = [(f"2001:db8::{number:x}", f"user{number}", "wrong") for number in range(QUEUE_LIMIT + 10)]
    answers, other = crowd.come(everyone, ELSEWHERE)
    assert answers == {401: SHARE, 503: QUEUE_LIMIT + 10 - SHARE}
    assert other.status == 200


def test_those_who_come_later_from_there_are_let_in_again(crowd: Crowd, wire: InProcess) -> None:
    crowd.come([("192.0.2.7", *RIGHT)] * (QUEUE_LIMIT + 10), ELSEWHERE)
    assert Guesser(wire, "192.0.2.7").guess(*RIGHT).status == 200
