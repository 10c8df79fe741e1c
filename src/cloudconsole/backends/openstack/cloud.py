"""Usage, flavors and consumption from an OpenStack cloud."""

import asyncio
import logging
from collections.abc import Callable, Coroutine, Hashable, Iterable, Mapping
from datetime import tzinfo
from typing import Any, Final, NamedTuple, Protocol, TypeVar

from cloudconsole.backends.openstack.cache import CachedRead, SingleFlightCache
from cloudconsole.backends.openstack.client import OpenStackClient, TokenRejected
from cloudconsole.backends.openstack.config import ClientLimits, Endpoint
from cloudconsole.backends.openstack.costs import hourly_by_kind
from cloudconsole.backends.openstack.multi_region_reads import fetch_billable, fetch_flavors, fetch_quotas
from cloudconsole.backends.openstack.paginated_client import RegionClient
from cloudconsole.backends.prices import CachedPrices
from cloudconsole.core.billing_hours import HOUR
from cloudconsole.core.clock import Clock
from cloudconsole.core.identity_urls_and_projects import normalise_project
from cloudconsole.core.ports import CacheableResult, CloudCredentials, Tenant
from cloudconsole.core.pricing import clock_hour, estimate
from cloudconsole.core.resources import SIZED_IN_GB, Amounts, BillableResource
from cloudconsole.spec.errors import LoginRequired, UpstreamFailed, UpstreamTimeout
from cloudconsole.spec.records import BillableType, ConsumptionItem, Flavors, UsageLimits
from cloudconsole.store.base import Reader, Snapshot
from cloudconsole.store.billing.readings import Reading
from cloudconsole.store.observed_resources import ObservedResource, ObservedResources

log = logging.getLogger(__name__)

Value = TypeVar("Value")

_UNLISTED_WHEN_DELETED: Final[tuple[BillableType, ...]] = ("image", "loadbalance", "volume")
"""Kinds that a cloud no longer lists once they are deleted."""


class TokenDecrypter(Protocol):
    def decrypt(self, sealed: bytes) -> str | None:
        """Return the token, or None if its key has been removed."""


class ReadingRecorder(Protocol):
    """Writes readings to the billing record."""

    def add(self, reading: Reading) -> None:
        """Record a reading later."""

    async def record(self, reading: Reading) -> None:
        """Record a reading, or log why that failed."""


class CloudEndpoint(NamedTuple):
    """An endpoint and the client for its services."""

    endpoint: Endpoint
    upstream: OpenStackClient


class CloudRequest(NamedTuple):
    """A tenant's requests to its regions; `deadline` is an event-loop time."""

    access: CloudCredentials
    token: str
    regions: list[RegionClient]
    deadline: float


