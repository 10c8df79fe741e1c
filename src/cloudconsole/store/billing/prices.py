"""The timeline of prices; a price for closed months corrects them in the open one."""

from collections.abc import Iterable, Iterator, Mapping
from datetime import tzinfo
from functools import reduce
from typing import Any, Final

from sqlalchemy import Connection, or_, select

from cloudconsole.core.billing import CostKey, Entry, total_cost
from cloudconsole.core.billing_hours import Calendar
from cloudconsole.core.pricing import Price, PriceBook
from cloudconsole.core.resources import Amounts
from cloudconsole.store.billing.entries import closed_entry, cost_key, entry_row, open_record
from cloudconsole.store.billing.state import BillingState, last_readings
from cloudconsole.store.sql import insert_rows
from cloudconsole.store.tables import BILLED_AMOUNTS, billing_entries, price_entries

Row = Mapping[str, Any]

_COLUMNS: Final = ("kind", "unit", "node_id", "start", "billionths", "type", "until")


def known_prices(connection: Connection) -> list[Price]:
    """Return all prices as they are known now."""
    columns = price_entries.c
    return prices_of(connection.execute(select(*(columns[name] for name in _COLUMNS)).order_by(columns.id)))


def prices_of(rows: Iterable[Any]) -> list[Price]:
    """Return the prices of entries in their order: kind, unit, node, start, billionths, type, until."""
    return [Price(*row[:7]) for row in {(*row[:4], row[5]): row for row in rows}.values()]


def record_prices(
    connection: Connection, changes: Iterable[tuple[Row | None, Row | None]], now: int, zone: tzinfo
) -> None:
    """Record new, changed and removed prices, and correct closed months.

    A price that is added or changed applies from its start, also in the past. One that is removed, or whose start is
    moved, has applied until now.
    """
    rows = [row for before, after in changes for row in price_rows(before, after, now)]
    if not rows:
        return
    state, calendar = open_record(connection, now, zone)
    # A transaction may have begun before the month was closed.
    known_from = max(now, state.closed_until)
    late = [row for row in rows if row["start"] < state.closed_until and (row["until"] or 0) < state.closed_until]
    before = PriceBook(known_prices(connection) if late else ())
    insert_rows(connection, price_entries, (row | {"known_from": known_from} for row in rows))
    if late:
        price_keys = {(row["kind"], row["node_id"]) for row in late}
        books = before, PriceBook(known_prices(connection))
        _correct_prices(connection, price_keys, books, state, calendar, now)


def price_rows(before: Row | None, after: Row | None, now: int) -> Iterator[dict[str, Any]]:
    """Yield the entries of a change: the former price up to now if its key changes, and the new one."""
    is_moved = before is not None and (after is None or _price_key(before) != _price_key(after))
    if before is not None and is_moved:
        # One that has not begun never applies.
        yield _price_entry(before) | {"until": max(now, before["start"])}
    if after is not None and (before is None or is_moved or before["billionths"] != after["billionths"]):
        yield _price_entry(after)


def _price_key(row: Row) -> tuple[Any, ...]:
    return row["kind"], row["unit"], row["node_id"], row["type"], row["start"]


def _price_entry(row: Row) -> dict[str, Any]:
    return {**{name: row[name] for name in _COLUMNS if name != "until"}, "until": None}


def _correct_prices(
    connection: Connection,
    price_keys: set[tuple[str, int | None]],
    books: tuple[PriceBook, PriceBook],
    state: BillingState,
    calendar: Calendar,
    now: int,
) -> None:
    """Record the difference between the prices in the closed hours, for each tenant, kind and node."""
    columns = billing_entries.c
    concerned = or_(
        *(
            columns.kind == kind if node_id is None else (columns.kind == kind) & (columns.node_id == node_id)
            for kind, node_id in price_keys
        )
    )
    names = ("tenant_id", "kind", "node_id", "type", "at", "is_end", *BILLED_AMOUNTS)
    query = select(*(columns[name] for name in names)).where(concerned, columns.at < state.closed_until)
    entries: dict[tuple[int, CostKey], list[Entry]] = {}
    for row in map(dict, connection.execute(query.order_by(columns.id)).mappings()):
        entries.setdefault((row["tenant_id"], cost_key(row)), []).append(closed_entry(row, state))
    rows = []
    starts = sorted({start for book in books for start in book.starts})
    readings = last_readings(connection)
    for (tenant_id, key), found in entries.items():
        first = min(entry.at for entry in found)
        last = readings.get(tenant_id, state.closed_until)
        if last < state.closed_until:
            # What an OpenStack project has had since then is unknown.
            running = reduce(Amounts.plus, (entry.amounts for entry in found), Amounts())
            found.append(Entry(key, Amounts().minus(running), last, is_end=True))
        parts = calendar.divide(first, state.closed_until, starts)
        old, new = (total_cost(found, parts, book) for book in books)
        if old != new:
            row = entry_row(tenant_id, "price", key, [0] * len(BILLED_AMOUNTS), first, now)
            rows.append(row | {"counts_from": state.closed_until, "correction": str(new - old)})
    insert_rows(connection, billing_entries, rows)
