"""Concurrency limiter for logins: a bounded priority queue, shared fairly between accounts and networks."""

import asyncio
from collections import Counter, deque
from collections.abc import AsyncIterator, Hashable
from contextlib import asynccontextmanager
from enum import IntEnum
from typing import Final

from cloudconsole.spec.errors import Unavailable

WAIT_SECONDS: Final = 10
"""Longest time that an attempt waits in the queue."""
REJECTION_SECONDS: Final = 1
"""Delay before a suspect attempt is rejected: at full speed, rejections would use up the capacity of others."""
MAX_REMEMBERED: Final = 10_000


class Priority(IntEnum):
    """Priority of a login attempt, from recent logins; lower values are served first, most of the time."""

    TRUSTED = 0
    """The account recently logged in from this network."""
    PLAIN = 1
    """No recent failure from this network, or a recent login from it."""
    SUSPECT = 2
    """Only recent failures from this network, or it retried before `Retry-After`."""


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
"""Tiers by preference, for each successive slot: a flood in one tier slows the others down, but never stops them."""


class ConcurrencyLimiter:
    """Bounded priority queue of login attempts in this worker.

    Suspect attempts use at most half of the capacity. Trusted ones have half as much in addition, reserved for them.
    One user or network has at most half of a tier's capacity: this leaves capacity for others, and is enough for
    clients that share one address, as all clients seem to do behind an undeclared proxy.
    """

    def __init__(self, capacity: int, *, at_once: int, retry_after: int) -> None:
        self._limits = {
            Priority.TRUSTED: capacity + capacity // 2,
            Priority.PLAIN: capacity,
            Priority.SUSPECT: capacity // 2,
        }
        self._shares = {
            Priority.TRUSTED: capacity // 2,
            Priority.PLAIN: capacity // 2,
            Priority.SUSPECT: capacity // 4,
        }
        self._idle = at_once
        self._released = 0
        self._retry_after = retry_after
        self._shares_used: Counter[tuple[Priority, Hashable]] = Counter()
        self._queues: dict[Priority, deque[asyncio.Future[None]]] = {tier: deque() for tier in Priority}
        self._rejected: dict[Hashable, float] = {}
        self.waiting = 0
        """Number of attempts that wait or are being served."""

    @asynccontextmanager
    async def slot(self, tier: Priority, user: Hashable, network: Hashable) -> AsyncIterator[None]:
        """Wait for a slot and hold it; raise `Unavailable` if the queue is full.

        Shares are counted by tier, so password guesses from elsewhere take no capacity from the account's user.
        """
        if tier is Priority.PLAIN and self._is_impatient(network):
            tier = Priority.SUSPECT
        holders = (tier, user), (tier, network)
        if self.waiting >= self._limits[tier] or any(self._shares_used[each] >= self._shares[tier] for each in holders):
            self._record_rejection(network)
            if tier is Priority.SUSPECT:
                await asyncio.sleep(REJECTION_SECONDS)
            raise Unavailable(self._retry_after)
        self.waiting += 1
        self._shares_used.update(holders)
        try:
            await self._wait(tier)
            try:
                yield
            finally:
                self._release()
        finally:
            self.waiting -= 1
            self._shares_used.subtract(holders)
            for each in holders:
                if not self._shares_used[each]:
                    del self._shares_used[each]

    async def _wait(self, tier: Priority) -> None:
        if self._idle:
            self._idle -= 1
            return
        slot: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        queue = self._queues[tier]
        queue.append(slot)
        try:
            async with asyncio.timeout(WAIT_SECONDS):
                await slot
        except BaseException as problem:
            if slot.done() and not slot.cancelled():
                # The slot was granted at the same moment.
                self._release()
            elif slot in queue:
                queue.remove(slot)
            if isinstance(problem, TimeoutError):
                raise Unavailable(self._retry_after) from None
            raise

    def _release(self) -> None:
        self._released += 1
        for queue in (self._queues[tier] for tier in ORDERS[self._released % len(ORDERS)]):
            while queue:
                slot = queue.popleft()
                if not slot.done():
                    slot.set_result(None)
                    return
        self._idle += 1

    def _is_impatient(self, network: Hashable) -> bool:
        """Return whether the network was rejected less than `Retry-After` seconds ago."""
        rejected_at = self._rejected.get(network)
        return rejected_at is not None and self._now() < rejected_at + self._retry_after

    def _record_rejection(self, network: Hashable) -> None:
        self._rejected.pop(network, None)
        self._rejected[network] = self._now()
        if len(self._rejected) > MAX_REMEMBERED:
            del self._rejected[next(iter(self._rejected))]

    def _now(self) -> float:
        return asyncio.get_running_loop().time()
