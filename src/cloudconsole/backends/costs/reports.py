"""Costs over time from the record in the store."""

import math
from collections.abc import Awaitable, Callable
from datetime import date, datetime, timedelta, tzinfo
from typing import Final, NamedTuple, TypeVar

from cloudconsole.backends.costs.context import owner_id, read_context
from cloudconsole.backends.costs.export import ExportColumns, RecordedTenant, TenantMonth
from cloudconsole.backends.costs.history import History, read_history
from cloudconsole.backends.costs.rows import CostQuery, RowId, read_rows
from cloudconsole.core.billing_hours import Calendar, Month, day_start
from cloudconsole.core.clock import Clock
from cloudconsole.core.ports import CacheableResult, Tenant
from cloudconsole.core.pricing import format_amount
from cloudconsole.core.resources import PRICED_UNITS
from cloudconsole.spec.errors import InvalidField
from cloudconsole.spec.extension_records import (
    GAP,
    Consumption,
    ConsumptionSummaryItem,
    CostExport,
    Forecast,
    MonthlyBill,
    SummaryType,
)
from cloudconsole.spec.extensions import MAX_DAYS, ConsumptionsParameters, CostExportParameters
from cloudconsole.spec.focus import Issuer
from cloudconsole.spec.i18n import Text
from cloudconsole.store.base import Reader

# Resources that ran for some time or were corrected. Reads only indexes, so that it takes little time also for tenants
# with many entries.
_COUNTS: Final = """
    SELECT kind, COUNT(*) FROM (
        SELECT kind, resource_id FROM billing_entries
        WHERE tenant_id = :owner AND resource_id > '' AND counts_from < :end AND items <> 0 {only}
        GROUP BY resource_id, kind HAVING SUM(items * (:end - counts_from - skips_hour)) > 0
        UNION
        SELECT kind, resource_id FROM billing_entries
        WHERE tenant_id = :owner AND resource_id > '' AND counts_from < :end AND correction <> '0' {only}
    ) AS billed GROUP BY kind
"""
_NODE: Final = (
    "SELECT id FROM nodes WHERE name = ? UNION ALL SELECT id FROM record_names WHERE thing <> 'tenant' AND name = ?"
)
_TENANT_NAME: Final = "SELECT name FROM tenants WHERE id = ?"

REPORT_MONTHS: Final = 12
_FIRST_DAY: Final = date(1970, 1, 1)
_LAST_DAY: Final = date(9998, 12, 31)


Record = TypeVar("Record")

ReadCloud = Callable[[Tenant], Awaitable[float]]
"""Records the resources of a federated tenant, and returns until when that is up to date."""


