"""Usage, flavors and consumption from the store."""

import math
from collections.abc import Iterable
from datetime import tzinfo
from typing import Final, NamedTuple

from cloudconsole.backends.prices import CachedPrices
from cloudconsole.core.clock import Clock
from cloudconsole.core.ports import CacheableResult, PriceMissing, Tenant
from cloudconsole.core.pricing import PriceBook, clock_hour, estimate
from cloudconsole.core.resources import PRICED_UNITS, QUOTA_DEFAULTS, Amounts, flavors_record, quota_use
from cloudconsole.spec.records import BillableType, ConsumptionItem, Flavor, Flavors, UsageLimits
from cloudconsole.store.base import Reader, RowReader, RowTuple, Snapshot
from cloudconsole.store.counters import AMOUNTS_SQL
from cloudconsole.store.tables import NO_NODE

_INTERVAL: Final = f"SELECT kind, node_id, started_at, ended_at, {AMOUNTS_SQL} FROM resources WHERE tenant_id = :tenant"
_ENDED_INTERVALS: Final = f"""
    {_INTERVAL} AND started_at > :now AND ended_at IS NULL
    UNION ALL
    {_INTERVAL} AND ended_at >= :ended_since
"""


class ResourceInterval(NamedTuple):
    """The interval and amounts of one resource."""

    kind: str
    node_id: int | None
    started_at: int
    ended_at: int | None
    amounts: Amounts


async def ended_intervals(reader: RowReader, tenant_id: int, now: float, ended_since: float) -> list[ResourceInterval]:
    """Return intervals without an end that start later, and those that end at `ended_since` or later."""
    # Whole seconds like the columns, so that the database can use their indexes.
    moments = {"now": math.floor(now), "ended_since": math.ceil(ended_since)}
    rows = await reader.all(_ENDED_INTERVALS, {"tenant": tenant_id, **moments})
    return [
        ResourceInterval(kind, node_id, start, end, Amounts(*amounts)) for kind, node_id, start, end, *amounts in rows
    ]


def next_change(intervals: Iterable[ResourceInterval], now: float) -> float:
    """Return the next moment at which an interval starts or ends."""
    moments = (moment for interval in intervals for moment in (interval.started_at, interval.ended_at))
    return min((moment for moment in moments if moment is not None and moment > now), default=math.inf)


LIMITS: Final = {
    "max_total_instances": "instances",
    "max_total_cores": "cores",
    "max_total_ram_size": "ram",
    "max_total_volumes": "volumes",
    "max_total_volume_gigabytes": "gigabytes",
    "max_total_snapshots": "snapshots",
    "max_total_floating_ips": "floating_ips",
    "max_security_groups": "security_groups",
    "max_security_group_rules": "security_group_rules",
    "max_total_keypairs": "keypairs",
    "max_personality": "personality",
    "max_personality_size": "personality_size",
    "max_image_meta": "image_meta",
    "max_server_meta": "server_meta",
}
"""The quota of each limit in the record."""

USES: Final = {
    "total_instances_used": "instances",
    "total_cores_used": "cores",
    "total_ram_used": "ram",
    "total_volumes_used": "volumes",
    "total_gigabytes_used": "gigabytes",
    "total_snapshots_used": "snapshots",
    "total_floating_ips_used": "floating_ips",
    "total_security_groups_used": "security_groups",
}
"""The quota of each usage figure in the record."""


def _column(field: str) -> str:
    if field in USES:
        return f"COALESCE(usage.{USES[field]}, 0)"
    quota = LIMITS[field]
    return f"COALESCE(quotas.{quota}, {QUOTA_DEFAULTS[quota]})"


_USAGE: Final = f"""
    SELECT {", ".join(map(_column, UsageLimits.__struct_fields__))}, COALESCE(usage.settled_at, 0)
    FROM (SELECT ? AS tenant_id) AS tenant LEFT JOIN quotas USING (tenant_id) LEFT JOIN usage USING (tenant_id)
"""


async def usage_limits(reader: Reader, tenant_id: int, now: float) -> CacheableResult[UsageLimits]:
    """Return the stored usage, corrected for resources that start or end later."""
    *numbers, settled_at = await _usage(reader, tenant_id)
    if settled_at < now:
        return CacheableResult(UsageLimits(*numbers))
    # Rare, so only now use two statements, which need one snapshot.
    async with reader.snapshot() as snapshot:
        *numbers, _ = await _usage(snapshot, tenant_id)
        intervals = await ended_intervals(snapshot, tenant_id, now, ended_since=now)
    for interval in intervals:
        _correct(numbers, interval, now)
    return CacheableResult(UsageLimits(*numbers), next_change(intervals, now))


