"""Changes of resources as entries of the billing record."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import tzinfo
from typing import Any

from sqlalchemy import Connection, func, insert, literal, literal_column, select

from cloudconsole.core.pricing import PriceBook, clock_hour
from cloudconsole.core.resources import PRICED_UNITS
from cloudconsole.store.billing.entries import open_record, write_entries
from cloudconsole.store.billing.prices import known_prices
from cloudconsole.store.billing.sums import SumValues, add_sums, begin_sums, summed_tenants
from cloudconsole.store.counters import RAM_GB_SQL, Resource, amounts_of
from cloudconsole.store.sql import in_values
from cloudconsole.store.tables import BILLED_AMOUNTS, billing_entries, is_removal, resources

Change = tuple[Resource | None, Resource | None]
"""A resource before and after a change."""


def record_resources(connection: Connection, changes: Iterable[Change], now: int, zone: tzinfo) -> None:
    """Record changes of resources; those that are not billable are left out."""
    billable = [change for change in changes if any(row and row["kind"] in PRICED_UNITS for row in change)]
    if not billable:
        return
    state, calendar = open_record(connection, now, zone)
    rows = [row for before, after in billable for row in _entry_rows(connection, before, after, now, zone)]
    is_late = any(row["at"] < state.closed_until for row in rows)
    write_entries(connection, rows, state, calendar, PriceBook(known_prices(connection) if is_late else ()))


def record_added(connection: Connection, added: Sequence[Resource], now: int, zone: tzinfo) -> None:
    """Record many new resources, which are in the store already; most need no look at each."""
    state, calendar = open_record(connection, now, zone)
    open_from = state.open_from
    plain = {
        row["id"]
        for row in added
        if row["ended_at"] is None and row["started_at"] >= open_from and row["kind"] in PRICED_UNITS
    }
    if plain:
        plain -= _insert_starts(connection, plain, now)
        counts = Counter(row["tenant_id"] for row in added)
        summed = summed_tenants(connection, counts)
        known = (row for row in added if row["id"] in plain and row["tenant_id"] in summed)
        add_sums(connection, map(_start_values, known), calendar)
        begin_sums(connection, counts, calendar)
    record_resources(connection, ((None, row) for row in added if row["id"] not in plain), now, zone)


def _insert_starts(connection: Connection, ids: set[str], now: int) -> set[str]:
    """Insert entries for new resources, and return the ids of those that are left because they were removed before."""
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
    is_new = in_values(connection, columns.id, ids)
    was_removed = select(billing_entries.c.id).where(is_removal, billing_entries.c.resource_id == columns.id).exists()
    rows = select(*values.values()).where(is_new, ~was_removed)
    if connection.execute(insert(billing_entries).from_select(list(values), rows)).rowcount == len(ids):
        return set()
    return set(connection.scalars(select(columns.id).where(is_new, was_removed)))


def _start_values(row: Resource) -> SumValues:
    items, vcpus, _, ram_gb, size_gb = amounts_of(row)
    return row["tenant_id"], row["kind"], row["node_id"], None, row["started_at"], 0, items, vcpus, ram_gb, size_gb


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
    is_same = (columns.tenant_id == resource["tenant_id"]) & (columns.resource_id == resource["id"])
    return connection.scalar(select(func.max(columns.recorded_at)).where(is_removal, is_same)) or 0


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
        yield from _change_rows(_row(before, "change", -1, moment, now), _row(after, "change", 1, moment, now))
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


def _change_rows(gone: dict[str, Any], new: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield a change of size as one entry, one of the node as two."""
    if gone["node_id"] != new["node_id"]:
        yield from (gone, new)
    else:
        yield new | {name: gone[name] + new[name] for name in BILLED_AMOUNTS}


def _end_rows(resource: Resource, later: list[dict[str, Any]], ends: int, now: int) -> Iterator[dict[str, Any]]:
    """Yield the end of what ran then: the present state without the later changes."""
    running = {row["node_id"]: dict.fromkeys(BILLED_AMOUNTS, 0) for row in later}
    end = _row(resource, "end", -1, ends, now, is_end=1)
    running[end["node_id"]] = {name: -end[name] for name in BILLED_AMOUNTS}
    for row in later:
        for name in BILLED_AMOUNTS:
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
    return kept | changed | {"skips_hour": row["is_end"]} | {name: factor * row[name] for name in BILLED_AMOUNTS}


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
