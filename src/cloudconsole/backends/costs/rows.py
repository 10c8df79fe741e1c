"""A tenant's costs in a period, resource by resource, in pages."""

from collections.abc import Iterator
from datetime import datetime, timedelta, tzinfo
from itertools import groupby, islice
from typing import Any, Final, NamedTuple

from cloudconsole.backends.costs.context import BillingContext, billed_amounts, read_context
from cloudconsole.core.billing import CostKey, Entry
from cloudconsole.core.billing_hours import HOUR, day_start
from cloudconsole.core.billing_segments import Prices, Segment, joined, segments
from cloudconsole.core.clock import format_local
from cloudconsole.core.pricing import format_amount
from cloudconsole.core.resources import Amounts
from cloudconsole.spec.extension_records import GAP, Consumption, ResourceSize
from cloudconsole.store.base import RowTuple, Snapshot
from cloudconsole.store.tables import BILLED_AMOUNTS

# A resource has a cost if it ran when the period began, or changed, or was corrected in it.
_RESOURCES: Final = """
    SELECT resource_id FROM billing_entries
    WHERE tenant_id = ? AND resource_id >= ? AND counts_from < ? {only}
    GROUP BY resource_id
    HAVING SUM(CASE WHEN counts_from < ? THEN items ELSE 0 END) <> 0 OR MAX(counts_from) >= ? OR resource_id = ''
        OR MAX(CASE WHEN correction <> '0' THEN recorded_at ELSE 0 END) >= ?
    ORDER BY resource_id LIMIT ?
"""
_ENTRIES: Final = f"""
    SELECT resource_id, kind, node_id, type, {", ".join(BILLED_AMOUNTS)}, counts_from, skips_hour, name, event,
        correction, recorded_at
    FROM billing_entries WHERE tenant_id = ? AND resource_id IN ({{ids}}) AND counts_from < ? {{only}}
    ORDER BY resource_id, id
"""
_NODE_NAMES: Final = "SELECT id, name FROM nodes UNION ALL SELECT id, name FROM record_names WHERE thing <> 'tenant'"
_RESOURCES_PER_QUERY: Final = 200
_AFTER_RESOURCES: Final = "~"
"""No id of OpenStack begins with it or a later character."""


class CostQuery(NamedTuple):
    start: int
    end: int
    """Exclusive."""
    kind: str
    region: str
    """Empty for all."""
    is_daily: bool
    """Whether rows end with each day."""
    limit: int
    after: "RowId | None" = None


class RowId(NamedTuple):
    """Identifies a row of a query."""

    resource_id: str
    start: int
    number: int
    """Distinguishes rows of the resource that begin at the same time."""

    def __str__(self) -> str:
        return f"{self.resource_id}/{self.start}/{self.number}"

    @classmethod
    def parse(cls, text: str) -> "RowId":
        """Read a marker; any other text is before all rows of a resource of this id."""
        resource_id, *numbers = text.rsplit("/", 2)
        if len(numbers) != 2 or not all(number.isascii() and number.isdigit() for number in numbers):
            return cls(text, 0, 0)
        return cls(resource_id, *map(int, numbers))


class CostRow(NamedTuple):
    """The cost of some hours of a resource, or a correction of closed ones."""

    id: RowId
    name: str
    region: str
    segment: Segment
    cost: int
    event: str
    """Of a correction."""
    is_running: bool


async def read_rows(
    snapshot: Snapshot, owner: int, now: int, zone: tzinfo, query: CostQuery
) -> tuple[list[Consumption], BillingContext]:
    context = await read_context(snapshot, owner, now, zone)
    rows = []
    if query.kind != GAP:
        costs = await CostRowReader(snapshot, owner, query, context).rows()
        rows = [_consumption(row, context) for row in costs]
    rows += islice(_gap_rows(context, query, now), query.limit - len(rows))
    return rows, context


def _gap_rows(context: BillingContext, query: CostQuery, now: int) -> Iterator[Consumption]:
    """Yield the hours of an OpenStack project without a reading, after all resources."""
    if query.kind not in ("", GAP):
        return
    end = min(query.end, context.calendar.span_at(now).hour_start(now))
    for start, until in context.gaps(query.start, end):
        for month in context.calendar.months(start, until):
            first, last = max(start, month.start), min(until, month.end)
            row_id = RowId(_AFTER_RESOURCES, first, 0)
            if query.after is None or row_id > query.after:
                yield _gap(row_id, last, context)


def _gap(row_id: RowId, end: int, context: BillingContext) -> Consumption:
    return Consumption(
        res_type=GAP,
        res_meta=ResourceSize(0, 0, 0),
        start_at=format_local(row_id.start, context.zone),
        end_at=format_local(end, context.zone),
        name="",
        region="",
        unit_price=format_amount(0),
        billing_type="hourly",
        amount=format_amount(0),
        remarks="",
        billing_id=context.calendar.month_at(row_id.start).label,
        cost_time="0",
        res_id="",
        id=str(row_id),
        is_billing=False,
    )


