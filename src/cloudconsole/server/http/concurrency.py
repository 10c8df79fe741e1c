"""Who may wait for a password check, and who is served first: neither one account nor one address takes all places."""

import asyncio
from collections import Counter, deque
from collections.abc import AsyncIterator, Hashable
from contextlib import asynccontextmanager
from enum import IntEnum
from typing import Final

from cloudconsole.spec.errors import Unavailable

WAIT_SECONDS: Final = 10
"""Where others are served first, an attempt waits no longer than that."""
REJECTION_SECONDS: Final = 1
"""How long a rejection of suspect attempts is held back: at full speed, rejections would take the time of others."""
MOST_REMEMBERED: Final = 10_000


class Priority(IntEnum):
    """What the recent past says about a login attempt; lower values are served first, most of the time."""

    TRUSTED = 0
    """The account logged in from this network of late."""
    PLAIN = 1
    """No login failed there of late, or some account logged in from there."""
    SUSPECT = 2
    """Only failures are known of the network, or it comes back sooner than it was asked to."""


ORDERS: Final = (
    (Priority.SUSPECT, Priority.PLAIN, Priority.TRUSTED),
    tuple(Priority),
    tuple(Priority),
    tuple(Priority),
    (Priority.PLAIN, Priority.TRUSTED, Priority.SUSPECT),
    tuple(Priority),
    tuple(Priority),
    tuple(Priority),
)
"""Of each turn, the tiers by preference: a flood of one tier slows the others down, and never stops them."""


class ConcurrencyLimiter:
    """A bounded priority queue of login attempts, in this worker.

    Suspect attempts use at most half of the places. Trusted ones have half as many places more, which others cannot
    use. Of each tier's places one user or network has at most half: little enough to leave room for others, and enough
    for callers that all come from one address, as they seem to behind a proxy that nobody declared.
    """

    def __init__(self, places: int, *, at_once: int, retry_after: int) -> None:
        self._limits = {Priority.TRUSTED: places + places // 2, Priority.PLAIN: places, Priority.SUSPECT: places // 2}
        self._shares = {Priority.TRUSTED: places // 2, Priority.PLAIN: places // 2, Priority.SUSPECT: places // 4}
        self._idle = at_once
        self._passed = 0
        self._retry_after = retry_after
        self._held: Counter[tuple[Priority, Hashable]] = Counter()
        self._lines: dict[Priority, deque[asyncio.Future[None]]] = {tier: deque() for tier in Priority}
        self._rejected: dict[Hashable, float] = {}
        self.waiting = 0
        """How many have a place, those being served among them."""

    @asynccontextmanager
    async def slot(self, tier: Priority, user: Hashable, network: Hashable) -> AsyncIterator[None]:
        """Wait for the turn of an attempt, and keep it until the end; `Unavailable` where there is no place to wait.

        Shares are counted by tier: guesses for an account from elsewhere take no place from its user.
        """
        if tier is Priority.PLAIN and self._is_impatient(network):
            tier = Priority.SUSPECT
        holders = (tier, user), (tier, network)
        if self.waiting >= self._limits[tier] or any(self._held[each] >= self._shares[tier] for each in holders):
            self._record_rejection(network)
            if tier is Priority.SUSPECT:
                await asyncio.sleep(REJECTION_SECONDS)
            raise Unavailable(self._retry_after)
        self.waiting += 1
        self._held.update(holders)
        try:
            await self._wait(tier)
            try:
                yield
            finally:
                self._pass_on()
        finally:
            self.waiting -= 1
            self._held.subtract(holders)
            for each in holders:
                if not self._held[each]:
                    del self._held[each]

    async def _wait(self, tier: Priority) -> None:
        if self._idle:
            self._idle -= 1
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        line = self._lines[tier]
        line.append(turn)
        try:
            async with asyncio.timeout(WAIT_SECONDS):
                await turn
        except BaseException as problem:
            if turn.done() and not turn.cancelled():
                # It came in the same moment.
                self._pass_on()
            elif turn in line:
                line.remove(turn)
            if isinstance(problem, TimeoutError):
                raise Unavailable(self._retry_after) from None
            raise

    def _pass_on(self) -> None:
        self._passed += 1
        for line in (self._lines[tier] for tier in ORDERS[self._passed % len(ORDERS)]):
            while line:
                turn = line.popleft()
                if not turn.done():
                    turn.set_result(None)
                    return
        self._idle += 1

    def _is_impatient(self, network: Hashable) -> bool:
        """Whether the network was rejected less than `Retry-After` ago."""
        rejected_at = self._rejected.get(network)
        return rejected_at is not None and self._now() < rejected_at + self._retry_after

    def _record_rejection(self, network: Hashable) -> None:
        self._rejected.pop(network, None)
        self._rejected[network] = self._now()
        if len(self._rejected) > MOST_REMEMBERED:
            del self._rejected[next(iter(self._rejected))]

    def _now(self) -> float:
        return asyncio.get_running_loop().time()
