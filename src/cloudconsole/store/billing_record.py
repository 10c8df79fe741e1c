"""The append-only record of what has run and of all prices, written in the transaction of each change.

A month is closed once the next one has begun, unless the store itself is younger. A change that concerns closed hours
counts from the open month on; the difference in the closed hours is a correction in the month in which it is made.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import tzinfo
from typing import Any, Final, NamedTuple

from sqlalchemy import Connection, func, insert, literal, literal_column, select, update

from cloudconsole.core.billing import CostKey, Entry, divide, total_cost
from cloudconsole.core.billing_hours import month_of, month_start
from cloudconsole.core.pricing import Price, PriceBook, clock_hour
from cloudconsole.core.resources import PRICED_UNITS, Amounts
from cloudconsole.store.counters import RAM_GB_SQL, Resource, amounts_of
from cloudconsole.store.sql import in_values, insert_rows
from cloudconsole.store.tables import (
    billing_entries,
    billing_state,
    former_names,
    price_entries,
    prices,
    resources,
    totals,
)

Change = tuple[Resource | None, Resource | None]
"""A resource before and after a change."""

Row = Mapping[str, Any]

_AMOUNTS: Final = ("items", "vcpus", "ram_gb", "size_gb")


class BillingState(NamedTuple):
    complete_since: int
    recording_since: int
    closed_until: int


def billing_state_at(connection: Connection, now: int, zone: tzinfo) -> BillingState:
    """Return the state after closing the months before the current one; the first write creates it."""
    columns = billing_state.c
    row = connection.execute(
        select(columns.complete_since, columns.recording_since, columns.closed_until)
    ).one_or_none()
    if row is None:
        state = BillingState(0, now, 0)
        connection.execute(insert(billing_state).values(id=1, **state._asdict()))
        return state
    state = BillingState(*row)
    current = month_start(*month_of(now, zone), zone)
    if state.closed_until < current and state.recording_since < current:
        state = state._replace(closed_until=current)
        connection.execute(update(billing_state).values(closed_until=current))
    return state


# Resources


def record_resources(connection: Connection, changes: Iterable[Change], now: int, zone: tzinfo) -> None:
    """Record changes of resources; those that are not billable are left out."""
    billable = [change for change in changes if any(row and row["kind"] in PRICED_UNITS for row in change)]
    if not billable:
        return
    state = billing_state_at(connection, now, zone)
    rows = [row for before, after in billable for row in _entry_rows(connection, before, after, now, zone)]
    _write(connection, rows, state, zone)


def record_added(connection: Connection, added: Sequence[Resource], now: int, zone: tzinfo) -> None:
    """Record many new resources, which are in the store already; most need no look at each."""
    state = billing_state_at(connection, now, zone)
    open_from = max(state.closed_until, state.complete_since)
    plain = {
        row["id"]
        for row in added
        if row["ended_at"] is None and row["started_at"] >= open_from and row["kind"] in PRICED_UNITS
    }
    known = billing_entries.c.resource_id
    plain -= set(connection.scalars(select(known).where(in_values(connection, known, plain))) if plain else ())
    if plain:
        columns = resources.c
        values = {
            **{name: columns[name] for name in ("tenant_id", "name", "kind", "node_id", "vcpus", "size_gb")},
            "resource_id": columns.id,
            "event": literal("start"),
            "at": columns.started_at,
            "counts_from": columns.started_at,
            "correction": literal("0"),
            "recorded_at": literal(now),
            "is_end": literal(0),
            "skips_hour": literal(0),
            "items": literal(1),
            "ram_gb": literal_column(RAM_GB_SQL),
        }
        rows = select(*values.values()).where(in_values(connection, columns.id, plain))
        connection.execute(insert(billing_entries).from_select(list(values), rows))
    record_resources(connection, ((None, row) for row in added if row["id"] not in plain), now, zone)


def _entry_rows(
    connection: Connection, before: Resource | None, after: Resource | None, now: int, zone: tzinfo
) -> Iterator[dict[str, Any]]:
    if before is None and after is not None:
        yield from _life(after, now, not_before=_removed_at(connection, after))
    elif before is not None and after is None:
        yield from _removal(before, now, zone)
    elif before is not None and after is not None:
        if (before["tenant_id"], before["kind"]) != (after["tenant_id"], after["kind"]):
            # Another tenant pays from this hour on.
            yield from _removal(before, now, zone)
            yield from _life(after, now, not_before=now)
        else:
            if before["started_at"] != after["started_at"]:
                yield from _moved_start(connection, before, after["started_at"], now)
            yield from _difference(connection, before, after, now)


def _life(resource: Resource, now: int, *, not_before: int = 0) -> Iterator[dict[str, Any]]:
    started, ended = max(resource["started_at"], not_before), resource["ended_at"]
    if ended is not None and ended < started:
        yield _row(resource, "start", 0, resource["started_at"], now)
        return
    yield _row(resource, "start", 1, started, now)
    if ended is not None:
        yield _row(resource, "end", -1, ended, now, is_end=1)


def _removed_at(connection: Connection, resource: Resource) -> int:
    """Return when a resource of the same tenant and id was removed: its hours have been billed; 0 if there is none."""
    columns = billing_entries.c
    query = select(func.max(columns.recorded_at)).where(
        columns.tenant_id == resource["tenant_id"], columns.resource_id == resource["id"], columns.event == "remove"
    )
    return connection.scalar(query) or 0


def _removal(resource: Resource, now: int, zone: tzinfo) -> Iterator[dict[str, Any]]:
    """Remove a resource, from this hour on, as an estimate does; one that has not started never ran."""
    started, ended = resource["started_at"], resource["ended_at"]
    if ended is not None and ended < clock_hour(now, zone).start:
        yield _row(resource, "remove", 0, now, now)
        return
    if ended is not None:
        yield _row(resource, "remove", 1, ended, now, is_end=1)
    moment = max(started, now if ended is None else min(ended, now))
    yield _row(resource, "remove", -1, moment, now)


def _moved_start(connection: Connection, resource: Resource, start: int, now: int) -> Iterator[dict[str, Any]]:
    """Let a resource start at another time: earlier with its first state, later with the one it had then."""
    entries = [row for row in _history(connection, resource) if not row["is_end"]]
    first = min((row["at"] for row in entries), default=start)
    moved = [row for row in entries if row["at"] <= max(first, start)]
    yield from (_negated(row, now) for row in moved)
    yield from (_negated(row, now, factor=1, at=start) for row in moved)


def _difference(connection: Connection, before: Resource, after: Resource, now: int) -> Iterator[dict[str, Any]]:
    ended, ends = before["ended_at"], after["ended_at"]
    is_resized = _size(before) != _size(after)
    if is_resized:
        # From now on; of a resource that has not started from its start, and of one that has ended from its end.
        moment = max(now, after["started_at"])
        moment = moment if ended is None else min(moment, ended)
        yield _row(before, "change", -1, moment, now)
        yield _row(after, "change", 1, moment, now)
    if ended is not None and (is_resized or ended != ends):
        yield _row(before, "change", 1, ended, now, is_end=1)
    if ends is not None and (is_resized or ended != ends):
        # An end in the past also undoes what was recorded after it.
        later = _recorded_after(connection, before, ends) if ends < now else []
        for row in later:
            yield _negated(row, now)
        yield from _end_rows(after, later, ends, now)
    if not is_resized and ended == ends and before["name"] != after["name"]:
        yield _row(after, "rename", 0, now, now)


def _end_rows(resource: Resource, later: list[dict[str, Any]], ends: int, now: int) -> Iterator[dict[str, Any]]:
    """Yield the end of what ran then: the present state without the later changes."""
    running = {row["node_id"]: dict.fromkeys(_AMOUNTS, 0) for row in later}
    end = _row(resource, "end", -1, ends, now, is_end=1)
    running[end["node_id"]] = {name: -end[name] for name in _AMOUNTS}
    for row in later:
        for name in _AMOUNTS:
            running[row["node_id"]][name] -= row[name]
    for node_id, amounts in running.items():
        if any(amounts.values()):
            yield end | {"node_id": node_id} | {name: -amount for name, amount in amounts.items()}


def _recorded_after(connection: Connection, resource: Resource, moment: int) -> list[dict[str, Any]]:
    return [row for row in _history(connection, resource) if row["at"] > moment and not row["is_end"]]


def _history(connection: Connection, resource: Resource) -> list[dict[str, Any]]:
    columns = billing_entries.c
    query = select(billing_entries).where(
        columns.tenant_id == resource["tenant_id"], columns.resource_id == resource["id"]
    )
    rows = [dict(row) for row in connection.execute(query.order_by(columns.id)).mappings()]
    # An earlier resource of the same id that was removed is over.
    first = max((number + 1 for number, row in enumerate(rows) if row["event"] == "remove"), default=0)
    return rows[first:]


def _negated(row: dict[str, Any], now: int, *, factor: int = -1, at: int | None = None) -> dict[str, Any]:
    """Return an entry that undoes another one, or repeats it at another time."""
    moment = row["at"] if at is None else at
    kept = {name: value for name, value in row.items() if name != "id"}
    changed = {"event": "change", "at": moment, "counts_from": moment, "correction": "0", "recorded_at": now}
    return kept | changed | {"skips_hour": row["is_end"]} | {name: factor * row[name] for name in _AMOUNTS}


def _size(resource: Resource) -> tuple[Any, ...]:
    return resource["node_id"], *amounts_of(resource)


def _row(resource: Resource, event: str, factor: int, at: int, now: int, *, is_end: int = 0) -> dict[str, Any]:
    amounts = amounts_of(resource)
    return {
        "tenant_id": resource["tenant_id"],
        "resource_id": resource["id"],
        "name": resource["name"],
        "event": event,
        "at": at,
        "counts_from": at,
        "correction": "0",
        "recorded_at": now,
        "is_end": is_end,
        "skips_hour": is_end,
        "kind": resource["kind"],
        "node_id": resource["node_id"],
        "type": None,
        "items": amounts.items * factor,
        "vcpus": amounts.vcpus * factor,
        "ram_gb": amounts.ram_gb * factor,
        "size_gb": amounts.size_gb * factor,
    }


def _write(connection: Connection, rows: list[dict[str, Any]], state: BillingState, zone: tzinfo) -> None:
    open_from = max(state.closed_until, state.complete_since)
    book: PriceBook | None = None
    for row in rows:
        if row["at"] < open_from:
            if state.closed_until > state.complete_since and any(row[name] for name in _AMOUNTS):
                book = book or PriceBook(known_prices(connection))
                row["correction"] = str(_closed_cost(row, state, book, zone))
            row["counts_from"], row["skips_hour"] = open_from, 0
    insert_rows(connection, billing_entries, rows)


def _closed_cost(row: Row, state: BillingState, book: PriceBook, zone: tzinfo) -> int:
    """Return what an entry would have cost in the closed hours, at the prices known now."""
    entry = _closed_entry(row, state)
    return total_cost([entry], divide(entry.at, state.closed_until, zone, (), book.starts()), book)


def _closed_entry(row: Any, state: BillingState) -> Entry:
    begin = max(row["at"], state.complete_since)
    return Entry(_key(row), _signed(row), begin, bool(row["is_end"]) and begin == row["at"])


def _key(row: Any) -> CostKey:
    return CostKey(row["kind"], row["node_id"], row["type"])


def _signed(row: Any) -> Amounts:
    return Amounts(row["items"], row["vcpus"], 0, row["ram_gb"], row["size_gb"])


# Prices

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
    state = billing_state_at(connection, now, zone)
    known = known_prices(connection)
    rows = [row for before, after in pairs for row in _price_rows(before, after, now)]
    keys = {_price_key(row) for pair in pairs for row in pair if row is not None}
    written = {_place(after) for _, after in pairs if after is not None}
    gone = {_place(before) for before, _ in pairs if before is not None} - written
    rows += _present_rows(connection, keys, gone, [*known, *_as_prices(rows)], now)
    insert_rows(connection, price_entries, rows)
    if any(row["start"] < state.closed_until for row in rows):
        books = PriceBook(known), PriceBook(known_prices(connection))
        _correct_prices(connection, {row["kind"] for row in rows}, books, state, now, zone)


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
    now: int,
    zone: tzinfo,
) -> None:
    """Record the difference between the prices in the closed hours, for each tenant, kind and node."""
    columns = billing_entries.c
    query = select(billing_entries).where(columns.kind.in_(kinds), columns.at < state.closed_until)
    entries: dict[tuple[int, CostKey], list[Entry]] = {}
    for row in connection.execute(query.order_by(columns.id)).mappings():
        entries.setdefault((row["tenant_id"], _key(row)), []).append(_closed_entry(row, state))
    rows = []
    for (tenant_id, key), found in entries.items():
        first = min(entry.at for entry in found)
        starts = {start for book in books for start in book.starts()}
        buckets = divide(first, state.closed_until, zone, (), starts)
        old, new = (total_cost(found, buckets, book) for book in books)
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
                    **dict.fromkeys(_AMOUNTS, 0),
                }
            )
    insert_rows(connection, billing_entries, rows)


# Removed tenants and nodes


def retain_name(connection: Connection, thing: str, row_id: int, name: str) -> None:
    """Give the entries of a removed tenant or node a negative id of their own, since its id may be reused."""
    lowest = connection.scalar(select(func.min(former_names.c.id))) or 0
    column, tables = (
        ("tenant_id", (billing_entries,)) if thing == "tenant" else ("node_id", (billing_entries, price_entries))
    )
    found = [
        table for table in tables if connection.scalar(select(table.c.id).where(table.c[column] == row_id).limit(1))
    ]
    if not found:
        return
    connection.execute(insert(former_names).values(id=lowest - 1, thing=thing, name=name))
    for table in found:
        connection.execute(update(table).where(table.c[column] == row_id).values({column: lowest - 1}))


def disagreements(connection: Connection) -> list[tuple[int, str, int | None]]:
    """Return tenant, kind and node of resources whose number or size differs from the record."""
    columns = billing_entries.c
    sums = select(
        columns.tenant_id, columns.kind, columns.node_id, *(func.sum(columns[name]) for name in _AMOUNTS)
    ).group_by(columns.tenant_id, columns.kind, columns.node_id)
    recorded = {tuple(row[:3]): tuple(map(int, row[3:])) for row in connection.execute(sums) if any(row[3:])}
    running = {
        (row.tenant_id, row.kind, row.node_id): tuple(getattr(row, name) for name in _AMOUNTS)
        for row in connection.execute(select(totals).where(totals.c.kind.in_(PRICED_UNITS)))
        if any(getattr(row, name) for name in _AMOUNTS)
    }
    return sorted(key for key in recorded.keys() | running.keys() if recorded.get(key) != running.get(key))
