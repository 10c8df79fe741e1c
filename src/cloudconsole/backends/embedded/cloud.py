"""Usage, flavors and consumption from our own store."""

import math
from collections.abc import Iterable
from datetime import tzinfo
from typing import Any, NamedTuple

from cloudconsole.core.clock import Clock
from cloudconsole.core.estimate import Price, PriceBook, clock_hour, estimate
from cloudconsole.core.flavors import flavors_record
from cloudconsole.core.kinds import PRICED_UNITS, QUOTA_DEFAULTS, Amounts
from cloudconsole.core.ports import Fresh, Tenant
from cloudconsole.spec.records import ConsumptionItem, Flavor, Flavors, ResourceType, UsageLimits
from cloudconsole.store.reader import Reader
from cloudconsole.store.tables import NO_NODE
from cloudconsole.store.totals import AMOUNTS_SQL

_QUOTAS = f"SELECT {', '.join(QUOTA_DEFAULTS)} FROM quotas WHERE tenant_id = ?"
_FLAVORS = "SELECT id, name, vcpus, ram_mb, disk_gb FROM flavors ORDER BY vcpus, ram_mb, disk_gb, LENGTH(id), id"
_PRICES = "SELECT kind, unit, node_id, start, billionths FROM prices"
_TOTALS = "SELECT kind, node_id, items, vcpus, ram_mb, ram_gb, size_gb FROM totals WHERE tenant_id = ?"
_LIVES = f"SELECT kind, node_id, started_at, ended_at, {AMOUNTS_SQL} FROM resources"
_NOT_STARTED = f"{_LIVES} WHERE tenant_id = ? AND started_at > ? AND ended_at IS NULL"
_WITH_END = f"{_LIVES} WHERE tenant_id = ? AND ended_at >= ?"


class Life(NamedTuple):
    """One resource's interval and amounts."""

    kind: str
    node_id: int | None
    started_at: int
    ended_at: int | None
    amounts: Amounts


class Holdings(NamedTuple):
    """What a tenant has: totals of all resources without an end, and singly those that time sets apart.

    The totals count a resource from the moment it is recorded, so those that start later are taken off again; they
    never count one with an end, so those that had not ended by a moment are added.
    """

    totals: list[tuple[str, int, Amounts]]
    not_started: list[Life]
    with_end: list[Life]

    def next_change(self, now: float) -> float:
        moments: list[float] = [life.started_at for life in self.not_started]
        for life in self.with_end:
            moments += [moment for moment in (life.started_at, life.ended_at) if moment is not None and moment > now]
        return min(moments, default=math.inf)


class EmbeddedCloud:
    def __init__(self, reader: Reader, clock: Clock, zone: tzinfo) -> None:
        self._reader = reader
        self._clock = clock
        self._zone = zone
        self._kept: tuple[int, PriceBook] | None = None

    async def usage_limits(self, tenant: Tenant) -> Fresh[UsageLimits]:
        now = self._clock.now()
        with self._reader.snapshot():
            quotas = self._reader.one(_QUOTAS, (tenant.id,)) or tuple(QUOTA_DEFAULTS.values())
            holdings = self._holdings(tenant, now, ended_since=now)
        used = _used(holdings, now)
        limits = dict(zip(QUOTA_DEFAULTS, quotas, strict=True))
        return Fresh(_usage_record(limits, used), holdings.next_change(now))

    async def flavors(self, tenant: Tenant) -> Fresh[Flavors]:
        del tenant  # all tenants of the embedded store choose from the same flavors
        return Fresh(flavors_record([Flavor(*row) for row in self._reader.all(_FLAVORS)]))

    async def consumption(self, tenant: Tenant) -> Fresh[list[ConsumptionItem]]:
        now = self._clock.now()
        hour = clock_hour(now, self._zone)
        with self._reader.snapshot():
            book = self._price_book()
            holdings = self._holdings(tenant, now, ended_since=hour.start)
        until = min(hour.end, book.next_change(now), holdings.next_change(now))
        return Fresh(estimate(_hourly_by_kind(holdings, book, now)), until)

    def _price_book(self) -> PriceBook:
        """The price book, kept while nothing changes: there may be thousands of prices. To be called in a snapshot."""
        stamp = self._reader.stamp()
        if self._kept is None or self._kept[0] != stamp:
            self._kept = (stamp, PriceBook(Price(*row) for row in self._reader.all(_PRICES)))
        return self._kept[1]

    def _holdings(self, tenant: Tenant, now: float, ended_since: float) -> Holdings:
        totals = [(row[0], row[1], Amounts(*row[2:])) for row in self._reader.all(_TOTALS, (tenant.id,))]
        not_started = self._reader.all(_NOT_STARTED, (tenant.id, now))
        with_end = self._reader.all(_WITH_END, (tenant.id, ended_since))
        return Holdings(totals, _lives(not_started), _lives(with_end))


