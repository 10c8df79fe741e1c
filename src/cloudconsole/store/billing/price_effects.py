"""Which past hours cost more or less after a change of a price, and those of how many resources."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import tzinfo
from typing import Any, Final, NamedTuple

from sqlalchemy import Connection, Integer, cast, func, or_, select

from cloudconsole.core.billing import CostKey
from cloudconsole.core.billing_hours import HOUR, Span
from cloudconsole.core.pricing import PriceBook
from cloudconsole.core.resources import Amounts
from cloudconsole.store.billing.entries import open_record
from cloudconsole.store.billing.prices import known_prices, price_rows, prices_of
from cloudconsole.store.tables import billing_entries

Row = Mapping[str, Any]

_ONE_OF_EACH: Final = Amounts(items=1, vcpus=1, ram_gb=1, size_gb=1)


class PriceEffect(NamedTuple):
    hours: int
    start: int
    end: int
    resources: int
    tenants: int
    concerns_closed_months: bool


def price_effect(
    connection: Connection, before: Row | None, after: Row | None, now: int, zone: tzinfo
) -> PriceEffect | None:
    """Return what a new, changed or removed price changes up to the current hour, or None if nothing ran then."""
    rows = list(price_rows(before, after, now))
    first = min((row["start"] if row["until"] is None else row["until"] for row in rows), default=now + 1)
    if first > now:
        return None
    keys = _keys(connection, rows)
    if not keys:
        return None
    state, calendar = open_record(connection, now, zone)
    first = max(first, state.complete_since, min(keys.values()))
    if first > now:
        return None
    known = known_prices(connection)
    books = PriceBook(known), PriceBook(prices_of([*known, *_as_prices(rows)]))
    start = calendar.span_at(first).hour_start(first)
    end = calendar.span_at(now).hour_end(now)
    parts = calendar.divide(start, end, sorted({moment for book in books for moment in book.starts}))
    changed = {key: found for key in keys if (found := [part for part in parts if _differs(books, key, part)])}
    counts = _counts(connection, {key: (found[0].start, found[-1].end) for key, found in changed.items()})
    if not counts:
        return None
    hours = sorted({part for key in counts for part in changed[key]})
    resources = {each for found in counts.values() for each in found}
    return PriceEffect(
        hours=sum(part.hours for part in hours),
        start=hours[0].start,
        end=hours[-1].end,
        resources=len(resources),
        tenants=len({tenant_id for tenant_id, _ in resources}),
        concerns_closed_months=hours[0].start < state.closed_until,
    )


def _keys(connection: Connection, rows: Iterable[Row]) -> dict[CostKey, int]:
    """Return what may have one of these prices, and from when on the record has it."""
    columns = billing_entries.c
    concerned = [
        (columns.kind == row["kind"])
        & (columns.node_id == row["node_id"] if row["node_id"] is not None else columns.kind == row["kind"])
        & (columns.type == row["type"] if row["type"] is not None else columns.kind == row["kind"])
        for row in rows
    ]
    names = columns.kind, columns.node_id, columns.type
    query = select(*names, func.min(columns.at)).where(or_(*concerned), columns.resource_id != "").group_by(*names)
    return {CostKey(kind, node_id, of_type): at for kind, node_id, of_type, at in connection.execute(query)}


def _as_prices(rows: Iterable[Row]) -> Iterable[Sequence[Any]]:
    names = ("kind", "unit", "node_id", "start", "billionths", "type", "until")
    return (tuple(row[name] for name in names) for row in rows)


def _differs(books: Sequence[PriceBook], key: CostKey, part: Span) -> bool:
    old, new = (book.hourly(key.kind, key.node_id, _ONE_OF_EACH, part.end - 1, key.type) for book in books)
    # A first price completes hours that have no cost yet.
    return old is not None and old != new


def _counts(connection: Connection, periods: Mapping[CostKey, tuple[int, int]]) -> dict[CostKey, list[tuple[int, str]]]:
    """Return tenant and id of the resources that ran in each period; keys without any are omitted."""
    columns = billing_entries.c
    found = {}
    for key, (start, end) in periods.items():
        running = cast(func.sum(columns["items"]), Integer)
        # Other changes than ends count from the beginning of their hour.
        last_hour = func.max(columns.at - HOUR * (1 - columns.is_end))
        query = (
            select(columns.tenant_id, columns.resource_id)
            .where(columns.kind == key.kind, columns.node_id.is_not_distinct_from(key.node_id))
            .where(columns.type.is_not_distinct_from(key.type), columns.at < end, columns.resource_id != "")
            .group_by(columns.tenant_id, columns.resource_id)
            .having(or_(running > 0, last_hour >= start))
        )
        if resources := [(tenant_id, resource_id) for tenant_id, resource_id in connection.execute(query)]:
            found[key] = resources
    return found
