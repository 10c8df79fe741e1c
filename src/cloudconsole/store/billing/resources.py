"""Changes of resources as entries of the billing record."""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import tzinfo
from functools import lru_cache
from typing import Any

from sqlalchemy import Connection, TextClause, select, text

from cloudconsole.core.billing import CostKey
from cloudconsole.core.billing_hours import Calendar
from cloudconsole.core.pricing import PriceBook
from cloudconsole.core.resources import PRICED_UNITS
from cloudconsole.store.billing.entries import EntryRow, entry_row, has_amounts, open_record, write_entries
from cloudconsole.store.billing.monthly_sums import SumValues, add_sums, begin_sums, summed_tenants
from cloudconsole.store.billing.prices import known_prices
from cloudconsole.store.counters import RAM_GB_SQL, Resource, amounts_of
from cloudconsole.store.sql import given_values, in_values, json_of
from cloudconsole.store.tables import BILLED_AMOUNTS, billing_entries, is_removal, resources

Change = tuple[Resource | None, Resource | None]
"""A resource before and after a change."""


def record_resources(connection: Connection, changes: Iterable[Change], now: int, zone: tzinfo) -> None:
    """Record changes of billable resources; others are ignored."""
    billable = [change for change in changes if any(row and row["kind"] in PRICED_UNITS for row in change)]
    if not billable:
        return
    state, calendar = open_record(connection, now, zone)
    new_ids = [after["id"] for before, after in billable if before is None and after is not None]
    changed = [before for before, _ in billable if before is not None]
    recorder = _Recorder(
        connection, now, calendar, _removed(connection, new_ids), _changed_later(connection, changed, now)
    )
    rows = [row for before, after in billable for row in recorder.rows(before, after)]
    is_late = any(row["at"] < state.closed_until for row in rows)
    write_entries(connection, rows, state, calendar, PriceBook(known_prices(connection) if is_late else ()))


def _removed(connection: Connection, ids: Iterable[str]) -> set[str]:
    """Return those ids that have been removed before, by any tenant."""
    column = billing_entries.c.resource_id
    return set(connection.scalars(select(column).where(is_removal, in_values(connection, column, ids))))


def _changed_later(connection: Connection, changed: Sequence[Resource], now: int) -> set[str]:
    """Return the ids of resources with changes after `now`: of another replica, while this transaction waited."""
    if not changed:
        return set()
    columns = billing_entries.c
    is_same = [
        in_values(connection, columns[name], {row[key] for row in changed})
        for name, key in (("tenant_id", "tenant_id"), ("resource_id", "id"))
    ]
    # No entry counts from before its time, and this one is indexed.
    query = select(columns.resource_id).where(*is_same, columns.counts_from > now, columns.at > now)
    return set(connection.scalars(query))


def record_added(connection: Connection, added: Sequence[Resource], now: int, zone: tzinfo) -> None:
    """Record many resources that have just been inserted, most of them with one statement."""
    state, calendar = open_record(connection, now, zone)
    open_from = state.open_from
    plain = {
        row["id"]
        for row in added
        if row["ended_at"] is None and row["started_at"] >= open_from and row["kind"] in PRICED_UNITS
    }
    if plain:
        plain -= _insert_starts(connection, plain, now)
        counts = Counter([row["tenant_id"] for row in added])
        summed = summed_tenants(connection, counts)
        known = [row for row in added if row["tenant_id"] in summed and row["id"] in plain]
        add_sums(connection, map(_start_values, known), calendar)
        begin_sums(connection, counts, summed, calendar)
    record_resources(connection, ((None, row) for row in added if row["id"] not in plain), now, zone)


def _insert_starts(connection: Connection, ids: set[str], now: int) -> set[str]:
    """Insert entries for new resources, and return the ids that were skipped: removed resources had them."""
    # Sorted: neighbours are looked up faster.
    values = {"given": json_of(sorted(ids)), "now": now}
    if connection.execute(_insert_statement(connection.dialect.name), values).rowcount == len(ids):
        return set()
    return _removed(connection, ids)


@lru_cache(maxsize=2)
def _insert_statement(dialect: str) -> TextClause:
    return text(
        f"""
        INSERT INTO billing_entries (
            tenant_id, resource_id, name, event, at, counts_from, correction, recorded_at, is_end, skips_hour,
            kind, node_id, items, vcpus, ram_gb, size_gb
        )
        SELECT
            tenant_id, id, name, 'start', started_at, started_at, '0', :now, 0, 0,
            kind, node_id, 1, vcpus, {RAM_GB_SQL}, size_gb
        FROM resources
        WHERE id IN ({given_values(dialect, resources.c.id)})
            AND NOT EXISTS (SELECT 1 FROM billing_entries WHERE event = 'remove' AND resource_id = resources.id)
        """
    )