def _consumption(row: CostRow, context: BillingContext) -> Consumption:
    segment = row.segment
    amounts = segment.amounts
    return Consumption(
        res_type=segment.key.kind,
        res_meta=ResourceSize(amounts.vcpus, amounts.ram_gb, amounts.size_gb),
        start_at=format_local(segment.start, context.zone),
        end_at=format_local(segment.end, context.zone),
        name=row.name,
        region=row.region,
        unit_price=format_amount(segment.hourly),
        billing_type="correction" if row.event else "hourly",
        amount=format_amount(row.cost),
        remarks=row.event,
        billing_id=context.calendar.month_at(segment.start).label,
        cost_time=str(segment.hours * HOUR),
        res_id=row.id.resource_id,
        id=str(row.id),
        is_billing=row.is_running,
    )


class CostRowReader:
    """Reads one page of rows."""

    def __init__(self, snapshot: Snapshot, owner: int, query: CostQuery, context: BillingContext) -> None:
        self._snapshot = snapshot
        self._owner = owner
        self._zone = context.zone
        self._query = query
        self._context = context
        self._end = min(query.end, context.hour_end)
        # After the last reading of an OpenStack project, there may be corrections.
        self._entries_until = min(query.end, context.now + 1)
        self._corrections_until = min(query.end, context.calendar.span_at(context.now).hour_end(context.now))
        self._breaks = frozenset(self._day_starts() if query.is_daily else self._month_starts())
        self._prices: dict[CostKey, Prices] = {}
        self._nodes: dict[int | None, str] = {}

    async def rows(self) -> list[CostRow]:
        query = self._query
        if query.start >= self._entries_until:
            return []
        self._nodes = dict(await self._snapshot.all(_NODE_NAMES))
        only, values = self._condition()
        rows: list[CostRow] = []
        first = query.after.resource_id if query.after else ""
        while len(rows) < query.limit:
            found = await self._snapshot.all(
                _RESOURCES.format(only=only),
                (
                    *(self._owner, first, self._entries_until, *values),
                    *(query.start, query.start, query.start, _RESOURCES_PER_QUERY + 1),
                ),
            )
            ids = [row[0] for row in found[:_RESOURCES_PER_QUERY]]
            if ids:
                rows += islice(await self._rows_of(ids, only, values), query.limit - len(rows))
            if len(found) <= _RESOURCES_PER_QUERY:
                break
            first = found[-1][0]
        return rows

    def _month_starts(self) -> Iterator[int]:
        return (month.start for month in self._context.calendar.months(self._query.start, self._query.end))

    def _day_starts(self) -> Iterator[int]:
        day, last = (datetime.fromtimestamp(each, self._zone).date() for each in (self._query.start, self._end))
        while day <= last:
            yield day_start(day, self._zone)
            day += timedelta(days=1)

    def _condition(self) -> tuple[str, tuple[Any, ...]]:
        parts, values = [], []
        if self._query.kind:
            parts.append("AND kind = ?")
            values.append(self._query.kind)
        if self._query.region:
            nodes = [str(node_id) for node_id, name in self._nodes.items() if name == self._query.region]
            parts.append(f"AND node_id IN ({', '.join(nodes) or 'NULL'})")
        return " ".join(parts), tuple(values)

    async def _rows_of(self, ids: list[str], only: str, values: tuple[Any, ...]) -> Iterator[CostRow]:
        sql = _ENTRIES.format(ids=", ".join("?" * len(ids)), only=only)
        found = await self._snapshot.all(sql, (self._owner, *ids, self._entries_until, *values))
        after = self._query.after
        return (
            row
            for resource_id, entries in groupby(found, key=lambda row: str(row[0]))
            for row in self._resource(resource_id, list(entries))
            if after is None or row.id > after
        )

    def _resource(self, resource_id: str, found: list[RowTuple]) -> Iterator[CostRow]:
        by_key: dict[CostKey, list[Entry]] = {}
        costs: list[tuple[Segment, int, str, bool]] = []
        for _, kind, node_id, type_name, *amounts, counts_from, skips_hour, _, event, correction, recorded_at in found:
            key = CostKey(kind, node_id, type_name)
            by_key.setdefault(key, []).append(Entry(key, billed_amounts(*amounts), counts_from, bool(skips_hour)))
            moment = max(counts_from, recorded_at)
            if correction != "0" and self._query.start <= moment < self._corrections_until:
                costs.append((Segment(key, moment, moment, 0, Amounts(), 0), int(correction), event, False))
        for key, entries in by_key.items():
            for segment in joined(segments(key, entries, self._prices_of(key), self._context.calendar), self._breaks):
                is_last = self._context.is_current and segment.end == self._context.hour_end
                is_running = is_last and _runs(entries)
                costs.append((segment, segment.cost, "", is_running))
        costs.sort(key=lambda cost: (cost[0].start, cost[0].key.kind, cost[0].key.node_id or 0))
        name = str(found[-1][10])
        number = 0
        for index, (segment, cost, event, is_running) in enumerate(costs):
            number = number + 1 if index and costs[index - 1][0].start == segment.start else 0
            row_id = RowId(resource_id, segment.start, number)
            region = self._nodes.get(segment.key.node_id, "")
            yield CostRow(row_id, name, region, segment, cost, event, is_running)

    def _prices_of(self, key: CostKey) -> Prices:
        if key not in self._prices:
            starts = sorted({*self._context.books.starts, *self._breaks})
            parts = self._context.calendar.divide(self._query.start, self._end, starts)
            self._prices[key] = Prices(parts, self._context.books.at)
        return self._prices[key]


def _runs(entries: list[Entry]) -> bool:
    return any(sum(amounts) for amounts in zip(*(entry.amounts for entry in entries), strict=True))
