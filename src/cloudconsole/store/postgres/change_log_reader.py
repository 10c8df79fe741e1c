"""Reading of the change log, which triggers write."""

from typing import Final, NamedTuple

from cloudconsole.store.postgres.pool import ReadConnection, rows

RETENTION_SECONDS: Final = 600
"""A worker that has not polled for half as long must treat everything as changed."""
MAX_CHANGES_PER_POLL: Final = 10_000
"""Tenants and sessions per poll; beyond this, everything counts as changed."""

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
