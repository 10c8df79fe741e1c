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
from cloudconsole.core.pricing import Price, PriceBook
from cloudconsole.core.resources import PRICED_UNITS, Amounts
from cloudconsole.store.counters import RAM_GB_SQL, Resource, amounts_of
from cloudconsole.store.sql import in_values, insert_rows
from cloudconsole.store.tables import billing_entries, billing_state, former_names, price_entries, resources, totals

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
    rows = [row for before, after in billable for row in _entry_rows(connection, before, after, now)]
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
    connection: Connection, before: Resource | None, after: Resource | None, now: int
) -> Iterator[dict[str, Any]]:
    if before is None and after is not None:
        yield from _life(after, now)
    elif before is not None and after is None:
        yield from _removal(before, now)
    elif before is not None and after is not None:
        if (before["tenant_id"], before["kind"]) != (after["tenant_id"], after["kind"]):
            yield from _removal(before, now)
            yield from _life(after, now)
        elif before["started_at"] != after["started_at"]:
            yield from (_negated(row, now) for row in _history(connection, before))
            yield from _life(after, now)
        else:
            yield from _difference(connection, before, after, now)


def _life(resource: Resource, now: int) -> Iterator[dict[str, Any]]:
    yield _row(resource, "start", 1, resource["started_at"], now)
    if resource["ended_at"] is not None:
        yield _row(resource, "end", -1, resource["ended_at"], now, is_end=1)


def _removal(resource: Resource, now: int) -> Iterator[dict[str, Any]]:
    """End a removed resource now, unless it has ended; one that has not started never ran."""
    started, ended = resource["started_at"], resource["ended_at"]
    if ended is not None and ended <= now:
        yield _row(resource, "remove", 0, now, now)
        return
    if ended is not None:
        yield _row(resource, "remove", 1, ended, now, is_end=1)
    if started > now:
        yield _row(resource, "remove", -1, started, now)
    else:
        yield _row(resource, "remove", -1, now, now, is_end=1)


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


def _negated(row: dict[str, Any], now: int) -> dict[str, Any]:
    amounts = {name: -row[name] for name in _AMOUNTS}
    again = {
        "event": "change",
        "counts_from": row["at"],
        "correction": "0",
        "recorded_at": now,
        "skips_hour": row["is_end"],
    }
    return {name: value for name, value in row.items() if name != "id"} | again | amounts


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


def known_prices(connection: Connection, before: int | None = None) -> list[Price]:
    """Return the prices as they are known, or were known before a time."""
    columns = price_entries.c
    query = select(
        columns.kind, columns.unit, columns.node_id, columns.start, columns.billionths, columns.type
    ).order_by(columns.id)
    if before is not None:
        query = query.where(columns.known_from < before)
    return prices_of(connection.execute(query))


def prices_of(rows: Iterable[Any]) -> list[Price]:
    """Return the prices that remain of entries in their order; a later entry replaces an earlier one."""
    last = {
        (kind, unit, node_id, start, type_name): billionths
        for kind, unit, node_id, start, billionths, type_name in rows
    }
    return [
        Price(kind, unit, node_id, start, billionths, type_name)
        for (kind, unit, node_id, start, type_name), billionths in last.items()
        if billionths is not None
    ]


def record_prices(
    connection: Connection, changes: Iterable[tuple[Row | None, Row | None]], now: int, zone: tzinfo
) -> None:
    """Record new, changed and removed prices, and correct closed months that they concern."""
    rows = [row for before, after in changes for row in _price_rows(before, after, now)]
    if not rows:
        return
    state = billing_state_at(connection, now, zone)
    for row in rows:
        row["known_from"] = max(now, state.closed_until) if row["start"] < state.closed_until else now
    is_backdated = any(row["start"] < state.closed_until for row in rows)
    before_book = PriceBook(known_prices(connection)) if is_backdated else None
    insert_rows(connection, price_entries, rows)
    if before_book is not None:
        after_book = PriceBook(known_prices(connection))
        _correct_prices(connection, {row["kind"] for row in rows}, (before_book, after_book), state, now, zone)


def _price_rows(before: Row | None, after: Row | None, now: int) -> Iterator[dict[str, Any]]:
    names = ("kind", "unit", "node_id", "type", "start")
    if before is not None and (after is None or any(before[name] != after[name] for name in names)):
        yield {name: before[name] for name in names} | {"billionths": None, "known_from": now}
    if after is not None:
        yield {name: after[name] for name in names} | {"billionths": after["billionths"], "known_from": now}


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
