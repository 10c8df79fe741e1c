"""Usage, flavors and consumption from our own store."""

from datetime import tzinfo
from typing import NamedTuple

from cloudconsole.backends.embedded.lives import Life, lives_set_apart, next_change
from cloudconsole.backends.embedded.usage import usage_limits
from cloudconsole.backends.prices import KeptPrices
from cloudconsole.core.clock import Clock
from cloudconsole.core.ports import Fresh, NoPrice, Tenant
from cloudconsole.core.pricing import PriceBook, clock_hour, estimate
from cloudconsole.core.resources import PRICED_UNITS, Amounts, flavors_record
from cloudconsole.spec.records import ConsumptionItem, Flavor, Flavors, ResourceType, UsageLimits
from cloudconsole.store.reader import Reader, Snapshot
from cloudconsole.store.tables import NO_NODE

_FLAVORS = """
    SELECT id, name, vcpus, ram_mb, disk_gb FROM flavors
    WHERE NOT disabled ORDER BY vcpus, ram_mb, disk_gb, LENGTH(id), id
"""
_TOTALS = "SELECT kind, node_id, items, vcpus, ram_mb, ram_gb, size_gb FROM totals WHERE tenant_id = ?"


class Holdings(NamedTuple):
    """What a tenant has: totals by kind and node, and singly what time sets apart from them."""

    totals: dict[tuple[str, int], Amounts]
    set_apart: list[Life]


class EmbeddedCloud:
    def __init__(self, reader: Reader, clock: Clock, zone: tzinfo) -> None:
        self._reader = reader
        self._clock = clock
        self._zone = zone
        self._prices = KeptPrices(of_types=False)

    async def usage_limits(self, tenant: Tenant) -> Fresh[UsageLimits]:
        return await usage_limits(self._reader, tenant.id, self._clock.now())

    async def flavors(self, tenant: Tenant) -> Fresh[Flavors]:
        del tenant  # all tenants of the embedded store choose from the same flavors
        rows = await self._reader.all(_FLAVORS)
        return Fresh(flavors_record([Flavor(*row) for row in rows]))

    async def consumption(self, tenant: Tenant) -> Fresh[list[ConsumptionItem]]:
        now = self._clock.now()
        hour = clock_hour(now, self._zone)
        async with self._reader.snapshot() as moment:
            book = (await self._prices.read(moment)).book
            holdings = await _holdings(moment, tenant, now, ended_since=hour.start)
        until = min(hour.end, book.next_change(now), next_change(holdings.set_apart, now))
        return Fresh(estimate(_hourly_by_kind(holdings, book, now)), until)


async def _holdings(moment: Snapshot, tenant: Tenant, now: float, ended_since: float) -> Holdings:
    rows = await moment.all(_TOTALS, (tenant.id,))
    totals = {(kind, node_id): Amounts(*amounts) for kind, node_id, *amounts in rows}
    return Holdings(totals, await lives_set_apart(moment, tenant.id, now, ended_since))


def _hourly_by_kind(holdings: Holdings, book: PriceBook, now: float) -> dict[ResourceType, int]:
    """What each billable kind costs in this hour, in billionths."""
    hourly: dict[ResourceType, int] = dict.fromkeys(PRICED_UNITS, 0)

    def charge(kind: str, node_id: int, amounts: Amounts, at: float) -> None:
        for billable in PRICED_UNITS:
            if kind == billable and any(amounts):
                cost = book.hourly(billable, node_id, amounts, at)
                if cost is None:
                    raise NoPrice(f"a {kind} on node {node_id} has no price")
                hourly[billable] += cost

    for (kind, node_id), amounts in _running(holdings).items():
        charge(kind, node_id, amounts, now)
    for life in holdings.set_apart:
        if life.started_at <= now and life.ended_at is not None:
            charge(life.kind, life.node_id or NO_NODE, life.amounts, min(now, life.ended_at))
    return hourly


def _running(holdings: Holdings) -> dict[tuple[str, int], Amounts]:
    """What has started and has no end, by kind and node; what is still to start may have no price yet."""
    running = dict(holdings.totals)
    for life in holdings.set_apart:
        if life.ended_at is None:
            place = (life.kind, life.node_id or NO_NODE)
            running[place] = running.get(place, Amounts()).minus(life.amounts)
    return running
