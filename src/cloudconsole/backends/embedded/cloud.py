"""Usage, flavors, consumption from the store."""

import math
from collections.abc import Iterable
from datetime import tzinfo
from typing import Final, NamedTuple

from cloudconsole.backends.prices import CachedPrices
from cloudconsole.core.clock import Clock
from cloudconsole.core.ports import CacheableResult, PriceMissing, Tenant
from cloudconsole.core.pricing import PriceBook, clock_hour, estimate
from cloudconsole.core.resources import PRICED_UNITS, QUOTA_DEFAULTS, Amounts, flavors_record, quota_use
from cloudconsole.spec.records import ConsumptionItem, Flavor, Flavors, ResourceType, UsageLimits
from cloudconsole.store.base import Reader, Row, RowReader, Snapshot
from cloudconsole.store.counters import AMOUNTS_SQL
from cloudconsole.store.tables import NO_NODE

_INTERVAL: Final = f"SELECT kind, node_id, started_at, ended_at, {AMOUNTS_SQL} FROM resources WHERE tenant_id = :tenant"
_ENDED_INTERVALS: Final = f"""
    {_INTERVAL} AND started_at > :now AND ended_at IS NULL
    UNION ALL
    {_INTERVAL} AND ended_at >= :ended_since
"""


class ResourceInterval(NamedTuple):
    """One resource's interval and amounts."""

    kind: str
    node_id: int | None
    started_at: int
    ended_at: int | None
    amounts: Amounts


async def ended_intervals(reader: RowReader, tenant_id: int, now: float, ended_since: float) -> list[ResourceInterval]:
    """Those without an end that have not started yet, and those with an end not before the given moment."""
    # Whole seconds, as the columns have them: a database need not look into an index of them for anything else.
    moments = {"now": math.floor(now), "ended_since": math.ceil(ended_since)}
    rows = await reader.all(_ENDED_INTERVALS, {"tenant": tenant_id, **moments})
    return [
        ResourceInterval(kind, node_id, start, end, Amounts(*amounts)) for kind, node_id, start, end, *amounts in rows
    ]


def next_change(lives: Iterable[ResourceInterval], now: float) -> float:
    """The next moment at which one of them starts or ends."""
    moments = (moment for life in lives for moment in (life.started_at, life.ended_at))
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
"""The quota that each limit of the record is."""

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
"""The quota from which each figure of use takes."""


def _column(field: str) -> str:
    if field in USES:
        return f"COALESCE(usage.{USES[field]}, 0)"
    quota = LIMITS[field]
    return f"COALESCE(quotas.{quota}, {QUOTA_DEFAULTS[quota]})"


_USAGE: Final = f"""
    SELECT {", ".join(map(_column, UsageLimits.__struct_fields__))}, COALESCE(usage.settled_at, 0)
    FROM (SELECT ? AS tenant_id) AS asked LEFT JOIN quotas USING (tenant_id) LEFT JOIN usage USING (tenant_id)
"""


async def usage_limits(reader: Reader, tenant_id: int, now: float) -> CacheableResult[UsageLimits]:
    """What is kept of the tenant's use, corrected where time sets resources apart from it."""
    *numbers, settled_at = await _usage(reader, tenant_id)
    if settled_at < now:
        return CacheableResult(UsageLimits(*numbers))
    # Seldom, so only now in two statements, which must see the same moment.
    async with reader.snapshot() as moment:
        *numbers, _ = await _usage(moment, tenant_id)
        set_apart = await ended_intervals(moment, tenant_id, now, ended_since=now)
    for life in set_apart:
        _correct(numbers, life, now)
    return CacheableResult(UsageLimits(*numbers), next_change(set_apart, now))


async def _usage(reader: RowReader, tenant_id: int) -> Row:
    (row,) = await reader.all(_USAGE, (tenant_id,))
    return row


def _correct(numbers: list[int], life: ResourceInterval, now: float) -> None:
    times = -1 if life.ended_at is None else int(life.started_at <= now < life.ended_at)
    uses = quota_use(life.kind, life.amounts)
    for place, field in enumerate(UsageLimits.__struct_fields__):
        if field in USES:
            numbers[place] += times * uses.get(USES[field], 0)


_FLAVORS = """
    SELECT id, name, vcpus, ram_mb, disk_gb FROM flavors
    WHERE NOT disabled ORDER BY vcpus, ram_mb, disk_gb, LENGTH(id), id
"""
_TOTALS = "SELECT kind, node_id, items, vcpus, ram_mb, ram_gb, size_gb FROM totals WHERE tenant_id = ?"


class BillableState(NamedTuple):
    """What a tenant has: totals by kind and node, and singly what time sets apart from them."""

    totals: dict[tuple[str, int], Amounts]
    set_apart: list[ResourceInterval]


class EmbeddedCloud:
    def __init__(self, reader: Reader, clock: Clock, zone: tzinfo) -> None:
        self._reader = reader
        self._clock = clock
        self._zone = zone
        self._prices = CachedPrices(of_types=False)

    async def usage_limits(self, tenant: Tenant) -> CacheableResult[UsageLimits]:
        return await usage_limits(self._reader, tenant.id, self._clock.now())

    async def flavors(self, tenant: Tenant) -> CacheableResult[Flavors]:
        del tenant  # all tenants of the embedded store choose from the same flavors
        rows = await self._reader.all(_FLAVORS)
        return CacheableResult(flavors_record([Flavor(*row) for row in rows]))

    async def consumption(self, tenant: Tenant) -> CacheableResult[list[ConsumptionItem]]:
        now = self._clock.now()
        hour = clock_hour(now, self._zone)
        async with self._reader.snapshot() as moment:
            book = (await self._prices.read(moment)).book
            holdings = await _holdings(moment, tenant, now, ended_since=hour.start)
        until = min(hour.end, book.next_change(now), next_change(holdings.set_apart, now))
        return CacheableResult(estimate(_hourly_by_kind(holdings, book, now)), until)


async def _holdings(moment: Snapshot, tenant: Tenant, now: float, ended_since: float) -> BillableState:
    rows = await moment.all(_TOTALS, (tenant.id,))
    totals = {(kind, node_id): Amounts(*amounts) for kind, node_id, *amounts in rows}
    return BillableState(totals, await ended_intervals(moment, tenant.id, now, ended_since))


def _hourly_by_kind(holdings: BillableState, book: PriceBook, now: float) -> dict[ResourceType, int]:
    """What each billable kind costs in this hour, in billionths."""
    hourly: dict[ResourceType, int] = dict.fromkeys(PRICED_UNITS, 0)

    def charge(kind: str, node_id: int, amounts: Amounts, at: float) -> None:
        for billable in PRICED_UNITS:
            if kind == billable and any(amounts):
                cost = book.hourly(billable, node_id, amounts, at)
                if cost is None:
                    raise PriceMissing(f"a {kind} on node {node_id} has no price")
                hourly[billable] += cost

    for (kind, node_id), amounts in _running(holdings).items():
        charge(kind, node_id, amounts, now)
    for life in holdings.set_apart:
        if life.started_at <= now and life.ended_at is not None:
            charge(life.kind, life.node_id or NO_NODE, life.amounts, min(now, life.ended_at))
    return hourly


def _running(holdings: BillableState) -> dict[tuple[str, int], Amounts]:
    """What has started and has no end, by kind and node; what is still to start may have no price yet."""
    running = dict(holdings.totals)
    for life in holdings.set_apart:
        if life.ended_at is None:
            place = (life.kind, life.node_id or NO_NODE)
            running[place] = running.get(place, Amounts()).minus(life.amounts)
    return running