async def _usage(reader: RowReader, tenant_id: int) -> RowTuple:
    (row,) = await reader.all(_USAGE, (tenant_id,))
    return row


def _correct(numbers: list[int], interval: ResourceInterval, now: float) -> None:
    factor = -1 if interval.ended_at is None else int(interval.started_at <= now < interval.ended_at)
    uses = quota_use(interval.kind, interval.amounts)
    for index, field in enumerate(UsageLimits.__struct_fields__):
        if field in USES:
            numbers[index] += factor * uses.get(USES[field], 0)


_FLAVORS = """
    SELECT id, name, vcpus, ram_mb, disk_gb FROM flavors
    WHERE NOT disabled ORDER BY vcpus, ram_mb, disk_gb, LENGTH(id), id
"""
_TOTALS = "SELECT kind, node_id, items, vcpus, ram_mb, ram_gb, size_gb FROM totals WHERE tenant_id = ?"


class BillableState(NamedTuple):
    """A tenant's totals by kind and node, and the intervals that correct them for start and end times."""

    totals: dict[tuple[str, int], Amounts]
    intervals: list[ResourceInterval]


class EmbeddedCloud:
    def __init__(self, reader: Reader, clock: Clock, zone: tzinfo) -> None:
        self._reader = reader
        self._clock = clock
        self._zone = zone
        self._prices = CachedPrices(of_types=False)

    async def usage_limits(self, tenant: Tenant) -> CacheableResult[UsageLimits]:
        return await usage_limits(self._reader, tenant.id, self._clock.now())

    async def flavors(self, tenant: Tenant) -> CacheableResult[Flavors]:
        del tenant  # all tenants of the embedded store have the same flavors
        rows = await self._reader.all(_FLAVORS)
        return CacheableResult(flavors_record([Flavor(*row) for row in rows]))

    async def consumption(self, tenant: Tenant) -> CacheableResult[list[ConsumptionItem]]:
        now = self._clock.now()
        hour = clock_hour(now, self._zone)
        async with self._reader.snapshot() as snapshot:
            book = (await self._prices.read(snapshot)).book
            state = await _billable_state(snapshot, tenant, now, ended_since=hour.start)
        until = min(hour.end, book.next_change(now), next_change(state.intervals, now))
        return CacheableResult(estimate(_hourly_by_kind(state, book, now)), until)


async def _billable_state(snapshot: Snapshot, tenant: Tenant, now: float, ended_since: float) -> BillableState:
    rows = await snapshot.all(_TOTALS, (tenant.id,))
    totals = {(kind, node_id): Amounts(*amounts) for kind, node_id, *amounts in rows}
    return BillableState(totals, await ended_intervals(snapshot, tenant.id, now, ended_since))


def _hourly_by_kind(state: BillableState, book: PriceBook, now: float) -> dict[BillableType, int]:
    """Return the cost of each billable kind in this hour, in billionths."""
    hourly: dict[BillableType, int] = dict.fromkeys(PRICED_UNITS, 0)

    def charge(kind: str, node_id: int, amounts: Amounts, at: float) -> None:
        for billable in PRICED_UNITS:
            if kind == billable and any(amounts):
                cost = book.hourly(billable, node_id, amounts, at)
                if cost is None:
                    raise PriceMissing(f"a {kind} on node {node_id} has no price")
                hourly[billable] += cost

    for (kind, node_id), amounts in _running(state).items():
        charge(kind, node_id, amounts, now)
    for interval in state.intervals:
        if interval.started_at <= now and interval.ended_at is not None:
            charge(interval.kind, interval.node_id or NO_NODE, interval.amounts, min(now, interval.ended_at))
    return hourly


def _running(state: BillableState) -> dict[tuple[str, int], Amounts]:
    """Return started resources without an end, by kind and node; future ones may have no price yet."""
    running = dict(state.totals)
    for interval in state.intervals:
        if interval.ended_at is None:
            key = (interval.kind, interval.node_id or NO_NODE)
            running[key] = running.get(key, Amounts()).minus(interval.amounts)
    return running
