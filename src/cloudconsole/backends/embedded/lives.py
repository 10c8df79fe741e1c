"""Resources that time sets apart from a tenant's totals and its usage.

These count a resource without an end from the moment it is recorded, so those that start later are taken off
again; they never count one with an end, so those that had not ended by a moment are added.
"""

import math
from collections.abc import Iterable
from typing import Final, NamedTuple

from cloudconsole.core.resources import Amounts
from cloudconsole.store.counters import AMOUNTS_SQL
from cloudconsole.store.reader import Reading

_LIFE: Final = f"SELECT kind, node_id, started_at, ended_at, {AMOUNTS_SQL} FROM resources WHERE tenant_id = :tenant"
_SET_APART: Final = f"""
    {_LIFE} AND started_at > :now AND ended_at IS NULL
    UNION ALL
    {_LIFE} AND ended_at >= :ended_since
"""


class Life(NamedTuple):
    """One resource's interval and amounts."""

    kind: str
    node_id: int | None
    started_at: int
    ended_at: int | None
    amounts: Amounts


async def lives_set_apart(reader: Reading, tenant_id: int, now: float, ended_since: float) -> list[Life]:
    """Those without an end that have not started yet, and those with an end not before the given moment."""
    # Whole seconds, as the columns have them: a database need not look into an index of them for anything else.
    moments = {"now": math.floor(now), "ended_since": math.ceil(ended_since)}
    rows = await reader.all(_SET_APART, {"tenant": tenant_id, **moments})
    return [Life(kind, node_id, start, end, Amounts(*amounts)) for kind, node_id, start, end, *amounts in rows]


def next_change(lives: Iterable[Life], now: float) -> float:
    """The next moment at which one of them starts or ends."""
    moments = (moment for life in lives for moment in (life.started_at, life.ended_at))
    return min((moment for moment in moments if moment is not None and moment > now), default=math.inf)
