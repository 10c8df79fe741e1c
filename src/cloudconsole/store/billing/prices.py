"""The timeline of prices; a price for closed months corrects them in the open one."""

from collections.abc import Iterable, Iterator, Mapping
from datetime import tzinfo
from typing import Any

from sqlalchemy import Connection, select

from cloudconsole.core.billing import CostKey, Entry, total_cost
from cloudconsole.core.billing_hours import Calendar
from cloudconsole.core.pricing import Price, PriceBook
from cloudconsole.store.billing.entries import closed_entry, cost_key, open_record
from cloudconsole.store.billing.state import BillingState
from cloudconsole.store.sql import insert_rows
from cloudconsole.store.tables import BILLED_AMOUNTS, billing_entries, price_entries, prices

Row = Mapping[str, Any]

PriceKey = tuple[Any, ...]
"""Kind, unit, node and type."""


def known_prices(connection: Connection) -> list[Price]:
    """Return all prices as they are known now."""
    columns = price_entries.c
    names = ("kind", "unit", "node_id", "start", "billionths", "type", "is_cancelled")
    return prices_of(connection.execute(select(*(columns[name] for name in names)).order_by(columns.id)))


def prices_of(rows: Iterable[Any]) -> list[Price]:
    """Return the prices of entries in their order: kind, unit, node, start, billionths, type, is_cancelled."""
    last = {(*row[:4], row[5]): row for row in rows}
    return [Price(*row[:6]) for row in last.values() if not row[6]]


def record_prices(
    connection: Connection, changes: Iterable[tuple[Row | None, Row | None]], now: int, zone: tzinfo
) -> None:
    """Record new, changed and removed prices, with or before the change of the table, and correct closed months.

    A price that is added or changed applies from its start, also in the past. One that is removed, or whose start is
    moved, has applied until now.
    """
    pairs = list(changes)
    if not pairs:
        return
    state, calendar = open_record(connection, now, zone)
    # A transaction may have begun before the month was closed.
    known_from = max(now, state.closed_until)
    known = known_prices(connection)
    rows = [row for before, after in pairs for row in _price_rows(before, after, now)]
    keys = {_price_key(row) for pair in pairs for row in pair if row is not None}
    written = {_place(after) for _, after in pairs if after is not None}
    gone = {_place(before) for before, _ in pairs if before is not None} - written
    rows += _present_rows(connection, keys, gone, [*known, *_as_prices(rows)], now)
    insert_rows(connection, price_entries, (row | {"known_from": known_from} for row in rows))
    if any(row["start"] < state.closed_until for row in rows):
        books = PriceBook(known), PriceBook(known_prices(connection))
        _correct_prices(connection, {row["kind"] for row in rows}, books, state, calendar, now)


def _price_key(row: Row) -> PriceKey:
    return row["kind"], row["unit"], row["node_id"], row["type"]


def _price_rows(before: Row | None, after: Row | None, now: int) -> Iterator[dict[str, Any]]:
    is_same = before is not None and after is not None and _place(before) == _place(after)
    if before is not None and not is_same and before["start"] > now:
        yield _price_entry(before, before["start"], None, now, is_cancelled=1)
    if after is not None and not (is_same and before and before["billionths"] == after["billionths"]):
        yield _price_entry(after, after["start"], after["billionths"], now)


def _place(row: Row) -> tuple[Any, ...]:
    return *_price_key(row), row["start"]


def _price_entry(row: Row, start: int, billionths: int | None, now: int, *, is_cancelled: int = 0) -> dict[str, Any]:
    return {
        **{name: row[name] for name in ("kind", "unit", "node_id", "type")},
        "start": start,
        "billionths": billionths,
        "is_cancelled": is_cancelled,
        "known_from": now,
    }


def _as_prices(rows: list[dict[str, Any]]) -> list[Price]:
    return prices_of(
        [row["kind"], row["unit"], row["node_id"], row["start"], row["billionths"], row["type"], row["is_cancelled"]]
        for row in rows
    )


def _present_rows(
    connection: Connection, keys: set[PriceKey], gone: set[PriceKey], recorded: list[Price], now: int
) -> Iterator[dict[str, Any]]:
    """Yield what applies from now on where the record says otherwise; `gone` is removed, but may still be there."""
    columns = prices.c
    query = select(columns.kind, columns.unit, columns.node_id, columns.type, columns.start, columns.billionths)
    table = [dict(row) for row in connection.execute(query.where(columns.start <= now)).mappings()]
    for key in keys:
        rows = [row for row in table if _price_key(row) == key and _place(row) not in gone]
        actual = max(rows, key=lambda row: row["start"])["billionths"] if rows else None
        # A later entry of the same start replaces an earlier one.
        starts = {
            price.start: price.billionths
            for price in recorded
            if (price.kind, price.unit, price.node_id, price.type) == key and price.start <= now
        }
        if (starts[max(starts)] if starts else None) != actual:
            named = dict(zip(("kind", "unit", "node_id", "type"), key, strict=True))
            yield _price_entry(named, now, actual, now)


def _correct_prices(
    connection: Connection,
    kinds: set[str],
    books: tuple[PriceBook, PriceBook],
    state: BillingState,
    calendar: Calendar,
    now: int,
) -> None:
    """Record the difference between the prices in the closed hours, for each tenant, kind and node."""
    columns = billing_entries.c
    query = select(billing_entries).where(columns.kind.in_(kinds), columns.at < state.closed_until)
    entries: dict[tuple[int, CostKey], list[Entry]] = {}
    for row in map(dict, connection.execute(query.order_by(columns.id)).mappings()):
        entries.setdefault((row["tenant_id"], cost_key(row)), []).append(closed_entry(row, state))
    rows = []
    starts = sorted({start for book in books for start in book.starts})
    for (tenant_id, key), found in entries.items():
        first = min(entry.at for entry in found)
        parts = calendar.divide(first, state.closed_until, starts)
        old, new = (total_cost(found, parts, book) for book in books)
        if old != new:
            rows.append(
                {
                    "tenant_id": tenant_id,
                    "resource_id": "",
                    "name": "",
                    "event": "price",
                    "at": first,
                    "counts_from": state.closed_until,
                    "correction": str(new - old),
                    "recorded_at": now,
                    "is_end": 0,
                    "skips_hour": 0,
                    "kind": key.kind,
                    "node_id": key.node_id,
                    "type": key.type,
                    **dict.fromkeys(BILLED_AMOUNTS, 0),
                }
            )
    insert_rows(connection, billing_entries, rows)
