"""Concurrency limit of password checks: no user or network takes all slots, so that others can still log in."""

import asyncio
from collections.abc import Hashable
from typing import Any

import pytest

from cloudconsole.server.http import login_queue as module
from cloudconsole.server.http.login_queue import ConcurrencyLimiter, Priority
from cloudconsole.spec.errors import Unavailable
from tests.harness import InProcessTransport, async_test
from tests.server.http.test_login_throttle import VALID_LOGIN, Guesser


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
        async with asyncio.timeout(120):
            while self._limiter.waiting:
                for user in self.served:
                    self.release(user)
                await asyncio.sleep(0)
        return self.served


@pytest.fixture(autouse=True)
def _no_rejection_delay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "REJECTION_SECONDS", 0)


@pytest.fixture
def limiter() -> ConcurrencyLimiter:
    return ConcurrencyLimiter(8, at_once=1, retry_after=3)


@pytest.fixture
def logins(limiter: ConcurrencyLimiter) -> HeldLogins:
    return HeldLogins(limiter)


@pytest.mark.parametrize(("tier", "share"), [(Priority.TRUSTED, 4), (Priority.PLAIN, 4), (Priority.SUSPECT, 2)])
@pytest.mark.parametrize("by_user", [True, False])
@async_test
async def test_each_user_and_network_has_a_share_of_the_slots(
    logins: HeldLogins, tier: Priority, share: int, by_user: bool
) -> None:
    for number in range(share):
        await logins.start(tier, "ann" if by_user else f"user{number}", f"net{number}" if by_user else "net")
    rejected = await logins.start(tier, "ann" if by_user else "bob", "elsewhere" if by_user else "net")
    with pytest.raises(Unavailable) as problem:
        await rejected
    assert problem.value.retry_after == 3
    assert not (await logins.start(tier, "carl", "other")).done()
    await logins.release_all()


@pytest.mark.parametrize(("tier", "slots"), [(Priority.TRUSTED, 12), (Priority.PLAIN, 8), (Priority.SUSPECT, 4)])
@async_test
async def test_suspect_attempts_get_fewer_slots_and_trusted_ones_more(
    limiter: ConcurrencyLimiter, logins: HeldLogins, tier: Priority, slots: int
) -> None:
    attempts = [await logins.start(tier, f"user{number}", f"net{number}") for number in range(slots + 3)]
    assert [attempt.done() for attempt in attempts] == [False] * slots + [True] * 3
    await logins.release_all()
    await asyncio.gather(*attempts, return_exceptions=True)
    assert not limiter._shares_used


@async_test
async def test_trusted_attempts_are_served_first_and_suspect_ones_last(logins: HeldLogins) -> None:
    tiers = [Priority.SUSPECT, Priority.SUSPECT, Priority.PLAIN, Priority.TRUSTED, Priority.PLAIN, Priority.TRUSTED]
    for number, tier in enumerate(tiers):
        await logins.start(tier, f"{tier.name} {number}", f"net{number}")
    served = await logins.release_all()
    assert served == ["SUSPECT 0", "TRUSTED 3", "TRUSTED 5", "PLAIN 2", "PLAIN 4", "SUSPECT 1"]


@async_test
async def test_a_flood_of_trusted_attempts_does_not_starve_others() -> None:
    logins = HeldLogins(ConcurrencyLimiter(12, at_once=1, retry_after=3))
    await logins.start(Priority.PLAIN, "plain", "net a")
    for number, tier in enumerate([Priority.SUSPECT, Priority.PLAIN, *[Priority.TRUSTED] * 12]):
        await logins.start(tier, f"{tier.name} {number}", f"net{number}")
    served = await logins.release_all()
    assert served.index("PLAIN 1") == 4
    assert served.index("SUSPECT 0") == 8


@async_test
async def test_a_network_that_retries_before_retry_after_is_suspect() -> None:
    logins = HeldLogins(ConcurrencyLimiter(2, at_once=1, retry_after=3600))
    first = await logins.start(Priority.PLAIN, "first", "net1")
    await logins.start(Priority.PLAIN, "second", "net2")
    with pytest.raises(Unavailable):
        await (await logins.start(Priority.PLAIN, "third", "impatient"))
    logins.release("first")
    await first
    # A slot is free again, but not for suspect attempts.
    with pytest.raises(Unavailable):
        await (await logins.start(Priority.PLAIN, "third", "impatient"))
    await logins.start(Priority.PLAIN, "fourth", "patient")
    assert await logins.release_all() == ["first", "second", "fourth"]


