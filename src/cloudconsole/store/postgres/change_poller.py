"""A lease on cached data, renewed by polling the change log.

Triggers write a change-log row with every change, in its transaction. Each worker polls for new rows every
`POLL_INTERVAL_SECONDS` and uses its caches only while its last successful poll began less than `LEASE_SECONDS` ago. A
change is acknowledged `REPLICATION_WAIT_SECONDS` after its commit. So a request that begins after the acknowledgement
finds either a poll that began after the commit, or no lease, and then waits for a new poll. Pauses, lost connections
and restarts only end leases; no request costs a query; clocks of different machines are never compared.

The clock keeps running while the machine is suspended. While a host pauses a virtual machine, all its clocks stop: the
rest of a lease, half a second at most, is still valid when it resumes. The next poll detects by the database server's
clock whether the pause was so long that rows may have been purged in the meantime.
"""

import asyncio
import logging
import math
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Final

from cloudconsole.spec.errors import Unavailable
from cloudconsole.store.postgres import change_log_reader
from cloudconsole.store.postgres.change_log_purge import LogPurger
from cloudconsole.store.postgres.change_log_reader import RETENTION_SECONDS, LogPosition, Subject
from cloudconsole.store.postgres.dsn import Dsn
from cloudconsole.store.postgres.pool import ReadConnection, connect, is_alive, translated_errors, within

log = logging.getLogger(__name__)

POLL_INTERVAL_SECONDS: Final = 0.25
LEASE_SECONDS: Final = 0.5
REPLICATION_WAIT_SECONDS: Final = 0.6
POLL_TIMEOUT_SECONDS: Final = 2.0
"""A poll that takes longer has failed."""
MAX_WAITING: Final = 500
MAX_KNOWN_CHANGES: Final = 100_000
"""Changes of single tenants and sessions in memory; beyond this, everything counts as changed."""


def elapsed_seconds() -> float:
    """Return elapsed time including suspension, where the platform has such a clock."""
    return time.clock_gettime(time.CLOCK_BOOTTIME) if hasattr(time, "CLOCK_BOOTTIME") else time.monotonic()


class ChangeLease:
    """The lease of one worker; polling starts with the first request."""

    def __init__(
        self,
        address: Dsn,
        on_other_server: Callable[[], Awaitable[None]],
        seconds: Callable[[], float] = elapsed_seconds,
    ) -> None:
        """`on_other_server` is called when a poll reaches another server than the previous poll."""
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
        """When the last successful poll began."""
        self._is_failing = False
        self._polling: asyncio.Task[None] | None = None
        self._poller: asyncio.Task[None] | None = None
        self._purger = LogPurger(address, seconds)
        self._waiting = 0

    @property
    def is_held(self) -> bool:
        """Whether caches may be used without another poll."""
        return self._seconds() < self._began + LEASE_SECONDS

    @property
    def is_stale(self) -> bool:
        return self._is_failing and not self.is_held

    def tenant_version(self, tenant_id: int) -> int:
        return self._changed.get(tenant_id, self._everything)

    def session_version(self, id_hash: bytes) -> int:
        return self._changed.get(id_hash, self._everything)

    async def poll(self) -> None:
        called = self._seconds()
        if called < self._began + LEASE_SECONDS:
            return
        self._ensure_polling()
        # While the database is unreachable, requests fail at once instead of waiting for the next poll.
        if self._is_failing:
            raise Unavailable(of_store=True)
        if self._waiting >= MAX_WAITING:
            # The clients retry: reconnecting would only add load.
            raise Unavailable(closes=False, of_store=True)
        self._waiting += 1
        try:
            # Either is enough: a poll that began after this call, or a valid lease.
            while self._began < called and not self.is_held:
                await self._poll_shared()
        finally:
            self._waiting -= 1

    def _ensure_polling(self) -> None:
        poller = self._poller
        if poller is None or poller.done():
            if poller is not None and not poller.cancelled():
                log.error("change poller exited; restarting", exc_info=poller.exception())
            self._poller = asyncio.create_task(self._keep_polling())

    async def _keep_polling(self) -> None:
        while True:
            with suppress(Unavailable):
                await self._poll_shared()
            await asyncio.sleep(POLL_INTERVAL_SECONDS)

    async def _poll_shared(self) -> None:
        """Wait for the poll in progress, or start one; it survives the cancellation of its waiters."""
        polling = self._polling
        if polling is None or polling.done():
            polling = self._polling = asyncio.create_task(self._poll())
        await asyncio.wait({polling})
        problem = None if polling.cancelled() else polling.exception()
        if polling.cancelled() or problem is not None:
            raise Unavailable from problem and (problem.__cause__ or problem)

    async def _poll(self) -> None:
        began = self._seconds()
        try:
            with translated_errors():
                position = await within(POLL_TIMEOUT_SECONDS, self._read(began))
            if self._server not in (None, position.server):
                await self._on_other_server()
            self._apply(position)
        except Exception as problem:
            if not self._is_failing:
                reason, is_expected = problem.__cause__ or problem, isinstance(problem, Unavailable)
                log.warning("cannot poll the database for changes: %s", reason, exc_info=not is_expected)
            self._is_failing = True
            raise
        if self._is_failing:
            log.warning("polling the database for changes works again")
        self._is_failing = False
        self._began = began
        self._purger.observe(position)

    async def _read(self, began: float) -> LogPosition:
        connection, self._connection = self._connection, None
        if connection is None or not is_alive(connection):
            if connection is not None:
                await connection.close()
            # Changes during the disconnection, or on another server, are unknown.
            self._last = None
            connection = await self._connected()
        if began - self._began > RETENTION_SECONDS / 2:
            self._last = None
        try:
            position = await change_log_reader.poll(connection, self._last)
        except BaseException:
            # An interrupted connection is not reused.
            await connection.close()
            raise
        self._connection = connection
        return position

    async def _connected(self) -> ReadConnection:
        """Return a new connection. With several hosts it may outlast a poll; the next poll waits for it too."""
        if self._connecting is None or self._connecting.cancelled():
            self._connecting = asyncio.create_task(connect(self._address))
        await asyncio.wait({self._connecting})
        connecting, self._connecting = self._connecting, None
        return connecting.result()

    def _apply(self, position: LogPosition) -> None:
        last, changes = self._last, position.news or ()
        if last is None or not position.follows(last) or len(self._changed) + len(changes) > MAX_KNOWN_CHANGES:
            self.latest += 1
            self._everything = self.latest
            self._changed.clear()
        elif changes:
            self.latest += 1
            self._changed.update(dict.fromkeys(changes, self.latest))
        self._last, self._server = position, position.server

    async def leave(self) -> None:
        if self._poller is not None:
            self._poller.cancel()
            await asyncio.wait({self._poller})
        if self._polling is not None:
            # It ends soon by its timeout.
            await asyncio.wait({self._polling})
        if self._connecting is not None:
            self._connecting.cancel()
            with suppress(Exception, asyncio.CancelledError):
                await (await self._connecting).close()
        await self._purger.leave()
        self._poller = self._polling = None
        if self._connection is not None:
            await self._connection.close()
            self._connection = None
