"""Concurrency limit of password checks: no user or network takes all slots, so that others can still log in."""

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
from tests.harness import FakeClock, InProcessTransport, Reply
from tests.server.http.test_login_throttle import VALID_LOGIN, Guesser
from tests.stores import write_transaction

SHARE = QUEUE_LIMIT // 2


class HeldLogins:
    """Login attempts that hold their slot until released."""

    def __init__(self, limiter: ConcurrencyLimiter) -> None:
        self._limiter = limiter
        self.served: list[str] = []
        self._releases: dict[str, asyncio.Event] = {}

    async def start(self, tier: Priority, user: str, network: str) -> "asyncio.Task[None]":
        """Start an attempt, and return once it is rejected, waits or is served."""
        task = asyncio.create_task(self._hold_slot(tier, user, network))
        for _ in range(3):
            await asyncio.sleep(0)
        return task

    async def _hold_slot(self, tier: Priority, user: str, network: str) -> None:
        async with self._limiter.slot(tier, user, network):
            self.served.append(user)
            await self._releases.setdefault(user, asyncio.Event()).wait()

    def release(self, user: str) -> None:
        self._releases.setdefault(user, asyncio.Event()).set()

    async def release_all(self) -> list[str]:
        """Release all attempts as they are served; return the users in that order."""
        async with asyncio.timeout(60):
            while self._limiter.waiting:
                for user in self.served:
                    self.release(user)
                await asyncio.sleep(0)
        return self.served


@pytest.fixture(autouse=True)
def _no_rejection_delay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "REJECTION_SECONDS", 0)


@pytest.mark.parametrize(("tier", "share"), [(Priority.TRUSTED, 4), (Priority.PLAIN, 4), (Priority.SUSPECT, 2)])
def test_each_user_and_network_has_a_share_of_the_slots(tier: Priority, share: int) -> None:
    async def fill() -> None:
        for by_user in (True, False):
            limiter = ConcurrencyLimiter(8, at_once=1, retry_after=3)
            logins = HeldLogins(limiter)
            for number in range(share):
                await logins.start(tier, "ann" if by_user else f"user{number}", f"net{number}" if by_user else "net")
            rejected = await logins.start(tier, "ann" if by_user else "bob", "elsewhere" if by_user else "net")
            with pytest.raises(Unavailable) as problem:
                await rejected
            assert problem.value.retry_after == 3
            assert not (await logins.start(tier, "carl", "other")).done()
            await logins.release_all()

    asyncio.run(fill())


@pytest.mark.parametrize(("tier", "slots"), [(Priority.TRUSTED, 12), (Priority.PLAIN, 8), (Priority.SUSPECT, 4)])
def test_suspect_attempts_get_fewer_slots_and_trusted_ones_more(tier: Priority, slots: int) -> None:
    async def fill() -> None:
        limiter = ConcurrencyLimiter(8, at_once=1, retry_after=3)
        logins = HeldLogins(limiter)
        attempts = [await logins.start(tier, f"user{number}", f"net{number}") for number in range(slots + 3)]
        assert [attempt.done() for attempt in attempts] == [False] * slots + [True] * 3
        await logins.release_all()
        await asyncio.gather(*attempts, return_exceptions=True)
        assert not limiter._shares_used

    asyncio.run(fill())


def test_trusted_attempts_are_served_first_and_suspect_ones_last() -> None:
    async def run() -> list[str]:
        logins = HeldLogins(ConcurrencyLimiter(8, at_once=1, retry_after=3))
        tiers = [Priority.SUSPECT, Priority.SUSPECT, Priority.PLAIN, Priority.TRUSTED, Priority.PLAIN, Priority.TRUSTED]
        for number, tier in enumerate(tiers):
            await logins.start(tier, f"{tier.name} {number}", f"net{number}")
        return await logins.release_all()

    assert asyncio.run(run()) == ["SUSPECT 0", "TRUSTED 3", "TRUSTED 5", "PLAIN 2", "PLAIN 4", "SUSPECT 1"]


def test_a_flood_of_trusted_attempts_does_not_starve_others() -> None:
    async def run() -> list[str]:
        logins = HeldLogins(ConcurrencyLimiter(12, at_once=1, retry_after=3))
        await logins.start(Priority.PLAIN, "plain", "net a")
        for number, tier in enumerate([Priority.SUSPECT, Priority.PLAIN, *[Priority.TRUSTED] * 12]):
            await logins.start(tier, f"{tier.name} {number}", f"net{number}")
        return await logins.release_all()

    served = asyncio.run(run())
    assert served.index("PLAIN 1") == 4
    assert served.index("SUSPECT 0") == 8


