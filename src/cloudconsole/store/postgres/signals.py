"""What triggers write down of every change, and how a look finds those signals that it has not seen.

A signal carries the number of its transaction. Transactions end in another order than they began in, so the number of
the last signal seen says nothing of the next. But each snapshot knows which transactions were still under way, and
below which number (its floor) none was. A look therefore asks for the signals of those that the last look's snapshot
knew to be under way, and of all that have begun since: these and no others it has not seen. However long a transaction
stays open, no signal is handed over twice.

Signals are swept by such floors, too, not by their age. What is below the floor of a look had ended when that look was
over, so whoever began to look later has seen it. Once the look is `KEPT_SECONDS` ago, anyone else has not looked for as
long, and takes everything for changed (after half as long already, because clocks and looks take their time).
"""

from typing import Final, NamedTuple

from cloudconsole.store.postgres.connections import Held, rows

KEPT_SECONDS: Final = 600
"""Whoever has not looked for half as long must take everything for changed."""
MOST_SEEN: Final = 10_000
"""Tenants and sessions that one look takes in; beyond, everything counts as changed."""
SWEPT_AT_ONCE: Final = 10_000

HISTORY: Final = """concat_ws(' ',
    extract(epoch FROM pg_postmaster_start_time()), CAST(CAST('signals' AS regclass) AS oid),
    (SELECT oid FROM pg_database WHERE datname = current_database())
)"""
"""The SQL of what another server, one that was started again, and tables that were put back do not share."""

_LOOK: Final = f"""
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
_SWEEP: Final = f"""
    DELETE FROM signals WHERE ctid = ANY (ARRAY(
        SELECT ctid FROM signals WHERE xact < %(floor)s::text::xid8 AND {HISTORY} = %(server)s
        LIMIT {SWEPT_AT_ONCE} FOR UPDATE SKIP LOCKED
    ))
"""

Subject = int | bytes
"""A tenant's id, or the hash of a session's."""


class Sight(NamedTuple):
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

    def follows(self, before: "Sight") -> bool:
        """Whether nothing else has changed in between than is among the news."""
        return (
            self.news is not None
            and (self.server, self.shared) == (before.server, before.shared)
            and self.floor >= before.floor
            # While we were paused, our own clock may have stood still, and signals may have been swept.
            and 0 <= self.clock - before.clock < KEPT_SECONDS / 2
        )


async def look(connection: Held, last: Sight | None) -> Sight:
    found = await rows(connection, _LOOK, {"last": last and last.snapshot, "most": MOST_SEEN})
    news = {tenant_id if id_hash is None else id_hash for *_, is_signal, tenant_id, id_hash in found if is_signal}
    is_everything = None in news or len(found) > MOST_SEEN
    snapshot, floor, server, clock, shared = found[0][:5]
    return Sight(snapshot, floor, server, clock, shared, None if is_everything else frozenset(news))


async def sweep(connection: Held, floor: int, server: str) -> int:
    """Remove some signals below a floor that was seen there, and only there; gives how many those were."""
    return (await connection.execute(_SWEEP, {"floor": str(floor), "server": server})).rowcount
