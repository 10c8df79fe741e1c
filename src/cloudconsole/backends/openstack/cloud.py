"""Usage, flavors and consumption from an OpenStack: its own figures, live."""

import asyncio
import logging
from collections.abc import Callable, Coroutine, Hashable, Iterable, Mapping
from datetime import tzinfo
from typing import Any, Final, NamedTuple, Protocol, TypeVar

from cloudconsole.backends.openstack.billable import BillableResource
from cloudconsole.backends.openstack.cache import CachedRead, SingleFlightCache
from cloudconsole.backends.openstack.client import OpenStackClient, TokenRejected
from cloudconsole.backends.openstack.config import ClientLimits, Endpoint
from cloudconsole.backends.openstack.costs import hourly_by_kind
from cloudconsole.backends.openstack.fetch import fetch_billable, fetch_flavors, fetch_quotas
from cloudconsole.backends.openstack.pagination import ServiceClient
from cloudconsole.backends.prices import CachedPrices
from cloudconsole.core.clock import Clock
from cloudconsole.core.ports import CacheableResult, CloudCredentials, Tenant
from cloudconsole.core.pricing import clock_hour, estimate
from cloudconsole.core.resources import SIZED_IN_GB, Amounts
from cloudconsole.spec.errors import LoginRequired, UpstreamFailed, UpstreamTimeout
from cloudconsole.spec.records import ConsumptionItem, Flavors, ResourceType, UsageLimits
from cloudconsole.store.base import Reader, Snapshot
from cloudconsole.store.openstack import ObservedResource, ObservedResources

log = logging.getLogger(__name__)

Value = TypeVar("Value")

_FLEETING: Final[tuple[ResourceType, ...]] = ("image", "loadbalance", "volume")
"""Kinds of which a cloud lists nothing to its tenants once it is deleted."""


class TokenDecrypter(Protocol):
    def decrypt(self, sealed: bytes) -> str | None:
        """The token, or None where it was sealed under a key that is no longer there."""


class CloudEndpoint(NamedTuple):
    """An endpoint, and the way to its services."""

    endpoint: Endpoint
    upstream: OpenStackClient


class CloudRequest(NamedTuple):
    """One tenant's going round the regions; it is to be over at `deadline`, by the loop's clock."""

    access: CloudCredentials
    token: str
    regions: list[ServiceClient]
    deadline: float