def test_a_network_that_retries_before_retry_after_is_suspect() -> None:
    async def retry_early() -> list[str]:
        logins = HeldLogins(ConcurrencyLimiter(2, at_once=1, retry_after=3600))
        await logins.start(Priority.PLAIN, "first", "net1")
        await logins.start(Priority.PLAIN, "second", "net2")
        with pytest.raises(Unavailable):
            await (await logins.start(Priority.PLAIN, "third", "impatient"))
        logins.release("first")
        await asyncio.sleep(0.01)
        # A slot is free again, but not for suspect attempts.
        with pytest.raises(Unavailable):
            await (await logins.start(Priority.PLAIN, "third", "impatient"))
        await logins.start(Priority.PLAIN, "fourth", "patient")
        return await logins.release_all()

    assert asyncio.run(retry_early()) == ["first", "second", "fourth"]


def test_a_cancelled_attempt_frees_its_slot() -> None:
    async def cancel() -> list[str]:
        limiter = ConcurrencyLimiter(8, at_once=1, retry_after=3)
        logins = HeldLogins(limiter)
        served, waiting = await logins.start(Priority.PLAIN, "ann", "1"), await logins.start(Priority.PLAIN, "bob", "2")
        granted = await logins.start(Priority.PLAIN, "carl", "3")
        await logins.start(Priority.PLAIN, "dora", "4")
        waiting.cancel()
        logins.release("ann")
        await served
        # It was granted the slot, but has not resumed yet.
        granted.cancel()
        names = await logins.release_all()
        assert (limiter.waiting, limiter._idle) == (0, 1)
        return names

    assert asyncio.run(cancel())[-1] == "dora"


def test_an_attempt_that_waits_too_long_is_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    async def wait() -> None:
        logins = HeldLogins(ConcurrencyLimiter(8, at_once=1, retry_after=3))
        await logins.start(Priority.TRUSTED, "ann", "1")
        with pytest.raises(Unavailable):
            await (await logins.start(Priority.SUSPECT, "bob", "2"))
        await logins.release_all()

    monkeypatch.setattr(module, "WAIT_SECONDS", 0.01)
    asyncio.run(wait())


