"""Waiting for a password check: nobody takes all the places, so that others still get in."""

import asyncio
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from sqlalchemy import insert

from cloudconsole.backends.embedded import identity
from cloudconsole.backends.embedded.identity import QUEUE_LIMIT
from cloudconsole.server.http import login_queue as module
from cloudconsole.server.http.login_queue import ConcurrencyLimiter, Priority
from cloudconsole.spec.errors import Unavailable
from cloudconsole.store.passwords import password_matches
from cloudconsole.store.tables import login_failures
from tests.harness import HeldClock, InProcess, Reply
from tests.server.http.test_login_throttle import RIGHT, Guesser
from tests.stores import changing

SHARE = QUEUE_LIMIT // 2


class Waiter:
    """Login attempts that hold their turn until they are told to end it."""

    def __init__(self, turns: ConcurrencyLimiter) -> None:
        self._limiter = turns
        self.served: list[str] = []
        self._ends: dict[str, asyncio.Event] = {}

    async def come(self, tier: Priority, user: str, network: str) -> "asyncio.Task[None]":
        """Start an attempt, and return once it is rejected, waits or is served."""
        task = asyncio.create_task(self._attempt(tier, user, network))
        for _ in range(3):
            await asyncio.sleep(0)
        return task

    async def _attempt(self, tier: Priority, user: str, network: str) -> None:
        async with self._limiter.slot(tier, user, network):
            self.served.append(user)
            await self._ends.setdefault(user, asyncio.Event()).wait()

    def end(self, user: str) -> None:
        self._ends.setdefault(user, asyncio.Event()).set()

    async def end_all(self) -> list[str]:
        """Let all end in their order, and return who was served, in that order."""
        async with asyncio.timeout(60):
            while self._limiter.waiting:
                for user in self.served:
                    self.end(user)
                await asyncio.sleep(0)
        return self.served


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "REJECTION_SECONDS", 0)


@pytest.mark.parametrize(("tier", "share"), [(Priority.TRUSTED, 4), (Priority.PLAIN, 4), (Priority.SUSPECT, 2)])
def test_a_user_and_a_network_have_a_share_of_the_places_each(tier: Priority, share: int) -> None:
    async def fill() -> None:
        for by_user in (True, False):
            turns = ConcurrencyLimiter(8, at_once=1, retry_after=3)
            waiter = Waiter(turns)
            for number in range(share):
                await waiter.come(tier, "ann" if by_user else f"user{number}", f"net{number}" if by_user else "net")
            rejected = await waiter.come(tier, "ann" if by_user else "bob", "elsewhere" if by_user else "net")
            with pytest.raises(Unavailable) as problem:
                await rejected
            assert problem.value.retry_after == 3
            assert not (await waiter.come(tier, "carl", "other")).done()
            await waiter.end_all()

    asyncio.run(fill())


@pytest.mark.parametrize(("tier", "places"), [(Priority.TRUSTED, 12), (Priority.PLAIN, 8), (Priority.SUSPECT, 4)])
def test_suspect_attempts_leave_places_and_trusted_ones_have_more(tier: Priority, places: int) -> None:
    async def fill() -> None:
        turns = ConcurrencyLimiter(8, at_once=1, retry_after=3)
        waiter = Waiter(turns)
        attempts = [await waiter.come(tier, f"user{number}", f"net{number}") for number in range(places + 3)]
        assert [attempt.done() for attempt in attempts] == [False] * places + [True] * 3
        await waiter.end_all()
        await asyncio.gather(*attempts, return_exceptions=True)
        assert not turns._shares_used

    asyncio.run(fill())


def test_trusted_attempts_are_served_first_and_suspect_ones_last() -> None:
    async def line_up() -> list[str]:
        waiter = Waiter(ConcurrencyLimiter(8, at_once=1, retry_after=3))
        tiers = [Priority.SUSPECT, Priority.SUSPECT, Priority.PLAIN, Priority.TRUSTED, Priority.PLAIN, Priority.TRUSTED]
        for number, tier in enumerate(tiers):
            await waiter.come(tier, f"{tier.name} {number}", f"net{number}")
        return await waiter.end_all()

    assert asyncio.run(line_up()) == ["SUSPECT 0", "TRUSTED 3", "TRUSTED 5", "PLAIN 2", "PLAIN 4", "SUSPECT 1"]


def test_a_flood_of_trusted_attempts_does_not_keep_others_waiting_for_ever() -> None:
    async def line_up() -> list[str]:
        waiter = Waiter(ConcurrencyLimiter(12, at_once=1, retry_after=3))
        await waiter.come(Priority.PLAIN, "plain", "net a")
        for number, tier in enumerate([Priority.SUSPECT, Priority.PLAIN, *[Priority.TRUSTED] * 12]):
            await waiter.come(tier, f"{tier.name} {number}", f"net{number}")
        return await waiter.end_all()

    served = asyncio.run(line_up())
    assert served.index("PLAIN 1") == 4
    assert served.index("SUSPECT 0") == 8


