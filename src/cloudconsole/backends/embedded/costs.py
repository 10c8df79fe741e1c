"""Costs over time from the record in the store."""

import math
from bisect import bisect_right
from datetime import tzinfo
from typing import Final, NamedTuple

from cloudconsole.core.billing import (
    Bucket,
    CostKey,
    Entry,
    Use,
    cost_of,
    divide,
    late_price_correction,
    unit_hours,
)
from cloudconsole.core.billing_hours import month_of, month_start, month_starts, spans
from cloudconsole.core.clock import Clock
from cloudconsole.core.ports import CacheableResult, Tenant
from cloudconsole.core.pricing import PriceBook, clock_hour, format_amount
from cloudconsole.core.resources import PRICED_UNITS, Amounts
from cloudconsole.spec.extension_records import ConsumptionSummaryItem, Forecast, MonthlyBill, SummaryType
from cloudconsole.store.base import Reader, RowTuple, Snapshot
from cloudconsole.store.billing_record import prices_of

_STATE: Final = "SELECT complete_since, recording_since, closed_until FROM billing_state"
_FIRST: Final = "SELECT MIN(counts_from) FROM billing_entries WHERE tenant_id = ?"
_NEXT: Final = "SELECT MIN(counts_from) FROM billing_entries WHERE tenant_id = ? AND counts_from > ?"
_PRICES: Final = """
    SELECT kind, unit, node_id, start, billionths, type, is_cancelled, known_from FROM price_entries ORDER BY id
"""
_CORRECTIONS: Final = """
    SELECT kind, node_id, type, counts_from, correction FROM billing_entries
    WHERE tenant_id = ? AND correction <> '0'
"""
_ENDS: Final = """
    SELECT kind, node_id, type, items, vcpus, ram_gb, size_gb, counts_from FROM billing_entries
    WHERE tenant_id = ? AND skips_hour = 1 AND counts_from >= ? AND counts_from < ?
"""
_COUNTS: Final = """
    SELECT kind, COUNT(*) FROM (
        SELECT kind, resource_id, SUM(items * ((:end - counts_from) / 3600 + 1 - skips_hour)) AS hours
        FROM billing_entries WHERE tenant_id = :tenant AND counts_from < :end {only} GROUP BY kind, resource_id
    ) AS lives WHERE hours > 0 GROUP BY kind
"""
_NODE: Final = (
    "SELECT id FROM nodes WHERE name = ? UNION ALL SELECT id FROM former_names WHERE thing = 'node' AND name = ?"
)
_UNITS: Final = ("items", "vcpus", "ram_gb", "size_gb")

REPORT_MONTHS: Final = 12


class Cost(NamedTuple):
    """The cost of one key in a part of a month, in billionths."""

    key: CostKey
    start: int
    billionths: int


class History(NamedTuple):
    costs: list[Cost]
    running: dict[CostKey, Amounts]
    complete_since: int
    book: PriceBook
    """The prices in force now."""
    hour_end: int
    expires_at: float