@pytest.fixture
def checks_allowed(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """No password check finishes before this is set."""
    event = threading.Event()

    def blocked(password_hash: str, password: str) -> bool:
        assert event.wait(timeout=60)
        return password_matches(password_hash, password)

    monkeypatch.setattr(identity, "password_matches", blocked)
    yield event
    event.set()


class LoginFlood:
    """More concurrent logins than the queue holds, each with an address and a user; then one more login."""

    def __init__(self, transport: InProcessTransport, checks_allowed: threading.Event) -> None:
        self._wire = transport
        self._checks_allowed = checks_allowed
        self._guesser = Guesser(transport)

    def run(self, attempts: list[tuple[str, str, str]], then: tuple[str, str, str]) -> tuple[Counter[int], Reply]:
        """Return the number of each status, and the response to a login sent once all others wait or are rejected."""
        return self._wire.gather(self._run(attempts, then))[0]  # type: ignore[no-any-return]

    async def _run(
        self, attempts: list[tuple[str, str, str]], then: tuple[str, str, str]
    ) -> tuple[Counter[int], Reply]:
        self._checks_allowed.clear()
        tasks = [await self._start(*each) for each in attempts]
        await self._wait_until(lambda: self._waiting + sum(task.done() for task in tasks) == len(tasks))
        before = self._waiting
        other = await self._start(*then)
        await self._wait_until(lambda: self._waiting > before or other.done())
        self._checks_allowed.set()
        replies = await asyncio.gather(*tasks)
        for reply in replies:
            assert reply.status != 503 or (reply.error, reply.header("Retry-After")) == ("unavailable", "3")
        return Counter(reply.status for reply in replies), await other

    def guesser_at(self, address: str) -> Guesser:
        """For logins before the flood: their passwords are checked immediately."""
        self._checks_allowed.set()
        return Guesser(self._wire, address)

    @property
    def _waiting(self) -> int:
        return self._wire.console._watched[0].waiting

    async def _start(self, address: str, username: str, password: str) -> "asyncio.Task[Reply]":
        self._wire.address = address
        task = asyncio.ensure_future(self._guesser.aguess(username, password))
        # The task reads the address in its first step.
        await asyncio.sleep(0)
        return task

    async def _wait_until(self, condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(60):
            while not condition():  # noqa: ASYNC110
                await asyncio.sleep(0.001)


@pytest.fixture
def flood(transport: InProcessTransport, checks_allowed: threading.Event) -> LoginFlood:
    return LoginFlood(transport, checks_allowed)


OTHER_LOGIN = ("198.51.100.1", "other", "console-other")


def test_one_account_from_many_addresses_leaves_slots_for_others(flood: LoginFlood) -> None:
    everywhere = [(f"192.0.2.{number}", *VALID_LOGIN) for number in range(QUEUE_LIMIT + 10)]
    statuses, other = flood.run(everywhere, OTHER_LOGIN)
    assert statuses == {200: SHARE, 503: QUEUE_LIMIT + 10 - SHARE}
    assert other.status == 200


def test_one_address_with_many_accounts_leaves_slots_for_others(flood: LoginFlood) -> None:
    everyone = [("192.0.2.7", f"user{number}", "wrong") for number in range(QUEUE_LIMIT + 10)]
    statuses, other = flood.run(everyone, OTHER_LOGIN)
    assert statuses == {401: SHARE, 503: QUEUE_LIMIT + 10 - SHARE}
    assert other.status == 200


def test_an_ipv6_network_counts_as_one_address(flood: LoginFlood) -> None:
    everyone = [(f"2001:db8::{number:x}", f"user{number}", "wrong") for number in range(QUEUE_LIMIT + 10)]
    statuses, other = flood.run(everyone, OTHER_LOGIN)
    assert statuses == {401: SHARE, 503: QUEUE_LIMIT + 10 - SHARE}
    assert other.status == 200


def test_an_ipv6_site_counts_as_one_network(flood: LoginFlood) -> None:
    everyone = [(f"2001:db8:0:{number:x}::1", f"user{number}", "wrong") for number in range(QUEUE_LIMIT + 10)]
    statuses, other = flood.run(everyone, OTHER_LOGIN)
    assert statuses == {401: SHARE, 503: QUEUE_LIMIT + 10 - SHARE}
    assert other.status == 200


ATTACKERS = [f"203.0.113.{number}" for number in range(QUEUE_LIMIT + 50)]


def test_a_recently_used_account_logs_in_while_slots_are_taken(
    transport: InProcessTransport, flood: LoginFlood
) -> None:
    address, *account = OTHER_LOGIN
    assert flood.guesser_at(address).guess(*account).status == 200
    statuses, known = flood.run([(each, f"user of {each}", "wrong") for each in ATTACKERS], OTHER_LOGIN)
    assert statuses == {401: QUEUE_LIMIT, 503: len(ATTACKERS) - QUEUE_LIMIT}
    assert known.status == 200


def test_password_guesses_do_not_lock_out_the_accounts_user(flood: LoginFlood) -> None:
    assert flood.guesser_at("198.51.100.1").guess(*VALID_LOGIN).status == 200
    statuses, known = flood.run([(each, VALID_LOGIN[0], "wrong") for each in ATTACKERS], ("198.51.100.1", *VALID_LOGIN))
    assert statuses == {401: SHARE, 503: len(ATTACKERS) - SHARE}
    assert known.status == 200


def test_networks_with_failures_leave_slots_for_others(flood: LoginFlood, clock: FakeClock, data: Path) -> None:
    failures = [{"network": each, "user_hash": b"", "at": int(clock.now())} for each in ATTACKERS]
    with write_transaction(data, "activity") as connection:
        connection.execute(insert(login_failures), failures)
    statuses, other = flood.run([(each, f"user of {each}", "wrong") for each in ATTACKERS], OTHER_LOGIN)
    assert statuses == {401: SHARE, 503: len(ATTACKERS) - SHARE}
    assert other.status == 200


def test_a_rejected_address_can_log_in_later(flood: LoginFlood, transport: InProcessTransport) -> None:
    flood.run([("192.0.2.7", *VALID_LOGIN)] * (QUEUE_LIMIT + 10), OTHER_LOGIN)
    assert Guesser(transport, "192.0.2.7").guess(*VALID_LOGIN).status == 200
