"""Comparison of the billing record with the resources, and its correction."""

from collections.abc import Iterator
from datetime import tzinfo
from typing import Final, NamedTuple

from sqlalchemy import Connection, FromClause, delete, func, literal, literal_column, select

from cloudconsole.core.billing import CostKey
from cloudconsole.core.pricing import PriceBook
from cloudconsole.core.resources import PRICED_UNITS
from cloudconsole.spec.records import BillableType
from cloudconsole.store.billing.entries import EntryRow, entry_row, open_record, write_entries
from cloudconsole.store.billing.state import last_readings
from cloudconsole.store.counters import RAM_GB_SQL
from cloudconsole.store.tables import BILLED_AMOUNTS, NO_NODE, billing_entries, monthly_sums, resources, tenants

Key = tuple[int, BillableType, int]
"""Tenant, kind and node."""
AmountsByKey = dict[Key, tuple[int, ...]]


_RUNNING: Final = (
    select(
        *(resources.c[name] for name in ("tenant_id", "kind", "node_id", "vcpus", "size_gb")),
        literal(1).label("items"),
        literal_column(RAM_GB_SQL).label("ram_gb"),
    )
    .where(resources.c.ended_at.is_(None), resources.c.kind.in_(PRICED_UNITS))
    .subquery()
)


class Difference(NamedTuple):
    key: Key
    recorded: tuple[int, ...]
    actual: tuple[int, ...]
    """Equal if only the sums by month are wrong."""


def differences(connection: Connection) -> list[Difference]:
    """Return where the record of what runs, or its sums, differ from the resources.

    Resources of OpenStack projects are not in the store.
    """
    actual = _amounts_by_key(connection, _RUNNING)
    recorded = _amounts_by_key(connection, billing_entries)
    sums = _amounts_by_key(connection, monthly_sums)
    summed = set(connection.scalars(select(monthly_sums.c.tenant_id).distinct()))
    projects = last_readings(connection)
    stored = {key for key in actual.keys() | recorded.keys() if key[0] not in projects}
    wrong = {key for key in stored if actual.get(key) != recorded.get(key)}
    wrong |= {key for key in recorded.keys() | sums.keys() if key[0] in summed and recorded.get(key) != sums.get(key)}
    nothing = (0,) * len(BILLED_AMOUNTS)
    present = {key: recorded.get(key, nothing) if key[0] in projects else actual.get(key, nothing) for key in wrong}
    return [Difference(key, recorded.get(key, nothing), present[key]) for key in sorted(wrong)]


def _amounts_by_key(connection: Connection, source: FromClause) -> AmountsByKey:
    columns = source.c
    key = columns.tenant_id, columns.kind, func.coalesce(columns.node_id, NO_NODE)
    query = select(*key, *(func.sum(columns[name]) for name in BILLED_AMOUNTS)).group_by(*key)
    return {(row[0], row[1], row[2]): tuple(map(int, row[3:])) for row in connection.execute(query) if any(row[3:])}


def incorrect_record(connection: Connection) -> list[str]:
    """Describe each difference; call this in a transaction."""
    found = differences(connection)
    query = select(tenants.c.id, tenants.c.name)
    names = {row.id: row.name for row in connection.execute(query)} if found else {}
    return [f"recorded {kind} of tenant {names.get(tenant, tenant)}" for (tenant, kind, _), _, _ in found]


def repair_record(connection: Connection, now: int, zone: tzinfo) -> None:
    """Record the differences as changes of this hour, after a recount; the next entry rebuilds the sums."""
    found = differences(connection)
    if not found:
        return
    wrong = {key[0] for key, _, _ in found}
    connection.execute(delete(monthly_sums).where(monthly_sums.c.tenant_id.in_(wrong)))
    state, calendar = open_record(connection, now, zone)
    # The clock may have been set back.
    moment = max(now, state.open_from)
    write_entries(connection, list(_corrections(found, moment)), state, calendar, PriceBook(()))


def _corrections(found: list[Difference], now: int) -> Iterator[EntryRow]:
    for (tenant_id, kind, node_id), recorded, actual in found:
        amounts = [new - old for new, old in zip(actual, recorded, strict=True)]
        yield entry_row(tenant_id, "recount", CostKey(kind, node_id or None), amounts, now, now)
