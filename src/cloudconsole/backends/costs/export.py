"""All costs of a month, of one tenant or of all, row by row, and the columns of each export format."""

from collections.abc import AsyncIterator, Callable
from datetime import date, tzinfo
from typing import Final, NamedTuple

from cloudconsole.backends.costs.context import BillingContext, read_context
from cloudconsole.backends.costs.rows import CostQuery, CostRow, CostRowReader, RowId
from cloudconsole.core.billing_hours import HOUR, Month, day_start
from cloudconsole.core.clock import format_utc
from cloudconsole.core.pricing import format_amount
from cloudconsole.spec.extensions import ExportFormat
from cloudconsole.spec.focus import VERSIONS, Charge, Issuer
from cloudconsole.store.base import Snapshot

_TENANTS: Final = """
    SELECT id, name FROM tenants UNION ALL SELECT id, name FROM record_names WHERE thing = 'tenant'
    UNION ALL SELECT project.id, COALESCE(tenants.name, project.name)
    FROM record_names AS project LEFT JOIN tenants ON tenants.project = project.name
    WHERE project.thing = 'project' ORDER BY 2, 1
"""
_ROWS_PER_PAGE: Final = 1000
_MIDDLE: Final = 15
_FOCUS_VERSION: Final = "1.2"


class RecordedTenant(NamedTuple):
    """A tenant that is or was."""

    id: int
    name: str


class ExportedRow(NamedTuple):
    tenant: str
    month: Month
    row: CostRow

    def charge(self, issuer: Issuer) -> Charge:
        segment = self.row.segment
        # A correction has no hours: that of the change stands for it.
        start = segment.start if segment.hours else segment.start - segment.start % HOUR
        return Charge(
            # Not an id of the store: a removed tenant gets another.
            account=self.tenant,
            issuer=issuer,
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


_CSV: Final[dict[str, Callable[[ExportedRow], str]]] = {
    "tenant": lambda each: each.tenant,
    "month": lambda each: each.month.label,
    "res_type": lambda each: each.row.segment.key.kind,
    "res_id": lambda each: each.row.id.resource_id,
    "name": lambda each: each.row.name,
    "region": lambda each: each.row.region,
    "vcpus": lambda each: str(each.row.segment.amounts.vcpus),
    "memory_gb": lambda each: str(each.row.segment.amounts.ram_gb),
    "size_gb": lambda each: str(each.row.segment.amounts.size_gb),
    "start": lambda each: format_utc(each.row.segment.start),
    "end": lambda each: format_utc(each.row.segment.end),
    "hours": lambda each: str(each.row.segment.hours),
    "unit_price": lambda each: format_amount(each.row.segment.hourly),
    "amount": lambda each: format_amount(each.row.cost),
    "correction": lambda each: each.row.event,
}


class ExportColumns:
    """The columns of a format: their names, and their values in a row."""

    def __init__(self, export_format: ExportFormat, issuer: Issuer) -> None:
        self._is_focus = export_format == "focus"
        self._issuer = issuer
        self.names = list(VERSIONS[_FOCUS_VERSION] if self._is_focus else _CSV)

    def values(self, row: ExportedRow) -> list[str]:
        if not self._is_focus:
            return [value(row) for value in _CSV.values()]
        charge = row.charge(self._issuer)
        return [value(charge) for value in VERSIONS[_FOCUS_VERSION].values()]


class TenantMonth:
    """The costs of one tenant in one month, in pages."""

    def __init__(
        self, snapshot: Snapshot, tenant: RecordedTenant, month: tuple[int, int], context: BillingContext
    ) -> None:
        self._snapshot = snapshot
        self._tenant = tenant
        self._context = context
        self.period = context.calendar.month_at(day_start(date(*month, _MIDDLE), context.zone))

    async def rows(self, limit: int, after: RowId | None = None) -> list[ExportedRow]:
        """Return the rows after one, or the first ones, by resource and time."""
        query = CostQuery(self.period.start, self.period.end, "", "", is_daily=False, limit=limit, after=after)
        rows = await CostRowReader(self._snapshot, self._tenant.id, query, self._context).rows()
        return [ExportedRow(self._tenant.name, self.period, row) for row in rows]


async def recorded_tenants(snapshot: Snapshot, name: str | None) -> list[RecordedTenant]:
    """Return all tenants that are or were, or those with a name."""
    found = [RecordedTenant(int(row[0]), str(row[1])) for row in await snapshot.all(_TENANTS)]
    return [each for each in found if name is None or each.name == name]


async def export_month(
    snapshot: Snapshot, month: tuple[int, int], tenants: list[RecordedTenant], second: int, zone: tzinfo
) -> AsyncIterator[ExportedRow]:
    """Yield the rows of tenants in their order, by resource and time."""
    for tenant in tenants:
        context = await read_context(snapshot, tenant.id, second, zone)
        if not context.keys:
            continue
        costs = TenantMonth(snapshot, tenant, month, context)
        after = None
        while True:
            rows = await costs.rows(_ROWS_PER_PAGE, after)
            for row in rows:
                yield row
            if len(rows) < _ROWS_PER_PAGE:
                break
            after = rows[-1].row.id