class EmbeddedCosts:
    def __init__(self, reader: Reader, clock: Clock, zone: tzinfo) -> None:
        self._reader = reader
        self._clock = clock
        self._zone = zone

    async def report(self, tenant: Tenant) -> CacheableResult[list[MonthlyBill]]:
        now = self._clock.now()
        history = await self._history(tenant, now)
        year, month = month_of(now, self._zone)
        months = [month_start(year, month - number, self._zone) for number in range(REPORT_MONTHS - 1, -1, -1)]
        ends = [*months[1:], math.inf]
        rows = []
        for start, end in zip(months, ends, strict=True):
            is_known = history is not None and history.complete_since < end
            total = sum(cost.billionths for cost in history.costs if start <= cost.start < end) if history else 0
            is_complete = history is not None and history.complete_since <= start
            rows.append(MonthlyBill(self._label(start), format_amount(total) if is_known else None, is_complete))
        return CacheableResult(rows, history.expires_at if history else month_start(year, month + 1, self._zone))

    async def summary(self, tenant: Tenant, region: str) -> CacheableResult[list[ConsumptionSummaryItem]]:
        now = self._clock.now()
        history = await self._history(tenant, now)
        if history is None:
            kinds: list[SummaryType] = [*PRICED_UNITS, "allcategories"]
            return CacheableResult([ConsumptionSummaryItem(kind, 0, None) for kind in kinds])
        nodes = None if not region else {int(row[0]) for row in await self._reader.all(_NODE, (region, region))}
        only = "" if nodes is None else f"AND node_id IN ({', '.join(map(str, nodes)) or 'NULL'})"
        values = {"tenant": tenant.id, "end": history.hour_end}
        counts = {kind: int(count) for kind, count in await self._reader.all(_COUNTS.format(only=only), values)}
        amounts = dict.fromkeys(PRICED_UNITS, 0)
        for cost in history.costs:
            if nodes is None or cost.key.node_id in nodes:
                amounts[cost.key.kind] += cost.billionths
        rows = [ConsumptionSummaryItem(kind, counts.get(kind, 0), format_amount(amounts[kind])) for kind in amounts]
        total = format_amount(sum(amounts.values()))
        rows.append(ConsumptionSummaryItem("allcategories", sum(counts.values()), total))
        return CacheableResult(rows, history.expires_at)

    async def forecast(self, tenant: Tenant) -> CacheableResult[Forecast]:
        now = self._clock.now()
        history = await self._history(tenant, now)
        year, month = month_of(now, self._zone)
        start, end = (month_start(year, month + number, self._zone) for number in (0, 1))
        if history is None:
            return CacheableResult(Forecast(self._label(start), None, None, None, 0, is_complete=False), end)
        so_far = sum(cost.billionths for cost in history.costs if cost.start >= start)
        left = sum(span.hours_from(span.start) for span in spans(history.hour_end, end, self._zone))
        hourly = sum(cost_of(key, amounts, history.book, now) for key, amounts in history.running.items())
        rest = hourly * left
        record = Forecast(
            self._label(start),
            format_amount(so_far),
            format_amount(rest),
            format_amount(so_far + rest),
            left,
            is_complete=history.complete_since <= start,
        )
        return CacheableResult(record, history.expires_at)

    def _label(self, start: int) -> str:
        return "{:04}-{:02}".format(*month_of(start, self._zone))

    async def _history(self, tenant: Tenant, now: float) -> History | None:
        """Return all costs up to now, including the current hour; None if nothing is recorded for such a tenant."""
        if tenant.credentials is not None:
            return None
        second, hour = math.floor(now), clock_hour(now, self._zone)
        async with self._reader.snapshot() as snapshot:
            state = await snapshot.one(_STATE)
            complete_since, recording_since, closed_until = state or (0, 0, 0)
            entries = await snapshot.all(_PRICES)
            present = PriceBook(price for price in prices_of(entries) if price.start <= second)
            future = [row[3] for row in entries if row[3] > second]
            first = (await snapshot.all(_FIRST, (tenant.id,)))[0][0]
            upcoming = (await snapshot.all(_NEXT, (tenant.id, second)))[0][0]
            expires_at = min([hour.end, *future, *([] if upcoming is None else [upcoming])])
            if first is None or first > second:
                return History([], {}, complete_since, present, hour.end, expires_at)
            moments = month_starts(first, hour.end, self._zone)
            # Also the starts of prices that were removed later: closed months may have them.
            starts = {row[3] for row in entries}
            buckets = divide(first, hour.end, self._zone, moments, starts)
            first_close = month_start(*_next_month(recording_since, self._zone), self._zone)
            books = _books(buckets, moments, (first_close, closed_until), entries, present)
            costs, running = await _costs(snapshot, tenant.id, second, buckets, books)
            costs += await _late_corrections(snapshot, tenant.id, second, buckets, books, starts)
            for kind, node_id, type_name, counts_from, correction in await snapshot.all(_CORRECTIONS, (tenant.id,)):
                costs.append(Cost(CostKey(kind, node_id, type_name), counts_from, int(correction)))
        return History(costs, running, complete_since, present, hour.end, expires_at)