@async_test
async def test_a_cancelled_attempt_frees_its_slot(limiter: ConcurrencyLimiter, logins: HeldLogins) -> None:
    served, waiting = await logins.start(Priority.PLAIN, "ann", "1"), await logins.start(Priority.PLAIN, "bob", "2")
    granted = await logins.start(Priority.PLAIN, "carl", "3")
    await logins.start(Priority.PLAIN, "dora", "4")
    waiting.cancel()
    logins.release("ann")
    await served
    # It was granted the slot, but has not resumed yet.
    granted.cancel()
    names = await logins.release_all()
    assert (limiter.waiting, limiter._idle, names[-1]) == (0, 1, "dora")


@async_test
async def test_an_attempt_that_waits_too_long_is_rejected(logins: HeldLogins, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "WAIT_SECONDS", 0.01)
    await logins.start(Priority.TRUSTED, "ann", "1")
    with pytest.raises(Unavailable):
        await (await logins.start(Priority.SUSPECT, "bob", "2"))
    await logins.release_all()


# The console's use of the queue.


HERE, THERE = "192.0.2.1", "192.0.2.2"


class RecordedAttempts:
    """Attempts as the queue gets them; from `start`, it rejects each without a password check."""

    def __init__(self, transport: InProcessTransport, monkeypatch: pytest.MonkeyPatch) -> None:
        self._transport = transport
        self._monkeypatch = monkeypatch
        self._attempts: list[tuple[Priority, Hashable, Hashable]] = []

    def start(self) -> None:
        def record(_limiter: ConcurrencyLimiter, *attempt: Any) -> None:
            self._attempts.append(attempt)
            raise Unavailable(3)

        self._monkeypatch.setattr(ConcurrencyLimiter, "slot", record)

    def attempt(self, address: str, username: str = "demo") -> tuple[Priority, Hashable, Hashable]:
        reply = Guesser(self._transport, address).guess(username)
        assert (reply.error, reply.header("Retry-After")) == ("unavailable", "3")
        return self._attempts[-1]


@pytest.fixture
def recorded(transport: InProcessTransport, monkeypatch: pytest.MonkeyPatch) -> RecordedAttempts:
    return RecordedAttempts(transport, monkeypatch)


def test_users_and_networks_are_told_apart_but_not_addresses_of_an_ipv6_site(recorded: RecordedAttempts) -> None:
    recorded.start()
    first, same_site, *others = (
        recorded.attempt(address)[2] for address in ("2001:db8::1", "2001:db8:0:ff::1", "2001:db8:1::1", HERE, THERE)
    )
    assert first == same_site
    assert len({first, *others}) == 4
    users = [recorded.attempt(HERE, username)[1] for username in ("demo", "demo", "other")]
    assert users[0] == users[1] != users[2]


@pytest.mark.parametrize(
    ("logged_in", "failed", "address", "username", "tier"),
    [
        pytest.param(None, None, HERE, "demo", Priority.PLAIN, id="nothing known"),
        pytest.param(HERE, None, HERE, "demo", Priority.TRUSTED, id="account used here"),
        pytest.param(HERE, HERE, HERE, "demo", Priority.TRUSTED, id="account used here, failures"),
        pytest.param(HERE, None, THERE, "demo", Priority.PLAIN, id="account used elsewhere"),
        pytest.param(HERE, None, HERE, "other", Priority.PLAIN, id="another account used here"),
        pytest.param(HERE, HERE, HERE, "other", Priority.PLAIN, id="another account, failures"),
        pytest.param(HERE, THERE, THERE, "demo", Priority.SUSPECT, id="only failures here"),
        pytest.param(None, "2001:db8::1", "2001:db8:0:ff::1", "demo", Priority.SUSPECT, id="failures in the site"),
        pytest.param("2001:db8::1", None, "2001:db8:0:ff::1", "demo", Priority.TRUSTED, id="account used in the site"),
    ],
)
def test_priority_follows_recent_logins_and_failures_of_the_network(
    transport: InProcessTransport,
    recorded: RecordedAttempts,
    logged_in: str | None,
    failed: str | None,
    address: str,
    username: str,
    tier: Priority,
) -> None:
    if logged_in is not None:
        assert Guesser(transport, logged_in).guess(*VALID_LOGIN).status == 200
    if failed is not None:
        Guesser(transport, failed).fail(1, "nobody")
    recorded.start()
    assert recorded.attempt(address, username)[0] == tier
