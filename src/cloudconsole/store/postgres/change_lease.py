"""The watch over what changes in the database: a lease under which a worker answers from memory.

Triggers write a signal with every change, in its transaction. Each worker looks for new signals every
`LOOK_EVERY_SECONDS`; what it remembers, it uses only while its last successful look began less than `LEASE_SECONDS`
ago. Whoever changes something says so `SETTLE_SECONDS` after the commit. So a call that begins after that finds either
a look that began after the commit, or no lease, and then waits for a look of its own. Pauses, cuts and restarts only
end leases; no call costs a question to the database; no two clocks are compared.

The clock is one that goes on while the machine is suspended. While a host pauses a virtual machine, no clock in it
does: what is left of a lease then, half a second at most, is left when it goes on. The next look finds by the server's
clock, held against nothing but itself, whether that was so long that signals may have been swept meanwhile.
"""

import asyncio
import logging
import math
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Final

from cloudconsole.spec.errors import Unavailable
from cloudconsole.store.postgres import change_log
from cloudconsole.store.postgres.change_log import RETENTION_SECONDS, LogPosition, LogPurger, Subject
from cloudconsole.store.postgres.dsn import Dsn
from cloudconsole.store.postgres.pool import ReadConnection, connect, is_alive, translated_errors, within

log = logging.getLogger(__name__)

POLL_INTERVAL_SECONDS: Final = 0.25
LEASE_SECONDS: Final = 0.5
REPLICATION_WAIT_SECONDS: Final = 0.6
POLL_TIMEOUT_SECONDS: Final = 2.0
"""A look that takes longer has failed."""
MOST_WAITING: Final = 500
MOST_KNOWN: Final = 100_000
"""Changes of single tenants and sessions that are remembered; beyond, everything counts as changed."""


def elapsed_seconds() -> float:
    """Suspended or not; where there is no such clock, only while the machine was awake."""
    return time.clock_gettime(time.CLOCK_BOOTTIME) if hasattr(time, "CLOCK_BOOTTIME") else time.monotonic()


class ChangeLease:
    """One worker's; it begins with the first call."""

    def __init__(
        self,
        address: Dsn,
        on_other_server: Callable[[], Awaitable[None]],
        seconds: Callable[[], float] = elapsed_seconds,
    ) -> None:
        """`on_other_server` is called as soon as a look was answered by another server than the one before."""
        self._address = address
        self._on_other_server = on_other_server
        self._seconds = seconds
        self.latest = 0
        self._everything = 0
        self._changed: dict[Subject, int] = {}
        self._connecting: asyncio.Task[ReadConnection] | None = None
        self._connection: ReadConnection | None = None
        self._last: LogPosition | None = None
        self._server: str | None = None
        self._began = -math.inf
        """When the last look that succeeded began."""
        self._fails = False
        self._looking: asyncio.Task[None] | None = None
        self._keeping: asyncio.Task[None] | None = None
        self._sweeper = LogPurger(address, seconds)
        self._waiting = 0

    @property
    def is_held(self) -> bool:
        """Whether what is remembered may be used without another look."""
        return self._seconds() < self._began + LEASE_SECONDS

    @property
    def is_stale(self) -> bool:
        return self._fails and not self.is_held

    def tenant_version(self, tenant_id: int) -> int:
        return self._changed.get(tenant_id, self._everything)

    def session_version(self, id_hash: bytes) -> int:
        return self._changed.get(id_hash, self._everything)

    async def poll(self) -> None:
        asked = self._seconds()
        if asked < self._began + LEASE_SECONDS:
            return
        self._ensure_polling()
        # While the database cannot be asked, nobody waits for it: one look at a time tries, and all are told.
        if self._fails:
            raise Unavailable(of_store=True)
        if self._waiting >= MOST_WAITING:
            # Those come back: new connections for all of them would only make it worse.
            raise Unavailable(closes=False, of_store=True)
        self._waiting += 1
        try:
            # Either is enough: a look that began after the call did, or one that is under the lease.
            while self._began < asked and not self.is_held:
                await self._poll_shared()
        finally:
            self._waiting -= 1

    def _ensure_polling(self) -> None:
        keeping = self._keeping
        if keeping is None or keeping.done():
            if keeping is not None and not keeping.cancelled():
                log.error("looks for changes came to an end, and begin again", exc_info=keeping.exception())
            self._keeping = asyncio.create_task(self._keep_polling())

    async def _keep_polling(self) -> None:
        while True:
            with suppress(Unavailable):
                await self._poll_shared()
            await asyncio.sleep(POLL_INTERVAL_SECONDS)

    async def _poll_shared(self) -> None:
        """Those who come while a look is under way share it, and it outlives each of them."""
        looking = self._looking
        if looking is None or looking.done():
            looking = self._looking = asyncio.create_task(self._poll())
        await asyncio.wait({looking})
        problem = None if looking.cancelled() else looking.exception()
        if looking.cancelled() or problem is not None:
            raise Unavailable from problem and (problem.__cause__ or problem)

    async def _poll(self) -> None:
        began = self._seconds()
        try:
            with translated_errors():
                sight = await within(POLL_TIMEOUT_SECONDS, self._see(began))
            if self._server not in (None, sight.server):
                await self._on_other_server()
            self._learn(sight)
        except Exception as problem:
            if not self._fails:
                why, is_expected = problem.__cause__ or problem, isinstance(problem, Unavailable)
                log.warning("the database cannot be asked for changes: %s", why, exc_info=not is_expected)
            self._fails = True
            raise
        if self._fails:
            log.warning("the database can be asked for changes again")
        self._fails = False
        self._began = began
        self._sweeper.observe(sight)

    async def _see(self, began: float) -> LogPosition:
        connection, self._connection = self._connection, None
        if connection is None or not is_alive(connection):
            if connection is not None:
                await connection.close()
            # Whatever happened meanwhile, be it on another server: it is not known.
            self._last = None
            connection = await self._connected()
        if began - self._began > RETENTION_SECONDS / 2:
            self._last = None
        try:
            sight = await change_log.poll(connection, self._last)
        except BaseException:
            # What is half-way through is never used again.
            await connection.close()
            raise
        self._connection = connection
        return sight

    async def _connected(self) -> ReadConnection:
        """A new connection. With several hosts it may take longer than a look: then the next one waits for it, too."""
        if self._connecting is None or self._connecting.cancelled():
            self._connecting = asyncio.create_task(connect(self._address))
        await asyncio.wait({self._connecting})
        connecting, self._connecting = self._connecting, None
        return connecting.result()

    def _learn(self, sight: LogPosition) -> None:
        last, news = self._last, sight.news or ()
        if last is None or not sight.follows(last) or len(self._changed) + len(news) > MOST_KNOWN:
            self.latest += 1
            self._everything = self.latest
            self._changed.clear()
        elif news:
            self.latest += 1
            self._changed.update(dict.fromkeys(news, self.latest))
        self._last, self._server = sight, sight.server

    async def leave(self) -> None:
        if self._keeping is not None:
            self._keeping.cancel()
            await asyncio.wait({self._keeping})
        if self._looking is not None:
            # It is over before long by itself.
            await asyncio.wait({self._looking})
        if self._connecting is not None:
            self._connecting.cancel()
            with suppress(Exception, asyncio.CancelledError):
                await (await self._connecting).close()
        await self._sweeper.leave()
        self._keeping = self._looking = None
        if self._connection is not None:
            await self._connection.close()
            self._connection = None
