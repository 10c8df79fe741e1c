"""What triggers write down of every change, and how a look finds those signals that it has not seen.

A signal carries the number of its transaction. Transactions end in another order than they began in, so the number of
the last signal seen says nothing of the next. But each snapshot knows the oldest transaction that was still under way
(its floor): whatever was committed since has that number or a later one. A look therefore asks for all signals from
the last look's floor on; those it has seen before, it knows by their ids.
"""

from typing import Final, NamedTuple

from cloudconsole.store.postgres.connections import Held, rows

KEPT_SECONDS: Final = 600
"""Whoever has not looked for half as long must take everything for changed."""

_LOOK: Final = """
    SELECT floor, server, shared, signals.id, signals.tenant_ids, signals.id_hash
    FROM (
        SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint AS floor,
            pg_postmaster_start_time()::text AS server, (SELECT number FROM shared_changes) AS shared
    ) AS present LEFT JOIN signals ON signals.xact >= %s::text::xid8
"""
_SWEEP: Final = f"""
    DELETE FROM signals WHERE id IN (
        SELECT id FROM signals WHERE at < now() - interval '{KEPT_SECONDS} seconds' LIMIT 10000 FOR UPDATE SKIP LOCKED
    )
"""
_BEYOND_ALL: Final = 2**62

Subject = int | bytes
"""A tenant's id, or the hash of a session's."""


class Sight(NamedTuple):
    """What one look saw."""

    floor: int
    server: str
    """When it was started: another has another history."""
    shared: int
    signals: dict[int, tuple[Subject, ...]]

    def follows(self, before: "Sight") -> bool:
        """Whether all that has changed in between is among the signals."""
        return self.server == before.server and self.shared == before.shared and self.floor >= before.floor

    def news(self, before: "Sight") -> set[Subject]:
        fresh = (subjects for number, subjects in self.signals.items() if number not in before.signals)
        return set().union(*fresh)


async def look(connection: Held, last: Sight | None) -> Sight:
    floor = _BEYOND_ALL if last is None else last.floor
    found = await rows(connection, _LOOK, (str(floor),))
    signals = {
        number: (id_hash,) if tenant_ids is None else tuple(tenant_ids) for *_, number, tenant_ids, id_hash in found
    }
    signals.pop(None, None)
    present, server, shared = found[0][:3]
    return Sight(present, server, shared, signals)


async def sweep(connection: Held) -> None:
    """Remove signals that everyone has seen, or is too late for."""
    await connection.execute(_SWEEP)