def _next_month(second: int, zone: tzinfo) -> tuple[int, int]:
    year, month = month_of(second, zone)
    return year, month + 1


def _books(
    buckets: list[Bucket], months: list[int], closed: tuple[int, int], entries: list[RowTuple], present: PriceBook
) -> list[PriceBook]:
    """Return the prices for each bucket: in a closed month those that were known at its end.

    Months before the store began to record were closed together with its first one.
    """
    first_close, closed_until = closed
    ends = [*months, math.inf]
    cached: dict[float, PriceBook] = {}
    books = []
    for bucket in buckets:
        known_until = max(ends[bisect_right(months, bucket.start)], first_close)
        if known_until > closed_until:
            books.append(present)
            continue
        if known_until not in cached:
            cached[known_until] = PriceBook(prices_of(row for row in entries if row[7] < known_until))
        books.append(cached[known_until])
    return books


async def _costs(
    snapshot: Snapshot, tenant_id: int, until: int, buckets: list[Bucket], books: list[PriceBook]
) -> tuple[list[Cost], dict[CostKey, Amounts]]:
    uses: dict[CostKey, dict[int, Use]] = {}
    for kind, node_id, type_name, number, *sums in await snapshot.all(_uses_query(buckets), (tenant_id, until)):
        net, weighted = (_amounts(*map(int, half)) for half in (sums[:4], sums[4:]))
        uses.setdefault(CostKey(kind, node_id, type_name), {})[number] = Use(net, weighted)
    costs, running = [], {}
    for key, of_key in uses.items():
        for book, (bucket, used, at_end) in zip(books, unit_hours(Amounts(), of_key, buckets), strict=True):
            costs.append(Cost(key, bucket.start, cost_of(key, used, book, bucket.end - 1)))
            running[key] = at_end
    return costs, running


def _uses_query(buckets: list[Bucket]) -> str:
    """Return SQL for the net changes and the changes times hours, by key and bucket; all constants are integers."""
    numbers = " ".join(f"WHEN counts_from < {bucket.end} THEN {number}" for number, bucket in enumerate(buckets))
    hours = " ".join(
        f"WHEN counts_from < {bucket.end} THEN"
        f" ({bucket.end} - counts_from + (counts_from - {bucket.phase}) % 3600 + 3599) / 3600 - skips_hour"
        for bucket in buckets
    )
    nets, weighted = (", ".join(f"SUM({unit}{factor})" for unit in _UNITS) for factor in ("", " * hours"))
    return f"""
        SELECT kind, node_id, type, bucket, {nets}, {weighted} FROM (
            SELECT kind, node_id, type, {", ".join(_UNITS)}, CASE {numbers} END AS bucket, CASE {hours} END AS hours
            FROM billing_entries WHERE tenant_id = ? AND counts_from <= ?
        ) AS entries GROUP BY kind, node_id, type, bucket
    """


async def _late_corrections(
    snapshot: Snapshot, tenant_id: int, until: int, buckets: list[Bucket], books: list[PriceBook], starts: set[int]
) -> list[Cost]:
    """Return the differences for resources that ended before a price began in the same hour."""
    costs = []
    begins = [bucket.start for bucket in buckets]
    last: dict[int, int] = {}
    for start in starts:
        number = bisect_right(begins, start) - 1
        # Any price begins in the first hour of a bucket.
        if number >= 0 and begins[number] < start <= until and start < buckets[number].end:
            last[number] = max(start, last.get(number, start))
    for number, start in last.items():
        bucket, book = buckets[number], books[number]
        for row in await snapshot.all(_ENDS, (tenant_id, bucket.start, start)):
            kind, node_id, type_name, *amounts, at = row
            entry = Entry(CostKey(kind, node_id, type_name), _amounts(*amounts), at, is_end=True)
            costs.append(Cost(entry.key, bucket.start, late_price_correction(entry, [bucket], book)))
    return costs


def _amounts(items: int, vcpus: int, ram_gb: int, size_gb: int) -> Amounts:
    return Amounts(items, vcpus, 0, ram_gb, size_gb)
