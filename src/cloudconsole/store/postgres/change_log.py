"""Read and purge the trigger-written change log."""

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
"""Whoever has not looked for half as long must take everything for changed."""
MOST_SEEN: Final = 10_000
"""Tenants and sessions that one look takes in; beyond, everything counts as changed."""
PURGE_BATCH: Final = 10_000

HISTORY: Final = """concat_ws(' ',
    extract(epoch FROM pg_postmaster_start_time()), CAST(CAST('signals' AS regclass) AS oid),
    (SELECT oid FROM pg_database WHERE datname = current_database())
)"""
"""The SQL of what another server, one that was started again, and tables that were put back do not share."""

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
"""A tenant's id, or the hash of a session's."""


class LogPosition(NamedTuple):
    """What one look saw."""

    snapshot: str
    floor: int
    server: str
    """Its history: another has another."""
    clock: float
    """The server's, in seconds."""
    shared: int
    news: frozenset[Subject] | None
    """What has changed since the look before; None: everything, or more than a look takes in."""

    def follows(self, before: "LogPosition") -> bool:
        """Whether nothing else has changed in between than is among the news."""
        return (
            self.news is not None
            and (self.server, self.shared) == (before.server, before.shared)
            and self.floor >= before.floor
            # While we were paused, our own clock may have stood still, and signals may have been swept.
            and 0 <= self.clock - before.clock < RETENTION_SECONDS / 2
        )


async def poll(connection: ReadConnection, last: LogPosition | None) -> LogPosition:
    found = await rows(connection, _POLL, {"last": last and last.snapshot, "most": MOST_SEEN})
    news = {tenant_id if id_hash is None else id_hash for *_, is_signal, tenant_id, id_hash in found if is_signal}
    is_everything = None in news or len(found) > MOST_SEEN
    snapshot, floor, server, clock, shared = found[0][:5]
    return LogPosition(snapshot, floor, server, clock, shared, None if is_everything else frozenset(news))


async def purge(connection: ReadConnection, floor: int, server: str) -> int:
    """Remove some signals below a floor that was seen there, and only there; gives how many those were."""
    return (await connection.execute(_PURGE, {"floor": str(floor), "server": server})).rowcount


log = logging.getLogger(__name__)

CHECKPOINT_SECONDS: Final = 60
PURGE_SECONDS: Final = 30
"""What is left by then, a later sweep takes."""


class Checkpoint(NamedTuple):
    at: float
    """When the look was over."""
    floor: int
    server: str


class LogPurger:
    def __init__(self, address: Dsn, seconds: Callable[[], float]) -> None:
        self._address = address
        self._seconds = seconds
        self._notes = deque[Checkpoint]()
        self._note_at = seconds() + random.uniform(0, CHECKPOINT_SECONDS)  # noqa: S311 - so that workers take turns
        self._sweeping: asyncio.Task[None] | None = None

    def observe(self, sight: LogPosition) -> None:
        """After each look; a sweep that is due goes on by itself."""
        now = self._seconds()
        if now < self._note_at:
            return
        self._note_at = now + CHECKPOINT_SECONDS
        self._notes.append(Checkpoint(now, sight.floor, sight.server))
        due = None
        while self._notes[0].at <= now - RETENTION_SECONDS:
            due = self._notes.popleft()
        if due is not None and (self._sweeping is None or self._sweeping.done()):
            self._sweeping = asyncio.create_task(self._sweep(due))

    async def _sweep(self, note: Checkpoint) -> None:
        try:
            with translated_errors():
                await within(PURGE_SECONDS, self._remove(note))
        except Unavailable as problem:
            log.warning("signals of changes cannot be swept: %s", problem.__cause__)

    async def _remove(self, note: Checkpoint) -> None:
        """By a connection of its own, so that no look has to wait; it may lead to another server, which says so."""
        connection = await connect(self._address)
        try:
            while await purge(connection, note.floor, note.server) == PURGE_BATCH:
                pass
        finally:
            # This does not wait for the server, which may be what does not answer.
            await connection.close()

    async def leave(self) -> None:
        if self._sweeping is not None:
            self._sweeping.cancel()
            await asyncio.wait({self._sweeping})
