"""Sums of billing entries by month, for tenants with many, so that reports need not read them all."""

import math
from collections import Counter
from collections.abc import Iterable
from functools import lru_cache
from operator import itemgetter
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, TextClause, delete, func, select, text

from cloudconsole.core.billing_hours import HOUR, Calendar
from cloudconsole.store.sql import given_values, insert_rows, json_of
from cloudconsole.store.tables import BILLED_AMOUNTS, NO_NODE, billing_entries, monthly_sums

MANY_ENTRIES: Final = 2000
"""Tenants with more entries have sums."""
_MAX_CHECKED: Final = 10
"""Tenants of a transaction that are looked at, those with most entries in it first."""

_VALUES: Final = ("tenant_id", "kind", "node_id", "type", "counts_from", "skips_hour", *BILLED_AMOUNTS)
_SUMS: Final = [f"{name}{suffix}" for suffix in ("", "_delay") for name in BILLED_AMOUNTS]
_ADD_SUMS: Final = f"""
    ON CONFLICT (tenant_id, start, kind, node_id, type) DO UPDATE SET
        {", ".join(f"{name} = monthly_sums.{name} + excluded.{name}" for name in _SUMS)}
"""
_ROWS_PER_FETCH: Final = 5000

SumValues = tuple[Any, ...]
"""The values of an entry that are summed up, in the order of `_VALUES`."""

sum_values: Final = itemgetter(*_VALUES)
_counts_from: Final = itemgetter(_VALUES.index("counts_from"))


def summed_tenants(connection: Connection, tenant_ids: Iterable[int]) -> set[int]:
    query = _summed_tenants(connection.dialect.name)
    return set(connection.scalars(query, {"given": json_of(tenant_ids)}))


@lru_cache(maxsize=2)
def _summed_tenants(dialect: str) -> TextClause:
    # Constant: building and compiling an expression takes longer than the query.
    given = given_values(dialect, monthly_sums.c.tenant_id)
    return text(f"SELECT DISTINCT tenant_id FROM monthly_sums WHERE tenant_id IN ({given})")


def add_sums(connection: Connection, rows: Iterable[SumValues], calendar: Calendar) -> None:
    """Add new entries of tenants that have sums."""
    sums: dict[tuple[Any, ...], list[int]] = {}
    start = first_hour = 0
    end = -math.inf
    # In the order of time, so that the span is looked up once for all its rows.
    for tenant_id, kind, node_id, type_name, counts_from, skips_hour, items, vcpus, ram_gb, size_gb in sorted(
        rows, key=_counts_from
    ):
        if counts_from >= end:
            span = calendar.span_at(counts_from)
            start, first_hour, end = span.start, span.first_hour, span.end
        delay = (counts_from - first_hour) // HOUR + skips_hour
        key = tenant_id, start, kind, node_id or NO_NODE, type_name or ""
        known = sums.get(key)
        if known is None:
            known = sums[key] = [0] * len(_SUMS)
        known[0] += items
        known[1] += vcpus
        known[2] += ram_gb
        known[3] += size_gb
        known[4] += items * delay
        known[5] += vcpus * delay
        known[6] += ram_gb * delay
        known[7] += size_gb * delay
    names = "tenant_id", "start", "kind", "node_id", "type", *_SUMS
    found = (dict(zip(names, (*key, *values), strict=True)) for key, values in sums.items())
    insert_rows(connection, monthly_sums, found, _ADD_SUMS)


def begin_sums(connection: Connection, new_entries: Counter[int], summed: set[int], calendar: Calendar) -> None:
    """Sum up all entries of tenants that have many by now; `new_entries` are in the store already."""
    column = billing_entries.c.tenant_id
    checked = [tenant_id for tenant_id, _ in new_entries.most_common(_MAX_CHECKED) if tenant_id not in summed]
    if checked:
        many = select(column).where(column.in_(checked)).group_by(column).having(func.count() > MANY_ENTRIES)
        for tenant_id in connection.scalars(many).all():
            _sum_up(connection, column == tenant_id, calendar)


def rebuild_sums(connection: Connection, since: int, calendar: Calendar) -> None:
    """Sum up the entries of open months in another time zone."""
    summed = list(connection.scalars(select(monthly_sums.c.tenant_id).distinct()))
    connection.execute(delete(monthly_sums).where(monthly_sums.c.start >= since))
    columns = billing_entries.c
    for tenant_id in summed:
        _sum_up(connection, (columns.tenant_id == tenant_id) & (columns.counts_from >= since), calendar)


def _sum_up(connection: Connection, condition: ColumnElement[bool], calendar: Calendar) -> None:
    query = select(*(billing_entries.c[name] for name in _VALUES)).where(condition)
    for rows in connection.execute(query.execution_options(yield_per=_ROWS_PER_FETCH)).partitions():
        add_sums(connection, map(tuple, rows), calendar)