class RecordedCosts:
    def __init__(
        self, reader: Reader, clock: Clock, zone: tzinfo, issuer: Issuer, read_cloud: ReadCloud | None = None
    ) -> None:
        self._reader = reader
        self._clock = clock
        self._zone = zone
        self._issuer = issuer
        self._read_cloud = read_cloud

    async def report(self, tenant: Tenant) -> CacheableResult[list[MonthlyBill]]:
        history, moment = await self._history(tenant)
        months = _last_months(history.context.calendar if history else Calendar(self._zone), moment.now)
        if history is None:
            unknown = [MonthlyBill(month.label, None, None, is_complete=False) for month in months]
            return moment.result(unknown, months[-1].end)
        context = history.context
        rows = []
        for month in months:
            costs = [cost for cost in history.costs if month.start <= cost.start < month.end]
            total, corrections = None, None
            if any(cost.billionths for cost in costs) or context.is_known(month):
                total = format_amount(sum(cost.billionths for cost in costs))
                corrections = format_amount(sum(cost.billionths for cost in costs if cost.is_correction))
            rows.append(MonthlyBill(month.label, total, corrections, context.is_complete(month)))
        return moment.result(rows, context.expires_at)

    async def summary(self, tenant: Tenant, region: str) -> CacheableResult[list[ConsumptionSummaryItem]]:
        history, moment = await self._history(tenant)
        if history is None:
            kinds: list[SummaryType] = [*PRICED_UNITS, "allcategories"]
            rows = [ConsumptionSummaryItem(kind, 0, None) for kind in kinds]
            return moment.result(rows)
        nodes = None if not region else {int(row[0]) for row in await self._reader.all(_NODE, (region, region))}
        only = "" if nodes is None else f"AND node_id IN ({', '.join(map(str, nodes)) or 'NULL'})"
        values = {"owner": history.owner, "end": history.context.hour_end}
        counts = {kind: int(count) for kind, count in await self._reader.all(_COUNTS.format(only=only), values)}
        amounts = dict.fromkeys(PRICED_UNITS, 0)
        for cost in history.costs:
            if nodes is None or cost.key.node_id in nodes:
                amounts[cost.key.kind] += cost.billionths
        rows = [ConsumptionSummaryItem(kind, counts.get(kind, 0), format_amount(amounts[kind])) for kind in amounts]
        total = format_amount(sum(amounts.values()))
        rows.append(ConsumptionSummaryItem("allcategories", sum(counts.values()), total))
        return moment.result(rows, history.context.expires_at)

    async def consumptions(
        self, tenant: Tenant, parameters: ConsumptionsParameters
    ) -> CacheableResult[list[Consumption]]:
        moment = await self._read(tenant)
        query = _cost_query(parameters, moment.now, self._zone)
        if query.kind and query.kind not in (*PRICED_UNITS, GAP):
            return moment.result([])
        async with self._reader.snapshot() as snapshot:
            owner = await owner_id(snapshot, tenant)
            if owner is None:
                return moment.result([], query.end)
            rows, context = await read_rows(snapshot, owner, moment.second, self._zone, query)
        expires_at = context.expires_at if query.end > moment.now else math.inf
        return moment.result(rows, expires_at)

    async def forecast(self, tenant: Tenant) -> CacheableResult[Forecast]:
        return (await self.current(tenant)).forecast

    async def current(self, tenant: Tenant) -> "CurrentCosts":
        history, moment = await self._history(tenant)
        month = (history.context.calendar if history else Calendar(self._zone)).month_at(moment.second)
        if history is None:
            unknown = Forecast(month.label, None, None, None, 0, is_complete=False)
            return CurrentCosts(moment.result(unknown, month.end), None)
        context = history.context
        costs = [cost.billionths for cost in history.costs if cost.start >= month.start]
        so_far = sum(costs)
        first = max(context.hour_end, month.start)
        left = sum(span.hours for span in context.calendar.divide(first, month.end))
        rates = [
            context.books.present.hourly(key.kind, key.node_id, amounts, moment.now, key.type)
            for key, amounts in history.running.items()
            if any(amounts)
        ]
        lacks_price = None in rates
        hourly = None if lacks_price or not context.is_current else sum(rate or 0 for rate in rates)
        record = Forecast(
            month.label,
            format_amount(so_far) if any(costs) or context.is_known(month) else None,
            None if hourly is None else format_amount(hourly * left),
            None if hourly is None else format_amount(so_far + hourly * left),
            left,
            is_complete=context.is_complete(month),
        )
        result = moment.result(record, context.expires_at)
        return CurrentCosts(result, None if hourly is None else format_amount(hourly), lacks_price=lacks_price)

    async def export(self, tenant: Tenant, parameters: CostExportParameters) -> CacheableResult[CostExport]:
        """Return the rows that the operator exports for the tenant, without those of a removed one of its name."""
        moment, limit = await self._read(tenant), parameters.limit
        columns = ExportColumns(parameters.format, self._issuer)
        after = RowId.parse(parameters.marker) if parameters.marker else None
        async with self._reader.snapshot() as snapshot:
            owner = await owner_id(snapshot, tenant)
            if owner is None:
                return moment.result(CostExport(columns.names, [], None))
            # A tenant that was just removed has no rows.
            (name,) = await snapshot.one(_TENANT_NAME, (tenant.id,)) or ("",)
            context = await read_context(snapshot, owner, moment.second, self._zone)
            year, month = map(int, parameters.month.split("-"))
            costs = TenantMonth(snapshot, RecordedTenant(owner, name), (year, month), context)
            rows = await costs.rows(limit + 1, after)
        next_marker = str(rows[limit - 1].row.id) if len(rows) > limit else None
        record = CostExport(columns.names, [columns.values(row) for row in rows[:limit]], next_marker)
        return moment.result(record, context.expires_at if costs.period.end > moment.now else math.inf)

    async def _history(self, tenant: Tenant) -> tuple[History | None, "_Moment"]:
        """Return the costs up to now; None if nothing is recorded for such a tenant."""
        moment = await self._read(tenant)
        async with self._reader.snapshot() as snapshot:
            owner = await owner_id(snapshot, tenant)
            if owner is None:
                return None, moment
            return await read_history(snapshot, owner, moment.second, self._zone), moment

    async def _read(self, tenant: Tenant) -> "_Moment":
        until = math.inf
        if tenant.credentials is not None and self._read_cloud is not None:
            until = await self._read_cloud(tenant)
        return _Moment(self._clock.now(), until)


class CurrentCosts(NamedTuple):
    forecast: CacheableResult[Forecast]
    hourly: str | None
    """What runs now, per hour; None if that is not known or something has no price."""
    lacks_price: bool = False


class _Moment(NamedTuple):
    now: float
    up_to_date_until: float
    """When the cloud must be read again."""

    @property
    def second(self) -> int:
        return math.floor(self.now)

    def result(self, record: Record, expires_at: float = math.inf) -> CacheableResult[Record]:
        return CacheableResult(record, min(expires_at, self.up_to_date_until))


def _last_months(calendar: Calendar, now: float) -> list[Month]:
    months = [calendar.month_at(math.floor(now))]
    while len(months) < REPORT_MONTHS:
        months.append(calendar.month_at(months[-1].start - 1))
    return months[::-1]


_INVALID_PERIOD: Final = Text(
    f"The field '{{field}}' must not be after 'end_at', and a period has at most {MAX_DAYS} days.",
    f"字段“{{field}}”不得晚于“end_at”，且时间段最多 {MAX_DAYS} 天。",
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
