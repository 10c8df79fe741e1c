"""Compare the costs that a store reports: rows, months, summary and forecast of each tenant must agree."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from datetime import date, timedelta
from decimal import Decimal
from typing import Final, NamedTuple

from cloudconsole.backends.costs.reports import RecordedCosts
from cloudconsole.core.ports import Tenant
from cloudconsole.server.commands.admin.store import now
from cloudconsole.server.config.settings import Settings
from cloudconsole.spec.extension_records import Consumption
from cloudconsole.spec.extensions import MAX_PAGE, ConsumptionsParameters
from cloudconsole.store.base import run_with_reader

_TENANTS: Final = "SELECT id, name FROM tenants ORDER BY id"


class _FixedClock(NamedTuple):
    """All costs are those of one moment."""

    moment: int

    def now(self) -> float:
        return self.moment


def cost_differences(settings: Settings) -> list[str]:
    """Describe where the costs of tenants do not add up; all months must be among the last twelve."""
    return asyncio.run(_differences(settings))


async def _differences(settings: Settings) -> list[str]:
    async with run_with_reader(settings.store) as reader:
        costs = RecordedCosts(reader, _FixedClock(now()), settings.zone, settings.issuer)
        tenants = [Tenant(tenant_id, name) for tenant_id, name in await reader.all(_TENANTS)]
        return [line for tenant in tenants for line in await _tenant_differences(costs, tenant)]


async def _tenant_differences(costs: RecordedCosts, tenant: Tenant) -> list[str]:
    report = (await costs.report(tenant)).record
    months = {bill.bill_month: Decimal(bill.total or 0) for bill in report}
    rows = dict.fromkeys(months, Decimal())
    async for row in _rows(costs, tenant, date.fromisoformat(f"{report[0].bill_month}-01")):
        rows[row.billing_id] += Decimal(row.amount)
    summary = (await costs.summary(tenant, "")).record[-1].amount
    forecast = (await costs.forecast(tenant)).record
    compared = [
        *((f"rows of {month}", rows[month], total) for month, total in months.items()),
        ("summary", Decimal(summary or 0), sum(months.values(), Decimal())),
        ("forecast", Decimal(forecast.so_far or 0), months[forecast.month]),
    ]
    return list(_described(tenant, compared))


def _described(tenant: Tenant, compared: list[tuple[str, Decimal, Decimal]]) -> Iterator[str]:
    for name, found, expected in compared:
        if found != expected:
            yield f"{name} of tenant {tenant.username}: {found} instead of {expected}"


async def _rows(costs: RecordedCosts, tenant: Tenant, first: date) -> AsyncIterator[Consumption]:
    """Yield all rows of twelve months from a first day on."""
    last = (first + timedelta(days=366)).replace(day=1) - timedelta(days=1)
    marker = ""
    while True:
        parameters = ConsumptionsParameters(start_at=first, end_at=last, limit=MAX_PAGE, marker=marker)
        page = (await costs.consumptions(tenant, parameters)).record
        for row in page:
            yield row
        if len(page) < MAX_PAGE:
            return
        marker = page[-1].id
