"""All costs of a month, of one tenant or of all, row by row."""

from collections.abc import AsyncIterator
from datetime import date, tzinfo
from typing import Final, NamedTuple

from cloudconsole.backends.costs.context import read_context
from cloudconsole.backends.costs.rows import CostQuery, CostRow, CostRowReader
from cloudconsole.core.billing_hours import HOUR, Month, day_start
from cloudconsole.core.pricing import format_amount
from cloudconsole.spec.focus import Charge
from cloudconsole.store.base import Snapshot

_TENANTS: Final = """
    SELECT id, name FROM tenants UNION ALL SELECT id, name FROM record_names WHERE thing = 'tenant' ORDER BY 2, 1
"""
_ROWS_PER_PAGE: Final = 1000
_MIDDLE: Final = 15


class ExportedRow(NamedTuple):
    tenant_id: int
    tenant: str
    month: Month
    row: CostRow

    def charge(self, provider: str, currency: str) -> Charge:
        segment = self.row.segment
        # A correction has no hours: that of the change stands for it.
        start = segment.start if segment.hours else segment.start - segment.start % HOUR
        return Charge(
            account_id=f"tenant-{self.tenant_id}",
            account_name=self.tenant,
            provider=provider,
            currency=currency,
            invoice_id=f"{self.tenant}/{self.month.label}",
            month_start=self.month.start,
            month_end=self.month.end,
            start=start,
            end=segment.end if segment.hours else start + HOUR,
            kind=segment.key.kind,
            size=self.size(),
            resource_id=self.row.id.resource_id,
            name=self.row.name,
            region=self.row.region,
            hours=segment.hours,
            unit_price=format_amount(segment.hourly),
            amount=format_amount(self.row.cost),
            correction=self.row.event,
        )

    def size(self) -> str:
        amounts = self.row.segment.amounts
        parts = [(amounts.vcpus, "vCPUs"), (amounts.ram_gb, "GB"), (amounts.size_gb, "GB")]
        return ", ".join(f"{amount} {unit}" for amount, unit in parts if amount)


async def recorded_tenants(snapshot: Snapshot, name: str | None) -> list[tuple[int, str]]:
    """Return id and name of all tenants that are or were, or of those with a name."""
    found = [(int(row[0]), str(row[1])) for row in await snapshot.all(_TENANTS)]
    return [each for each in found if name is None or each[1] == name]


async def export_month(
    snapshot: Snapshot, month: tuple[int, int], tenants: list[tuple[int, str]], second: int, zone: tzinfo
) -> AsyncIterator[ExportedRow]:
    """Yield the rows of tenants in their order, by resource and time."""
    for tenant_id, name in tenants:
        context = await read_context(snapshot, tenant_id, second, zone)
        if not context.keys:
            continue
        period = context.calendar.month_at(day_start(date(*month, _MIDDLE), context.zone))
        query = CostQuery(period.start, period.end, "", "", is_daily=False, limit=_ROWS_PER_PAGE)
        while True:
            rows = await CostRowReader(snapshot, tenant_id, query, context).rows()
            for row in rows:
                yield ExportedRow(tenant_id, name, period, row)
            if len(rows) < _ROWS_PER_PAGE:
                break
            query = query._replace(after=rows[-1].id)
