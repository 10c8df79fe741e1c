"""Concurrent reads from the services of a tenant's regions."""

import asyncio
import itertools
from collections.abc import Coroutine, Iterable, Sequence
from datetime import UTC, datetime
from typing import Any, Final, TypeVar
from urllib.parse import quote

from msgspec import Struct

from cloudconsole.backends.openstack import billable
from cloudconsole.backends.openstack.client import TokenRejected
from cloudconsole.backends.openstack.flavors import ListedFlavor, merge_flavors
from cloudconsole.backends.openstack.paginated_client import Listing, RegionClient
from cloudconsole.backends.openstack.quotas import ComputeLimits, Figures, NetworkQuotas, VolumeLimits, usage_limits
from cloudconsole.core.resources import BillableResource
from cloudconsole.spec.errors import UpstreamFailed, UpstreamTimeout
from cloudconsole.spec.records import Flavors, UsageLimits

FLAVORS: Final = Listing("/flavors/detail", "flavors", ListedFlavor)
# From 2.47 on a server includes its flavor; from 2.69 on servers in cells that are down are listed too.
SERVERS: Final = Listing("/servers/detail", "servers", billable.ListedServer, {"X-OpenStack-Nova-API-Version": "2.69"})
VOLUMES: Final = Listing("/volumes/detail", "volumes", billable.ListedVolume)
IMAGES: Final = Listing("/images", "images", billable.ListedImage)
BALANCERS: Final = Listing("/lbaas/loadbalancers", "loadbalancers", billable.ListedBalancer)

_IMAGES_PER_PAGE: Final = "1000"
"""Glance defaults to 25; the other services default to their maximum."""


class _Absolute(Struct, frozen=True):
    absolute: ComputeLimits


class _ComputeResponse(Struct, frozen=True):
    limits: _Absolute


class _AbsoluteVolumes(Struct, frozen=True):
    absolute: VolumeLimits


class _VolumeResponse(Struct, frozen=True):
    limits: _AbsoluteVolumes


class _NetworkResponse(Struct, frozen=True):
    quota: NetworkQuotas


async def fetch_quotas(regions: Sequence[RegionClient], project_id: str) -> UsageLimits:
    readers = {"compute": _compute, "volume": _volume, "network": _network}
    return usage_limits(
        await gather(
            read(region, project_id)
            for region in regions
            for service, read in readers.items()
            if service in region.services
        )
    )


async def _compute(region: RegionClient, _project_id: str) -> Figures:
    # Without a microversion: newer ones omit fields.
    return (await region.one("compute", "/limits", _ComputeResponse)).limits.absolute.figures()


async def _volume(region: RegionClient, _project_id: str) -> Figures:
    return (await region.one("volume", "/limits", _VolumeResponse)).limits.absolute.figures()


async def _network(region: RegionClient, project_id: str) -> Figures:
    path = f"/quotas/{quote(project_id, safe='')}/details.json"
    return (await region.one("network", path, _NetworkResponse)).quota.figures()


async def fetch_flavors(regions: Sequence[RegionClient]) -> Flavors:
    """Return the public flavors and those shared with the project, which Nova lists by default."""
    return merge_flavors(
        await gather(region.all("compute", FLAVORS) for region in regions if "compute" in region.services)
    )


async def fetch_billable(regions: Sequence[RegionClient], project_id: str, since: int) -> list[BillableResource]:
    """Return the billable resources, and the servers that ended since then."""
    readers = {"compute": _servers, "volume": _volumes, "image": _images, "load-balancer": _balancers}
    results = await gather(
        read(region, project_id, since)
        for region in regions
        for service, read in readers.items()
        if service in region.services
    )
    return [resource for result in results for resource in result]


async def _servers(region: RegionClient, _project_id: str, since: int) -> Iterable[BillableResource]:
    # Sequentially: a server deleted between the two is in the first list or in both, never in neither. The first list
    # has no parameters: only then does Nova include servers in cells that are down.
    present = await region.all("compute", SERVERS)
    start = datetime.fromtimestamp(since, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    changed = await region.all("compute", SERVERS, {"changes-since": start})
    return billable.servers(region.region, [*present, *changed], since)


async def _volumes(region: RegionClient, _project_id: str, _since: int) -> Iterable[BillableResource]:
    return billable.volumes(region.region, await region.all("volume", VOLUMES))


async def _images(region: RegionClient, project_id: str, _since: int) -> Iterable[BillableResource]:
    query = {"owner": project_id, "limit": _IMAGES_PER_PAGE}
    listed = await gather(region.all("image", IMAGES, params) for params in (query, {**query, "os_hidden": "true"}))
    return billable.images(region.region, itertools.chain(*listed), project_id)


async def _balancers(region: RegionClient, project_id: str, _since: int) -> Iterable[BillableResource]:
    listed = await region.all("load-balancer", BALANCERS, {"project_id": project_id})
    return billable.balancers(region.region, listed, project_id)


Result = TypeVar("Result")

_BY_SEVERITY: Final = (UpstreamTimeout, UpstreamFailed, TokenRejected)


async def gather(coroutines: Iterable[Coroutine[Any, Any, Result]]) -> list[Result]:
    """Run coroutines concurrently; on failure raise the most severe error and cancel the rest."""
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(coroutine) for coroutine in coroutines]
    except BaseExceptionGroup as failures:
        worst = max(_flatten(failures), key=_severity)
        raise worst from worst.__cause__
    return [task.result() for task in tasks]


def _flatten(failures: BaseExceptionGroup[BaseException]) -> Iterable[BaseException]:
    for failure in failures.exceptions:
        if isinstance(failure, BaseExceptionGroup):
            yield from _flatten(failure)
        else:
            yield failure


def _severity(failure: BaseException) -> int:
    """Rank an error; internal errors rank highest, so that upstream errors do not hide them."""
    for severity, kind in enumerate(_BY_SEVERITY):
        if isinstance(failure, kind):
            return severity
    return len(_BY_SEVERITY)
