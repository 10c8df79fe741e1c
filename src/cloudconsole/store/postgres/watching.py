"""The watch over what changes in the database: a lease under which a worker answers from memory.

Triggers write a signal with every change, in its transaction. Each worker looks for new signals every
`LOOK_EVERY_SECONDS`; what it remembers, it uses only while its last successful look began less than `LEASE_SECONDS`
ago. Whoever changes something says so `SETTLE_SECONDS` after the commit. So a call that begins after that finds either
a look that began after the commit, or no lease, and then waits for a look of its own. Pauses, cuts and restarts only
end leases; no call costs a question to the database; no two clocks are compared.
"""

import asyncio
import logging
import math
import random
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from cloudconsole.spec.errors import Unavailable
from cloudconsole.store.postgres import signals
from cloudconsole.store.postgres.address import DatabaseAddress
from cloudconsole.store.postgres.connections import Held, connect, is_alive, translated, within
from cloudconsole.store.postgres.signals import KEPT_SECONDS, Sight, Subject

log = logging.getLogger(__name__)

LOOK_EVERY_SECONDS: Final = 0.25
LEASE_SECONDS: Final = 0.5
SETTLE_SECONDS: Final = 0.6
LOOK_SECONDS: Final = 2.0
"""A look that takes longer has failed."""
MOST_WAITING: Final = 500
MOST_KNOWN: Final = 100_000
"""Changes of single tenants and sessions that are remembered; beyond, everything counts as changed."""
SWEEP_EVERY_SECONDS: Final = 60


class Watch:
    """One worker's; it begins with the first call."""

    def __init__(self, address: DatabaseAddress, seconds: Callable[[], float] = time.monotonic) -> None:
        self._address = address
        self._seconds = seconds
        self.latest = 0
        self._everything = 0
        self._changed: dict[Subject, int] = {}
        self._connection: Held | None = None
        self._last: Sight | None = None
        self._began = -math.inf
        """When the last look that succeeded began."""
        self._fails = False
        self._looking: asyncio.Task[None] | None = None
        self._keeping: asyncio.Task[None] | None = None
        self._waiting = 0

    @property
    def is_held(self) -> bool:
        """Whether what is remembered may be used without another look."""
        return self._seconds() < self._began + LEASE_SECONDS

    @property
    def is_lost(self) -> bool:
        return self._fails and not self.is_held

    def of_tenant(self, tenant_id: int) -> int:
        return self._changed.get(tenant_id, self._everything)

    def of_session(self, id_hash: bytes) -> int:
        return self._changed.get(id_hash, self._everything)

    async def look(self) -> None:
        asked = self._seconds()
        if asked < self._began + LEASE_SECONDS:
            return
        if self._keeping is None:
            self._keeping = asyncio.create_task(self._keep_looking())
        # While the database cannot be asked, nobody waits for it: one look at a time tries, and all are told.
        if self._fails or self._waiting >= MOST_WAITING:
            raise Unavailable
        self._waiting += 1
        try:
            # Either is enough: a look that began after the call did, or one that is under the lease.
            while self._began < asked and not self.is_held:
                await self._look_together()
        finally:
            self._waiting -= 1

    async def _keep_looking(self) -> None:
        sweep_at = self._seconds() + random.uniform(0, SWEEP_EVERY_SECONDS)  # noqa: S311 - so that workers take turns
        while True:
            with suppress(Unavailable):
                await self._look_together()
                if self._seconds() > sweep_at:
                    sweep_at = self._seconds() + SWEEP_EVERY_SECONDS
                    await self._sweep()
            await asyncio.sleep(LOOK_EVERY_SECONDS)

    async def _look_together(self) -> None:
        """Those who come while a look is under way share it, and it outlives each of them."""
        looking = self._looking
        if looking is None or looking.done():
            looking = self._looking = asyncio.create_task(self._look())
        await asyncio.wait({looking})
        problem = None if looking.cancelled() else looking.exception()
        if looking.cancelled() or problem is not None:
            raise Unavailable from problem and problem.__cause__

    async def _look(self) -> None:
        began = self._seconds()
        try:
            with translated():
                sight = await within(LOOK_SECONDS, self._see(began))
        except Unavailable as problem:
            if not self._fails:
                log.warning("the database cannot be asked for changes: %s", problem.__cause__)
            self._fails = True
            raise
        if self._fails:
            log.warning("the database can be asked for changes again")
        self._fails = False
        self._learn(sight)
        self._began = began

    async def _see(self, began: float) -> Sight:
        connection, self._connection = self._connection, None
        if connection is None or not is_alive(connection):
            if connection is not None:
                await connection.close()
            # Whatever happened meanwhile, be it on another server: it is not known.
            self._last = None
            connection = await connect(self._address)
        if began - self._began > KEPT_SECONDS / 2:
            self._last = None
        try:
            sight = await signals.look(connection, self._last)
        except BaseException:
            # What is half-way through is never used again.
            await connection.close()
            raise
        self._connection = connection
        return sight

    def _learn(self, sight: Sight) -> None:
        last, self._last = self._last, sight
        news = set[Subject]() if last is None else sight.news(last)
        if last is None or not sight.follows(last) or len(self._changed) + len(news) > MOST_KNOWN:
            self.latest += 1
            self._everything = self.latest
            self._changed.clear()
            return
        if news:
            self.latest += 1
            self._changed.update(dict.fromkeys(news, self.latest))

    async def _sweep(self) -> None:
        """By a connection of its own, so that no look has to wait for it."""
        with translated():
            async with await within(LOOK_SECONDS, connect(self._address)) as connection:
                await within(LOOK_SECONDS, signals.sweep(connection))

    async def leave(self) -> None:
        if self._keeping is not None:
            self._keeping.cancel()
            await asyncio.wait({self._keeping})
        if self._looking is not None:
            # It is over before long by itself.
            await asyncio.wait({self._looking})
        self._keeping = self._looking = None
        if self._connection is not None:
            await self._connection.close()
            self._connection = None