class OpenStackCloud:
    """The ports of all endpoints, which are keyed by the address in a session's credentials."""

    def __init__(
        self,
        endpoints: Mapping[str, CloudEndpoint],
        cipher: TokenDecrypter,
        reader: Reader,
        observed: ObservedResources,
        recorder: ReadingRecorder,
        limits: ClientLimits,
        clock: Clock,
        zone: tzinfo,
    ) -> None:
        self._endpoints = endpoints
        self._cipher = cipher
        self._reader = reader
        self._prices = CachedPrices(of_types=True)
        self._observed = observed
        self._recorder = recorder
        self._limits = limits
        self._clock = clock
        self._zone = zone
        self._cache = SingleFlightCache(clock)

    async def close(self) -> None:
        await self._cache.close()

    async def usage_limits(self, tenant: Tenant) -> CacheableResult[UsageLimits]:
        async def read(request: CloudRequest) -> UsageLimits:
            return await self._in_time(request, fetch_quotas(request.regions, request.access.project_id))

        seconds = self._limits.cache_seconds
        cached = await self._shared(tenant, "limits", seconds, read, lambda _: 1)
        return CacheableResult(cached.value, cached.read_at + seconds, cached.read_at)

    async def flavors(self, tenant: Tenant) -> CacheableResult[Flavors]:
        async def read(request: CloudRequest) -> Flavors:
            return await self._in_time(request, fetch_flavors(request.regions))

        seconds = self._limits.flavor_seconds
        cached = await self._shared(tenant, "flavors", seconds, read, lambda record: len(record.flavors) + 1)
        return CacheableResult(cached.value, cached.read_at + seconds, cached.read_at)

    async def consumption(self, tenant: Tenant) -> CacheableResult[list[ConsumptionItem]]:
        """Return the costs. The cache has the resources, not their costs: new prices apply at once."""
        now = self._clock.now()
        hour = clock_hour(now, self._zone)

        async def read(request: CloudRequest) -> list[BillableResource]:
            resources = await self._in_time(
                request, fetch_billable(request.regions, request.access.project_id, since=hour.start)
            )
            await self._record_observed(request.access, resources, hour.start, now)
            self._recorder.add(_reading(request.access, now, hour.start, resources))
            return resources

        seconds = self._limits.cache_seconds
        cached = await self._shared(
            tenant, ("consumption", hour.start), seconds, read, lambda resources: len(resources) + 1
        )
        async with self._reader.snapshot() as snapshot:
            prices = await self._prices.read(snapshot)
            deleted = await self._deleted(snapshot, _access(tenant), cached.value, hour.start)
        record = estimate(hourly_by_kind([*cached.value, *deleted], prices, now))
        next_price = prices.book.next_change(now)
        return CacheableResult(record, min(cached.read_at + seconds, hour.end, next_price), cached.read_at)

    async def record_resources(self, tenant: Tenant) -> float:
        """Read the tenant's resources for the billing record, and return until when that is enough."""
        now = self._clock.now()
        hour = clock_hour(now, self._zone)
        # Servers that ended since the last reading, which may have been in the previous hour.
        since = hour.start - HOUR

        async def read(request: CloudRequest) -> None:
            resources = await self._in_time(request, fetch_billable(request.regions, request.access.project_id, since))
            await self._recorder.record(_reading(request.access, now, since, resources))

        seconds = self._limits.cache_seconds
        cached = await self._shared(tenant, ("record", hour.start), seconds, read, lambda _: 1)
        return min(cached.read_at + seconds, hour.end)

    async def _shared(
        self,
        tenant: Tenant,
        subject: Hashable,
        seconds: float,
        read: Callable[[CloudRequest], Coroutine[Any, Any, Value]],
        weigh: Callable[[Value], int],
    ) -> CachedRead[Value]:
        key = (subject, _access(tenant).scope)
        cached = self._cache.cached(key, seconds)
        if cached is not None:
            return cached
        request = self._request(tenant)
        try:
            async with asyncio.timeout_at(request.deadline):
                return await self._cache.get(key, seconds, request.token, lambda: read(request), weigh)
        except TimeoutError as slow:
            raise UpstreamTimeout from slow
        except TokenRejected as rejected:
            raise LoginRequired from rejected

    def _request(self, tenant: Tenant) -> CloudRequest:
        access = _access(tenant)
        cloud = self._endpoints.get(access.endpoint)
        token = self._cipher.decrypt(access.encrypted_token)
        if cloud is None or token is None or tenant.client is None:
            # The operator has removed the endpoint or the key since: the session is of no use.
            raise LoginRequired
        # The operator may have restricted the regions since the login.
        regions = [
            RegionClient(cloud.upstream, tenant.client, token, region, services)
            for region, services in sorted(access.services.items())
            if cloud.endpoint.may_use(region)
        ]
        if not any("compute" in region.services for region in regions):
            configured, available = cloud.endpoint.regions, [region.region for region in regions]
            log.warning(
                "no compute service for %s: interface %s, regions %s, of which the catalog has %s",
                access.endpoint,
                cloud.endpoint.interface,
                ", ".join(configured) or "all",
                ", ".join(available) or "none",
            )
            raise UpstreamFailed
        return CloudRequest(access, token, regions, asyncio.get_running_loop().time() + self._limits.action_seconds)

    async def _in_time(self, request: CloudRequest, work: Coroutine[Any, Any, Value]) -> Value:
        """Apply the deadline, also after the waiting request was cancelled."""
        try:
            async with asyncio.timeout_at(request.deadline):
                return await work
        except TimeoutError as slow:
            log.warning("%s: not finished within %g s", request.access.endpoint, self._limits.action_seconds)
            raise UpstreamTimeout from slow

    async def _record_observed(
        self, access: CloudCredentials, resources: Iterable[BillableResource], since: int, now: float
    ) -> None:
        # Observed when the read began, which may have been in the previous hour.
        observed = [
            ObservedResource(
                resource.region, resource.kind, resource.id, resource.type, resource.amounts.size_gb, int(now)
            )
            for resource in resources
            if resource.kind in _UNLISTED_WHEN_DELETED
        ]
        async with self._reader.snapshot() as snapshot:
            book = (await self._prices.read(snapshot)).book
        # Observations under older prices are stored again: a resource costs what it did when last seen.
        rewrite_before = max(since, book.last_change(now))
        await self._observed.record(access.endpoint, access.project_id, observed, since, rewrite_before)

    async def _deleted(
        self, snapshot: Snapshot, access: CloudCredentials, present: Iterable[BillableResource], since: int
    ) -> list[BillableResource]:
        """Return resources seen in this hour and no longer listed, as last observed."""
        listed = {(resource.region, resource.kind, resource.id) for resource in present}
        endpoint = self._endpoints[access.endpoint].endpoint
        regions = {region for region in access.services if endpoint.may_use(region)}
        return [
            BillableResource(seen.region, kind, seen.resource_id, _amounts(kind, seen.size_gb), seen.type, seen.seen_at)
            for seen in await self._observed.since(access.endpoint, access.project_id, since, snapshot)
            for kind in _UNLISTED_WHEN_DELETED
            if kind == seen.kind and seen.region in regions and seen[:3] not in listed
        ]


def _reading(access: CloudCredentials, now: float, since: int, resources: list[BillableResource]) -> Reading:
    return Reading(normalise_project(f"{access.project_id}@{access.endpoint}"), int(now), since, resources)


def _amounts(kind: str, size_gb: int) -> Amounts:
    return Amounts(items=1, size_gb=size_gb if kind in SIZED_IN_GB else 0)


def _access(tenant: Tenant) -> CloudCredentials:
    if tenant.credentials is None:
        raise LoginRequired
    return tenant.credentials