def _start_values(row: Resource) -> SumValues:
    ram_gb = -(-row["ram_mb"] // 1024)
    return (
        row["tenant_id"],
        row["kind"],
        row["node_id"],
        None,
        row["started_at"],
        0,
        1,
        row["vcpus"],
        ram_gb,
        row["size_gb"],
    )


class _Recorder:
    """Builds billing entries for changes of resources."""

    def __init__(
        self, connection: Connection, now: int, calendar: Calendar, removed_ids: set[str], changed_later: set[str]
    ) -> None:
        self._connection = connection
        self._now = now
        self._calendar = calendar
        self._removed_ids = removed_ids
        self._changed_later = changed_later

    def rows(self, before: Resource | None, after: Resource | None) -> Iterator[EntryRow]:
        if before is None and after is not None:
            yield from self._life(after, after["started_at"])
        elif before is not None and after is None:
            yield from self._removal(before)
        elif before is not None and after is not None:
            if (before["tenant_id"], before["kind"]) != (after["tenant_id"], after["kind"]):
                # Another tenant pays from this hour on.
                yield from self._removal(before)
                yield from self._life(after, max(after["started_at"], self._now))
            else:
                yield from self._difference(before, after)

    def _life(self, resource: Resource, start: int) -> Iterator[EntryRow]:
        """Yield start and end; hours that were billed under the same id are not billed again."""
        end = resource["ended_at"]
        first = self._hour_start(start)
        last = math.inf if end is None else self._hour_end(end)
        covered = self._covered(resource) if resource["id"] in self._removed_ids else []
        pieces = list(_without(first, last, covered)) if end is None or end >= start else []
        if not pieces:
            yield self._row(resource, "start", 0, start)
        for piece_start, piece_end in pieces:
            yield self._row(resource, "start", 1, start if piece_start == first else piece_start)
            if piece_end == last and end is not None:
                yield self._row(resource, "end", -1, end, is_end=True)
            elif piece_end != math.inf:
                yield self._row(resource, "change", -1, int(piece_end))

    def _covered(self, resource: Resource) -> list[tuple[int, float]]:
        """Return the hours in which earlier resources of the same tenant and id ran."""
        steps: dict[int, int] = {}
        for row in self._entries(resource):
            moment = self._hour_end(row["at"]) if row["is_end"] else self._hour_start(row["at"])
            steps[moment] = steps.get(moment, 0) + row["items"]
        found: list[tuple[int, float]] = []
        running = 0
        moments = sorted(steps)
        for moment, following in zip(moments, [*moments[1:], math.inf], strict=False):
            running += steps[moment]
            if running > 0:
                found.append((moment, following))
        return found

    def _removal(self, resource: Resource) -> Iterator[EntryRow]:
        """Remove a resource, from this hour on, as an estimate does; one that has not started never ran."""
        started, ended = resource["started_at"], resource["ended_at"]
        if ended is not None and ended < self._hour_start(self._now):
            yield self._row(resource, "remove", 0, self._now)
            return
        moment = max(started, self._now if ended is None else min(ended, self._now))
        if ended is None and resource["id"] not in self._changed_later:
            yield self._row(resource, "remove", -1, moment)
            return
        changes, ends = self._history(resource)
        later = [row for row in changes if row["at"] > moment]
        yield from (self._copy(row, event="remove") for row in (*ends, *later))
        for amounts in _by_node([row for row in changes if row["at"] <= moment]):
            yield self._row(resource, "remove", -1, moment) | _times(amounts, -1)

    def _difference(self, before: Resource, after: Resource) -> Iterator[EntryRow]:
        ended, ends = before["ended_at"], after["ended_at"]
        is_resized, is_moved = _size(before) != _size(after), before["started_at"] != after["started_at"]
        has_end = ended is not None or ends is not None
        is_late = before["id"] in self._changed_later
        changes, end_rows = self._history(before) if is_moved or has_end or is_late else ([], [])
        new: list[EntryRow] = []
        if is_moved:
            new += self._moved_start(changes, after["started_at"])
        if is_resized:
            # From now on; of a resource that has not started from its start, and of one that has ended from its end.
            moment = max(self._now, after["started_at"])
            moment = moment if ended is None else min(moment, ended)
            if is_late:
                new += self._late_change(after, changes + new, moment)
            else:
                new += _change_rows(self._row(before, "change", -1, moment), self._row(after, "change", 1, moment))
        yield from new
        if has_end and (is_resized or is_moved or ended != ends):
            yield from self._moved_end(after, changes + new, end_rows)
        elif not new and before["name"] != after["name"]:
            yield self._row(after, "rename", 0, self._now)

    def _late_change(self, after: Resource, changes: list[EntryRow], moment: int) -> Iterator[EntryRow]:
        """Resize a resource at a time after which others have changed it: it has this size from then on."""
        yield from (self._copy(row) for row in changes if row["at"] > moment)
        row = self._row(after, "change", 1, moment)
        for amounts in _by_node([row, *(_times(each, -1) for each in changes if each["at"] <= moment)]):
            yield row | amounts

    def _moved_start(self, changes: list[EntryRow], start: int) -> Iterator[EntryRow]:
        """Let a resource start at another time: earlier with its first state, later with the one it had then."""
        first = min((row["at"] for row in changes), default=start)
        for row in changes:
            if row["at"] <= max(first, start):
                yield self._copy(row)
                yield self._copy(row, 1, at=start)

    def _moved_end(self, resource: Resource, changes: list[EntryRow], ends: list[EntryRow]) -> Iterator[EntryRow]:
        """Replace the recorded end; one in the past also undoes what was recorded after it."""
        yield from (self._copy(row) for row in ends)
        end = resource["ended_at"]
        if end is None:
            return
        yield from (self._copy(row) for row in changes if row["at"] > end)
        for amounts in _by_node([row for row in changes if row["at"] <= end]):
            yield self._row(resource, "end", -1, end, is_end=True) | _times(amounts, -1)

    def _history(self, resource: Resource) -> tuple[list[EntryRow], list[EntryRow]]:
        """Return the recorded changes and ends of a resource."""
        rows = self._entries(resource)
        # An earlier resource of the same id that was removed is over.
        first = max((number + 1 for number, row in enumerate(rows) if row["event"] == "remove"), default=0)
        return [row for row in rows[first:] if not row["is_end"]], [row for row in rows[first:] if row["is_end"]]

    def _entries(self, resource: Resource) -> list[EntryRow]:
        columns = billing_entries.c
        is_same = (columns.tenant_id == resource["tenant_id"]) & (columns.resource_id == resource["id"])
        query = select(billing_entries).where(is_same).order_by(columns.id)
        return [dict(row) for row in self._connection.execute(query).mappings()]

    def _copy(self, row: EntryRow, factor: int = -1, *, event: str = "change", at: int | None = None) -> EntryRow:
        """Return an entry that undoes another one, or repeats it at another time."""
        moment = row["at"] if at is None else at
        kept = {name: value for name, value in row.items() if name != "id"}
        changed = {"event": event, "at": moment, "counts_from": moment, "correction": "0", "recorded_at": self._now}
        return kept | changed | {"skips_hour": row["is_end"]} | {name: factor * row[name] for name in BILLED_AMOUNTS}

    def _row(self, resource: Resource, event: str, factor: int, at: int, *, is_end: bool = False) -> EntryRow:
        items, vcpus, _, ram_gb, size_gb = amounts_of(resource)
        return entry_row(
            resource["tenant_id"],
            event,
            CostKey(resource["kind"], resource["node_id"]),
            [factor * amount for amount in (items, vcpus, ram_gb, size_gb)],
            at,
            self._now,
            resource=(resource["id"], resource["name"]),
            is_end=is_end,
        )

    def _hour_start(self, second: int) -> int:
        return self._calendar.span_at(second).hour_start(second)

    def _hour_end(self, second: int) -> int:
        return self._calendar.span_at(second).hour_end(second)


def _without(first: int, last: float, covered: list[tuple[int, float]]) -> Iterator[tuple[int, float]]:
    """Yield the parts of a period that are not covered; covered periods are in order."""
    for start, end in covered:
        if end > first and start < last:
            if start > first:
                yield first, start
            if end >= last:
                return
            first = int(end)
    yield first, last


def _by_node(rows: list[EntryRow]) -> list[dict[str, Any]]:
    """Return the sums that are not zero, each with its node."""
    sums: dict[int | None, dict[str, Any]] = {}
    for row in rows:
        known = sums.setdefault(row["node_id"], {"node_id": row["node_id"], **dict.fromkeys(BILLED_AMOUNTS, 0)})
        known.update({name: known[name] + row[name] for name in BILLED_AMOUNTS})
    return [each for each in sums.values() if has_amounts(each)]


def _times(amounts: dict[str, Any], factor: int) -> dict[str, Any]:
    return amounts | {name: factor * amounts[name] for name in BILLED_AMOUNTS}


def _change_rows(gone: EntryRow, new: EntryRow) -> Iterator[EntryRow]:
    """Yield a change of size as one entry, one of the node as two."""
    if gone["node_id"] != new["node_id"]:
        yield from (gone, new)
    else:
        yield new | {name: gone[name] + new[name] for name in BILLED_AMOUNTS}


def _size(resource: Resource) -> tuple[Any, ...]:
    return resource["node_id"], *amounts_of(resource)