def _lives(rows: Iterable[tuple[Any, ...]]) -> list[Life]:
    return [Life(row[0], row[1], row[2], row[3], Amounts(*row[4:])) for row in rows]


def _used(holdings: Holdings, now: float) -> dict[str, Amounts]:
    """What is in use at this moment, by kind."""
    used: dict[str, Amounts] = {}
    for (kind, _), amounts in _running(holdings).items():
        used[kind] = used.get(kind, Amounts()).plus(amounts)
    for life in holdings.with_end:
        if life.started_at <= now and life.ended_at is not None and life.ended_at > now:
            used[life.kind] = used.get(life.kind, Amounts()).plus(life.amounts)
    return used


def _hourly_by_kind(holdings: Holdings, book: PriceBook, now: float) -> dict[ResourceType, int]:
    """What each billable kind costs in this hour, in billionths."""
    hourly: dict[ResourceType, int] = dict.fromkeys(PRICED_UNITS, 0)

    def charge(kind: str, node_id: int, amounts: Amounts, at: float) -> None:
        for billable in PRICED_UNITS:
            if kind == billable and any(amounts):
                cost = book.hourly(billable, node_id, amounts, at)
                if cost is None:
                    raise LookupError(f"a {kind} on node {node_id} has no price")
                hourly[billable] += cost

    for (kind, node_id), amounts in _running(holdings).items():
        charge(kind, node_id, amounts, now)
    for life in holdings.with_end:
        if life.started_at <= now and life.ended_at is not None:
            charge(life.kind, life.node_id or NO_NODE, life.amounts, min(now, life.ended_at))
    return hourly


def _running(holdings: Holdings) -> dict[tuple[str, int], Amounts]:
    """What has started and has no end, by kind and node; what is still to start may have no price yet."""
    running = {(kind, node_id): amounts for kind, node_id, amounts in holdings.totals}
    for life in holdings.not_started:
        place = (life.kind, life.node_id or NO_NODE)
        running[place] = running.get(place, Amounts()).minus(life.amounts)
    return running


def _usage_record(limits: dict[str, int], used: dict[str, Amounts]) -> UsageLimits:
    nothing = Amounts()
    instances, volumes, snapshots = (used.get(kind, nothing) for kind in ("instance", "volume", "snapshot"))
    return UsageLimits(
        max_total_instances=limits["instances"],
        total_instances_used=instances.items,
        max_total_cores=limits["cores"],
        total_cores_used=instances.vcpus,
        max_total_ram_size=limits["ram"],
        total_ram_used=instances.ram_mb,
        max_total_volumes=limits["volumes"],
        total_volumes_used=volumes.items,
        max_total_volume_gigabytes=limits["gigabytes"],
        # As in Cinder: snapshots take gigabytes, too.
        total_gigabytes_used=volumes.size_gb + snapshots.size_gb,
        max_total_snapshots=limits["snapshots"],
        total_snapshots_used=snapshots.items,
        max_total_floating_ips=limits["floating_ips"],
        total_floating_ips_used=used.get("floating_ip", nothing).items,
        max_security_groups=limits["security_groups"],
        total_security_groups_used=used.get("security_group", nothing).items,
        max_security_group_rules=limits["security_group_rules"],
        max_total_keypairs=limits["keypairs"],
        max_personality=limits["personality"],
        max_personality_size=limits["personality_size"],
        max_image_meta=limits["image_meta"],
        max_server_meta=limits["server_meta"],
    )
