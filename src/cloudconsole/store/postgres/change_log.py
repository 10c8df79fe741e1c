"""Reading and purging of the change log, which triggers write."""

import asyncio
import logging
import random
from collections import deque
from collections.abc import Callable
from typing import Final, NamedTuple

from cloudconsole.spec.errors import Unavailable
from cloudconsole.store.postgres.dsn import Dsn
from cloudconsole.store.postgres.pool import ReadConnection, connect, rows, translated_errors, within

RETENTION_SECONDS: Final = 600
"""A worker that has not polled for half as long must treat everything as changed."""
MAX_CHANGES_PER_POLL: Final = 10_000
"""Tenants and sessions per poll; beyond this, everything counts as changed."""
PURGE_BATCH: Final = 10_000

HISTORY: Final = """concat_ws(' ',
    extract(epoch FROM pg_postmaster_start_time()), CAST(CAST('signals' AS regclass) AS oid),
    (SELECT oid FROM pg_database WHERE datname = current_database())
)"""
"""SQL for a value that changes with the server, its restart, and a restore of the tables."""

_POLL: Final = f"""
    WITH begun_since AS (
        SELECT * FROM signals WHERE xact >= pg_snapshot_xmax(%(last)s::pg_snapshot) ORDER BY xact LIMIT %(most)s + 1
    ), under_way_then AS (
        SELECT * FROM signals WHERE xact = ANY (ARRAY(SELECT pg_snapshot_xip(%(last)s::pg_snapshot)))
    ), fresh AS (
        SELECT true AS is_signal, tenant_id, id_hash
        FROM (TABLE begun_since UNION ALL TABLE under_way_then) AS unseen
        LEFT JOIN LATERAL unnest(tenant_ids) AS tenant_id ON true
        LIMIT %(most)s + 1
    )
    SELECT snapshot, floor, server, clock, shared, is_signal, tenant_id, id_hash
    FROM (
        SELECT pg_current_snapshot()::text AS snapshot,
            pg_snapshot_xmin(pg_current_snapshot())::text::bigint AS floor,
            {HISTORY} AS server,
            extract(epoch FROM clock_timestamp())::float8 AS clock,
            (SELECT number FROM shared_changes) AS shared
    ) AS present LEFT JOIN fresh ON true
"""
_PURGE: Final = f"""
    DELETE FROM signals WHERE ctid = ANY (ARRAY(
        SELECT ctid FROM signals WHERE xact < %(floor)s::text::xid8 AND {HISTORY} = %(server)s
        LIMIT {PURGE_BATCH} FOR UPDATE SKIP LOCKED
    ))
"""

Subject = int | bytes
"""A tenant's id, or the hash of a session id."""


class LogPosition(NamedTuple):
    """The result of one poll."""

    snapshot: str
    floor: int
    server: str
    """`HISTORY`, which identifies the server."""
    clock: float
    """The server's clock in seconds."""
    shared: int
    news: frozenset[Subject] | None
    """What has changed since the previous poll; None for everything, or for too much to list."""

    def follows(self, before: "LogPosition") -> bool:
        """Return whether `news` lists all changes since the given position."""
        return (
            self.news is not None
            and (self.server, self.shared) == (before.server, before.shared)
            and self.floor >= before.floor
            # During a pause the local clock may have stopped, and rows may have been purged.
            and 0 <= self.clock - before.clock < RETENTION_SECONDS / 2
        )


async def poll(connection: ReadConnection, last: LogPosition | None) -> LogPosition:
    result = await rows(connection, _POLL, {"last": last and last.snapshot, "most": MAX_CHANGES_PER_POLL})
    news = {tenant_id if id_hash is None else id_hash for *_, is_signal, tenant_id, id_hash in result if is_signal}
    is_everything = None in news or len(result) > MAX_CHANGES_PER_POLL
    snapshot, floor, server, clock, shared = result[0][:5]
    return LogPosition(snapshot, floor, server, clock, shared, None if is_everything else frozenset(news))


async def purge(connection: ReadConnection, floor: int, server: str) -> int:
    """Remove a batch of rows below a floor, only on the server where it was read; return their number."""
    return (await connection.execute(_PURGE, {"floor": str(floor), "server": server})).rowcount


log = logging.getLogger(__name__)

CHECKPOINT_SECONDS: Final = 60
PURGE_SECONDS: Final = 30
"""A later purge removes what is left by then."""


class Checkpoint(NamedTuple):
    at: float
    """When the poll was over."""
    floor: int
    server: str


class LogPurger:
    def __init__(self, address: Dsn, seconds: Callable[[], float]) -> None:
        self._address = address
        self._seconds = seconds
        self._checkpoints = deque[Checkpoint]()
        self._next_checkpoint = seconds() + random.uniform(0, CHECKPOINT_SECONDS)  # noqa: S311 - spreads the workers over time
        self._purging: asyncio.Task[None] | None = None

    def observe(self, position: LogPosition) -> None:
        """Take a checkpoint if due, and start a purge in the background; called after each poll."""
        now = self._seconds()
        if now < self._next_checkpoint:
            return
        self._next_checkpoint = now + CHECKPOINT_SECONDS
        self._checkpoints.append(Checkpoint(now, position.floor, position.server))
        due = None
        while self._checkpoints[0].at <= now - RETENTION_SECONDS:
            due = self._checkpoints.popleft()
        if due is not None and (self._purging is None or self._purging.done()):
            self._purging = asyncio.create_task(self._purge(due))

    async def _purge(self, checkpoint: Checkpoint) -> None:
        try:
            with translated_errors():
                await within(PURGE_SECONDS, self._remove(checkpoint))
        except Unavailable as problem:
            log.warning("cannot purge the change log: %s", problem.__cause__)

    async def _remove(self, checkpoint: Checkpoint) -> None:
        """Purge over a separate connection, so that no poll waits; `server` guards against reaching another one."""
        connection = await connect(self._address)
        try:
            while await purge(connection, checkpoint.floor, checkpoint.server) == PURGE_BATCH:
                pass
        finally:
            # This does not wait for the server, which may be hanging.
            await connection.close()

    async def leave(self) -> None:
        if self._purging is not None:
            self._purging.cancel()
            await asyncio.wait({self._purging})