def test_a_network_that_comes_back_before_retry_after_is_suspect() -> None:
    async def come_back() -> list[str]:
        waiter = Waiter(ConcurrencyLimiter(2, at_once=1, retry_after=3600))
        await waiter.come(Priority.PLAIN, "first", "net1")
        await waiter.come(Priority.PLAIN, "second", "net2")
        with pytest.raises(Unavailable):
            await (await waiter.come(Priority.PLAIN, "third", "impatient"))
        waiter.end("first")
        await asyncio.sleep(0.01)
        # There is a place again, but none for suspect attempts.
        with pytest.raises(Unavailable):
            await (await waiter.come(Priority.PLAIN, "third", "impatient"))
        await waiter.come(Priority.PLAIN, "fourth", "patient")
        return await waiter.end_all()

    assert asyncio.run(come_back()) == ["first", "second", "fourth"]


def test_an_attempt_that_is_given_up_leaves_its_place_and_its_turn() -> None:
    async def give_up() -> list[str]:
        turns = ConcurrencyLimiter(8, at_once=1, retry_after=3)
        waiter = Waiter(turns)
        served, waiting = await waiter.come(Priority.PLAIN, "ann", "1"), await waiter.come(Priority.PLAIN, "bob", "2")
        given = await waiter.come(Priority.PLAIN, "carl", "3")
        await waiter.come(Priority.PLAIN, "dora", "4")
        waiting.cancel()
        waiter.end("ann")
        await served
        # Its turn has come, but it has not noticed.
        given.cancel()
        names = await waiter.end_all()
        assert (turns.waiting, turns._idle) == (0, 1)
        return names

    assert asyncio.run(give_up())[-1] == "dora"


def test_an_attempt_that_others_keep_from_its_turn_is_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    async def wait() -> None:
        waiter = Waiter(ConcurrencyLimiter(8, at_once=1, retry_after=3))
        await waiter.come(Priority.TRUSTED, "ann", "1")
        with pytest.raises(Unavailable):
            await (await waiter.come(Priority.SUSPECT, "bob", "2"))
        await waiter.end_all()

    monkeypatch.setattr(module, "WAIT_SECONDS", 0.01)
    asyncio.run(wait())


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
        self._held_up.clear()
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

    def guesser_at(self, address: str) -> Guesser:
        """For logins before the crowd comes: their passwords are checked at once."""
        self._held_up.set()
        return Guesser(self._wire, address)

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


def test_a_whole_ipv6_site_is_one_network(crowd: Crowd) -> None:
    everyone = [(f"2001:db8:0:{number:x}::1", f"user{number}", "wrong") for number in range(QUEUE_LIMIT + 10)]
    answers, other = crowd.come(everyone, ELSEWHERE)
    assert answers == {401: SHARE, 503: QUEUE_LIMIT + 10 - SHARE}
    assert other.status == 200


HOSTILE = [f"203.0.113.{number}" for number in range(QUEUE_LIMIT + 50)]


def test_an_account_that_logged_in_from_there_of_late_gets_in_while_others_take_all_places(
    wire: InProcess, crowd: Crowd
) -> None:
    address, *account = ELSEWHERE
    assert crowd.guesser_at(address).guess(*account).status == 200
    answers, known = crowd.come([(each, f"user of {each}", "wrong") for each in HOSTILE], ELSEWHERE)
    assert answers == {401: QUEUE_LIMIT, 503: len(HOSTILE) - QUEUE_LIMIT}
    assert known.status == 200


def test_guesses_for_an_account_do_not_keep_its_user_out(crowd: Crowd) -> None:
    assert crowd.guesser_at("198.51.100.1").guess(*RIGHT).status == 200
    answers, known = crowd.come([(each, RIGHT[0], "wrong") for each in HOSTILE], ("198.51.100.1", *RIGHT))
    assert answers == {401: SHARE, 503: len(HOSTILE) - SHARE}
    assert known.status == 200


def test_networks_with_failures_leave_room_for_those_without(crowd: Crowd, clock: HeldClock, data: Path) -> None:
    failures = [{"network": each, "user_hash": b"", "at": int(clock.now())} for each in HOSTILE]
    with changing(data, "activity") as connection:
        connection.execute(insert(login_failures), failures)
    answers, other = crowd.come([(each, f"user of {each}", "wrong") for each in HOSTILE], ELSEWHERE)
    assert answers == {401: SHARE, 503: len(HOSTILE) - SHARE}
    assert other.status == 200


def test_those_who_come_later_from_there_are_let_in_again(crowd: Crowd, wire: InProcess) -> None:
    crowd.come([("192.0.2.7", *RIGHT)] * (QUEUE_LIMIT + 10), ELSEWHERE)
    assert Guesser(wire, "192.0.2.7").guess(*RIGHT).status == 200
