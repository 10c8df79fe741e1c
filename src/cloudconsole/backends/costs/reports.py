"""Costs over time from the record in the store."""

import math
from datetime import date, datetime, timedelta, tzinfo
from typing import Final

from cloudconsole.backends.costs.history import History, read_history
from cloudconsole.backends.costs.rows import CostQuery, RowId, read_rows
from cloudconsole.core.billing import cost_of
from cloudconsole.core.billing_hours import Calendar, Month, day_start
from cloudconsole.core.clock import Clock
from cloudconsole.core.ports import CacheableResult, Tenant
from cloudconsole.core.pricing import format_amount
from cloudconsole.core.resources import PRICED_UNITS
from cloudconsole.spec.errors import InvalidField
from cloudconsole.spec.extension_records import Consumption, ConsumptionSummaryItem, Forecast, MonthlyBill, SummaryType
from cloudconsole.spec.extensions import MAX_DAYS, ConsumptionsParameters
from cloudconsole.spec.i18n import Text
from cloudconsole.store.base import Reader

_COUNTS: Final = """
    SELECT kind, COUNT(*) FROM (
        SELECT kind, resource_id, SUM(items * (:end - counts_from - skips_hour)) AS seconds,
            MAX(CASE WHEN correction <> '0' THEN 1 ELSE 0 END) AS is_corrected
        FROM billing_entries WHERE tenant_id = :tenant AND counts_from < :end AND resource_id <> '' {only}
        GROUP BY kind, resource_id
    ) AS lives WHERE seconds > 0 OR is_corrected = 1 GROUP BY kind
"""
_NODE: Final = (
    "SELECT id FROM nodes WHERE name = ? UNION ALL SELECT id FROM record_names WHERE thing = 'node' AND name = ?"
)

REPORT_MONTHS: Final = 12
_FIRST_DAY: Final = date(1970, 1, 1)
_LAST_DAY: Final = date(9998, 12, 31)


class RecordedCosts:
    def __init__(self, reader: Reader, clock: Clock, zone: tzinfo) -> None:
        self._reader = reader
        self._clock = clock
        self._zone = zone

    async def report(self, tenant: Tenant) -> CacheableResult[list[MonthlyBill]]:
        now = self._clock.now()
        history = await self._history(tenant, now)
        months = _last_months(history.context.calendar if history else Calendar(self._zone), now)
        if history is None:
            unknown = [MonthlyBill(month.label, None, is_complete=False) for month in months]
            return CacheableResult(unknown, months[-1].end)
        rows = []
        for month in months:
            is_known = history.context.state.complete_since < month.end
            total = sum(cost.billionths for cost in history.costs if month.start <= cost.start < month.end)
            is_complete = history.context.state.complete_since <= month.start
            rows.append(MonthlyBill(month.label, format_amount(total) if is_known else None, is_complete))
        return CacheableResult(rows, history.context.expires_at)

    async def summary(self, tenant: Tenant, region: str) -> CacheableResult[list[ConsumptionSummaryItem]]:
        now = self._clock.now()
        history = await self._history(tenant, now)
        if history is None:
            kinds: list[SummaryType] = [*PRICED_UNITS, "allcategories"]
            return CacheableResult([ConsumptionSummaryItem(kind, 0, None) for kind in kinds])
        nodes = None if not region else {int(row[0]) for row in await self._reader.all(_NODE, (region, region))}
        only = "" if nodes is None else f"AND node_id IN ({', '.join(map(str, nodes)) or 'NULL'})"
        values = {"tenant": tenant.id, "end": history.context.hour_end}
        counts = {kind: int(count) for kind, count in await self._reader.all(_COUNTS.format(only=only), values)}
        amounts = dict.fromkeys(PRICED_UNITS, 0)
        for cost in history.costs:
            if nodes is None or cost.key.node_id in nodes:
                amounts[cost.key.kind] += cost.billionths
        rows = [ConsumptionSummaryItem(kind, counts.get(kind, 0), format_amount(amounts[kind])) for kind in amounts]
        total = format_amount(sum(amounts.values()))
        rows.append(ConsumptionSummaryItem("allcategories", sum(counts.values()), total))
        return CacheableResult(rows, history.context.expires_at)

    async def consumptions(
        self, tenant: Tenant, parameters: ConsumptionsParameters
    ) -> CacheableResult[list[Consumption]]:
        now = self._clock.now()
        query = _cost_query(parameters, now, self._zone)
        if tenant.credentials is not None or (query.kind and query.kind not in PRICED_UNITS):
            return CacheableResult([], query.end)
        async with self._reader.snapshot() as snapshot:
            rows, context = await read_rows(snapshot, tenant.id, math.floor(now), self._zone, query)
        return CacheableResult(rows, context.expires_at if query.end > now else math.inf)

    async def forecast(self, tenant: Tenant) -> CacheableResult[Forecast]:
        now = self._clock.now()
        history = await self._history(tenant, now)
        month = (history.context.calendar if history else Calendar(self._zone)).month_at(math.floor(now))
        if history is None:
            return CacheableResult(Forecast(month.label, None, None, None, 0, is_complete=False), month.end)
        so_far = sum(cost.billionths for cost in history.costs if cost.start >= month.start)
        left = sum(span.hours for span in history.context.calendar.divide(history.context.hour_end, month.end))
        hourly = sum(
            cost_of(key, amounts, history.context.books.present, now) for key, amounts in history.running.items()
        )
        rest = hourly * left
        record = Forecast(
            month.label,
            format_amount(so_far),
            format_amount(rest),
            format_amount(so_far + rest),
            left,
            is_complete=history.context.state.complete_since <= month.start,
        )
        return CacheableResult(record, history.context.expires_at)

    async def _history(self, tenant: Tenant, now: float) -> History | None:
        """Return the costs up to now; None if nothing is recorded for such a tenant."""
        if tenant.credentials is not None:
            return None
        async with self._reader.snapshot() as snapshot:
            return await read_history(snapshot, tenant.id, math.floor(now), self._zone)


def _last_months(calendar: Calendar, now: float) -> list[Month]:
    months = [calendar.month_at(math.floor(now))]
    while len(months) < REPORT_MONTHS:
        months.append(calendar.month_at(months[-1].start - 1))
    return months[::-1]


_INVALID_PERIOD: Final = Text(
    f"The field '{{field}}' must not be after 'end_at', nor more than {MAX_DAYS - 1} days before it.",
    f"字段“{{field}}”不得晚于“end_at”，也不得早于其 {MAX_DAYS - 1} 天以上。",
)


def _default_last(first: date | None, today: date) -> date:
    """Return today, or the last day of the longest period."""
    if first is None or (first <= today and (today - first).days < MAX_DAYS):
        return today
    return first if first > today else first + timedelta(days=MAX_DAYS - 1)


def _cost_query(parameters: ConsumptionsParameters, now: float, zone: tzinfo) -> CostQuery:
    today = datetime.fromtimestamp(now, zone).date()
    last = parameters.end_at or _default_last(parameters.start_at, today)
    first = parameters.start_at or last.replace(day=1)
    if not 0 <= (last - first).days < MAX_DAYS:
        raise InvalidField("start_at", _INVALID_PERIOD)
    # There are no costs before and after.
    first, last = (min(max(day, _FIRST_DAY), _LAST_DAY) for day in (first, last))
    start, end = day_start(first, zone), day_start(last + timedelta(days=1), zone)
    after = RowId.parse(parameters.marker) if parameters.marker else None
    is_daily = parameters.interval == "day"
    return CostQuery(start, end, parameters.type, parameters.region, is_daily, parameters.limit, after)