class OpenStackCloud:
    """`places` are by the address that a session's access names its endpoint by."""

    def __init__(
        self,
        places: Mapping[str, CloudEndpoint],
        cipher: TokenDecrypter,
        reader: Reader,
        sightings: ObservedResources,
        manners: ClientLimits,
        clock: Clock,
        zone: tzinfo,
    ) -> None:
        self._places = places
        self._cipher = cipher
        self._reader = reader
        self._prices = CachedPrices(of_types=True)
        self._observed = sightings
        self._manners = manners
        self._clock = clock
        self._zone = zone
        self._sharing = SingleFlightCache(clock)

    async def close(self) -> None:
        await self._sharing.close()

    async def usage_limits(self, tenant: Tenant) -> CacheableResult[UsageLimits]:
        async def read(visit: CloudRequest) -> UsageLimits:
            return await self._in_time(visit, fetch_quotas(visit.regions, visit.access.project_id))

        seconds = self._manners.cache_seconds
        reading = await self._shared(tenant, "limits", seconds, read, lambda _: 1)
        return CacheableResult(reading.value, reading.read_at + seconds, reading.read_at)

    async def flavors(self, tenant: Tenant) -> CacheableResult[Flavors]:
        async def read(visit: CloudRequest) -> Flavors:
            return await self._in_time(visit, fetch_flavors(visit.regions))

        seconds = self._manners.flavor_seconds
        reading = await self._shared(tenant, "flavors", seconds, read, lambda record: len(record.flavors) + 1)
        return CacheableResult(reading.value, reading.read_at + seconds, reading.read_at)

    async def consumption(self, tenant: Tenant) -> CacheableResult[list[ConsumptionItem]]:
        """What is kept is what the cloud said, not what it costs: a new price counts at once, and a new hour too."""
        now = self._clock.now()
        hour = clock_hour(now, self._zone)

        async def read(visit: CloudRequest) -> list[BillableResource]:
            holdings = await self._in_time(
                visit, fetch_billable(visit.regions, visit.access.project_id, since=hour.start)
            )
            await self._note(visit.access, holdings, hour.start, now)
            return holdings

        seconds = self._manners.cache_seconds
        reading = await self._shared(tenant, ("consumption", hour.start), seconds, read, lambda found: len(found) + 1)
        async with self._reader.snapshot() as moment:
            prices = await self._prices.read(moment)
            gone = await self._gone(moment, _access(tenant), reading.value, hour.start)
        record = estimate(hourly_by_kind([*reading.value, *gone], prices, now))
        next_price = prices.book.next_change(now)
        return CacheableResult(record, min(reading.read_at + seconds, hour.end, next_price), reading.read_at)

    async def _shared(
        self,
        tenant: Tenant,
        what: Hashable,
        seconds: float,
        read: Callable[[CloudRequest], Coroutine[Any, Any, Value]],
        weigh: Callable[[Value], int],
    ) -> CachedRead[Value]:
        key = (what, _access(tenant).scope)
        kept = self._sharing.cached(key, seconds)
        if kept is not None:
            return kept
        visit = self._visit(tenant)
        try:
            async with asyncio.timeout_at(visit.deadline):
                return await self._sharing.get(key, seconds, visit.token, lambda: read(visit), weigh)
        except TimeoutError as slow:
            raise UpstreamTimeout from slow
        except TokenRejected as refused:
            raise LoginRequired from refused

    def _visit(self, tenant: Tenant) -> CloudRequest:
        access = _access(tenant)
        place = self._places.get(access.endpoint)
        token = self._cipher.decrypt(access.encrypted_token)
        if place is None or token is None or tenant.client is None:
            # The operator took the endpoint or the key away since: nothing can be asked with such a session.
            raise LoginRequired
        # Of those that it was opened with, an operator may have named fewer since.
        regions = [
            ServiceClient(place.upstream, tenant.client, token, region, services)
            for region, services in sorted(access.services.items())
            if place.endpoint.may_use(region)
        ]
        if not any("compute" in region.services for region in regions):
            wanted, found = place.endpoint.regions, [region.region for region in regions]
            log.warning(
                "no compute service for %s: interface %s, regions %s, of which the catalog has %s",
                access.endpoint,
                place.endpoint.interface,
                ", ".join(wanted) or "all",
                ", ".join(found) or "none",
            )
            raise UpstreamFailed
        return CloudRequest(access, token, regions, asyncio.get_running_loop().time() + self._manners.action_seconds)

    async def _in_time(self, visit: CloudRequest, work: Coroutine[Any, Any, Value]) -> Value:
        """Also when whoever waited for it is gone."""
        try:
            async with asyncio.timeout_at(visit.deadline):
                return await work
        except TimeoutError as slow:
            log.warning("%s: not done within %g s", visit.access.endpoint, self._manners.action_seconds)
            raise UpstreamTimeout from slow

    async def _note(
        self, access: CloudCredentials, holdings: Iterable[BillableResource], since: int, now: float
    ) -> None:
        # Seen when the reading was begun: that may have been in the hour before.
        seen = [
            ObservedResource(holding.region, holding.kind, holding.id, holding.type, holding.amounts.size_gb, int(now))
            for holding in holdings
            if holding.kind in _FLEETING
        ]
        async with self._reader.snapshot() as moment:
            book = (await self._prices.read(moment)).book
        # What was seen under older prices is written down again: it costs what it did at its last moment.
        anew_since = max(since, book.last_change(now))
        await self._observed.record(access.endpoint, access.project_id, seen, since, anew_since)

    async def _gone(
        self, moment: Snapshot, access: CloudCredentials, present: Iterable[BillableResource], since: int
    ) -> list[BillableResource]:
        """What was seen in this hour and is listed no more: as it was written down, and priced as of then."""
        listed = {(holding.region, holding.kind, holding.id) for holding in present}
        endpoint = self._places[access.endpoint].endpoint
        regions = {region for region in access.services if endpoint.may_use(region)}
        return [
            BillableResource(seen.region, kind, seen.resource_id, _amounts(kind, seen.size_gb), seen.type, seen.seen_at)
            for seen in await self._observed.since(access.endpoint, access.project_id, since, moment)
            for kind in _FLEETING
            if kind == seen.kind and seen.region in regions and seen[:3] not in listed
        ]


def _amounts(kind: str, size_gb: int) -> Amounts:
    return Amounts(items=1, size_gb=size_gb if kind in SIZED_IN_GB else 0)


def _access(tenant: Tenant) -> CloudCredentials:
    if tenant.credentials is None:
        raise LoginRequired
    return tenant.credentials
