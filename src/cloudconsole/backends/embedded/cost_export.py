"""All costs of a month, of one tenant or of all, line by line."""

from collections.abc import AsyncIterator
from datetime import date, tzinfo
from typing import Final, NamedTuple

from cloudconsole.backends.embedded.billing_rules import read_rules
from cloudconsole.backends.embedded.cost_rows import CostLine, CostQuery, LineReader
from cloudconsole.core.billing_hours import HOUR, Month, day_start
from cloudconsole.core.pricing import format_amount
from cloudconsole.spec.focus import Charge
from cloudconsole.store.base import Snapshot

_TENANTS: Final = """
    SELECT id, name FROM tenants UNION ALL SELECT id, name FROM former_names WHERE thing = 'tenant' ORDER BY 2, 1
"""
_LINES_PER_PAGE: Final = 1000
_MIDDLE: Final = 15


class ExportedLine(NamedTuple):
    tenant_id: int
    tenant: str
    month: Month
    line: CostLine

    def charge(self, provider: str, currency: str) -> Charge:
        segment = self.line.segment
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
            resource_id=self.line.id.resource_id,
            name=self.line.name,
            region=self.line.region,
            hours=segment.hours,
            unit_price=format_amount(segment.hourly),
            amount=format_amount(self.line.cost),
            correction=self.line.event,
        )

    def size(self) -> str:
        amounts = self.line.segment.amounts
        parts = [(amounts.vcpus, "vCPUs"), (amounts.ram_gb, "GB"), (amounts.size_gb, "GB")]
        return ", ".join(f"{amount} {unit}" for amount, unit in parts if amount)


async def recorded_tenants(snapshot: Snapshot, name: str | None) -> list[tuple[int, str]]:
    """Return id and name of all tenants that are or were, or of those with a name."""
    found = [(int(row[0]), str(row[1])) for row in await snapshot.all(_TENANTS)]
    return [each for each in found if name is None or each[1] == name]


async def export_month(
    snapshot: Snapshot, month: tuple[int, int], tenants: list[tuple[int, str]], second: int, zone: tzinfo
) -> AsyncIterator[ExportedLine]:
    """Yield the lines of tenants in their order, by resource and time."""
    for tenant_id, name in tenants:
        rules = await read_rules(snapshot, tenant_id, second, zone)
        if not rules.keys:
            continue
        period = rules.calendar.month_at(day_start(date(*month, _MIDDLE), rules.zone))
        query = CostQuery(period.start, period.end, "", "", is_daily=False, limit=_LINES_PER_PAGE)
        while True:
            lines = await LineReader(snapshot, tenant_id, second, query, rules).lines()
            for line in lines:
                yield ExportedLine(tenant_id, name, period, line)
            if len(lines) < _LINES_PER_PAGE:
                break
            query = query._replace(after=lines[-1].id)
