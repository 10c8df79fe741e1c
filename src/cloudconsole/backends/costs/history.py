"""A tenant's costs up to now, from the record in the store.

Only tenants with many entries have sums by month. A month in which prices changed is computed from its entries also for
them.
"""

from bisect import bisect_right
from collections.abc import AsyncIterator, Iterable
from datetime import tzinfo
from typing import Final, NamedTuple

from cloudconsole.backends.costs.context import BillingContext, Books, billed_amounts, read_context
from cloudconsole.core.billing import (
    CostKey,
    Entry,
    Use,
    Uses,
    cost_of,
    end_price_difference,
    sum_up,
    unit_hours,
)
from cloudconsole.core.billing_hours import Calendar, Span
from cloudconsole.core.resources import Amounts
from cloudconsole.store.base import Snapshot
from cloudconsole.store.tables import BILLED_AMOUNTS

_FIRST: Final = "SELECT MIN(counts_from) FROM billing_entries WHERE tenant_id = ?"
_CORRECTIONS: Final = """
    SELECT kind, node_id, type, counts_from, correction FROM billing_entries
    WHERE tenant_id = ? AND correction <> '0' AND counts_from <= ?
"""
_SUMS: Final = f"""
    SELECT kind, node_id, type, start, {", ".join(BILLED_AMOUNTS)}, {", ".join(f"{n}_delay" for n in BILLED_AMOUNTS)}
    FROM monthly_sums WHERE tenant_id = ?
"""
_ENTRIES: Final = f"""
    SELECT kind, node_id, type, {", ".join(BILLED_AMOUNTS)}, counts_from, skips_hour FROM billing_entries
    WHERE tenant_id = ? AND counts_from >= ? AND counts_from < ?
"""
_ENDS: Final = f"{_ENTRIES} AND skips_hour = 1"


class Cost(NamedTuple):
    """The cost of one key in a part of a month, in billionths."""

    key: CostKey
    start: int
    billionths: int
    is_correction: bool = False


class History(NamedTuple):
    costs: list[Cost]
    """Up to the end of the current hour."""
    running: dict[CostKey, Amounts]
    context: BillingContext
    owner: int
    """The id of its entries."""


async def read_history(snapshot: Snapshot, owner: int, now: int, zone: tzinfo) -> History:
    context = await read_context(snapshot, owner, now, zone)
    second, calendar, books = context.second, context.calendar, context.books
    history = History([], {}, context, owner)
    first = (await snapshot.one(_FIRST, (owner,)) or (None,))[0]
    if first is None or first > second:
        return history
    parts = calendar.divide(calendar.span_at(first).start, context.hour_end, books.starts)
    record = _Record(snapshot, owner, second)
    uses = await record.uses(_by_month(parts, calendar))
    for key, of_key in uses.items():
        for span, used, running in unit_hours(of_key, parts):
            history.costs.append(Cost(key, span.start, cost_of(key, used, books.at(span.start), span.end - 1)))
            history.running[key] = running
    history.costs.extend([cost async for cost in record.end_price_differences(parts, books)])
    for kind, node_id, type_name, counts_from, correction in await snapshot.all(_CORRECTIONS, (owner, now)):
        history.costs.append(Cost(CostKey(kind, node_id, type_name), counts_from, int(correction), is_correction=True))
    return history


def _by_month(parts: Iterable[Span], calendar: Calendar) -> dict[Span, list[Span]]:
    months: dict[Span, list[Span]] = {}
    for part in parts:
        months.setdefault(calendar.span_at(part.start), []).append(part)
    return months


def _joined(spans: Iterable[Span]) -> list[tuple[int, int]]:
    """Join spans that follow each other."""
    found: list[tuple[int, int]] = []
    for span in spans:
        if found and found[-1][1] == span.start:
            found[-1] = found[-1][0], span.end
        else:
            found.append((span.start, span.end))
    return found


async def _read_sums(snapshot: Snapshot, owner: int) -> Uses:
    sums: Uses = {}
    for kind, node_id, type_name, start, *amounts in await snapshot.all(_SUMS, (owner,)):
        use = Use(billed_amounts(*amounts[:4]), billed_amounts(*amounts[4:]))
        sums.setdefault(CostKey(kind, node_id or None, type_name or None), {})[start] = use
    return sums


class _Record:
    """The entries of a tenant up to now."""

    def __init__(self, snapshot: Snapshot, owner: int, second: int) -> None:
        self._snapshot = snapshot
        self._owner = owner
        self._second = second

    async def uses(self, months: dict[Span, list[Span]]) -> Uses:
        """Return the use in each part of the months; those that are divided or have no sums are read."""
        uses = await _read_sums(self._snapshot, self._owner)
        read = [month for month, parts in months.items() if len(parts) > 1 or not uses]
        for of_key in uses.values():
            for month in read:
                of_key.pop(month.start, None)
        parts = [part for month in read for part in months[month]]
        for start, end in _joined(read):
            entries = await self._entries(_ENTRIES, start, min(end, self._second + 1))
            for key, of_key in sum_up(entries, parts).items():
                uses.setdefault(key, {}).update(of_key)
        current = list(months)[-1]
        if current not in read:
            for entry in await self._entries(_ENTRIES, self._second + 1, current.end):
                of_key = uses[entry.key]
                of_key[current.start] = of_key[current.start].minus(entry, current)
        return uses

    async def end_price_differences(self, parts: list[Span], books: Books) -> AsyncIterator[Cost]:
        """Yield the differences for resources that ended before a price began in the same hour."""
        begins = [part.start for part in parts]
        last: dict[int, int] = {}
        for start in books.starts:
            index = bisect_right(begins, start) - 1
            # Any price begins in the first hour of a part.
            if index >= 0 and begins[index] < start < parts[index].end:
                last[index] = start
        for index, start in last.items():
            part = parts[index]
            for entry in await self._entries(_ENDS, part.start, start):
                yield Cost(entry.key, part.start, end_price_difference(entry, [part], books.at(part.start)))

    async def _entries(self, query: str, start: int, end: int) -> list[Entry]:
        return [
            Entry(CostKey(kind, node_id, type_name), billed_amounts(*amounts), counts_from, bool(skips_hour))
            for kind, node_id, type_name, *amounts, counts_from, skips_hour in await self._snapshot.all(
                query, (self._owner, start, end)
            )
        ]
