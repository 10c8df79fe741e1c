"""What the services of a tenant's regions say, asked all at once."""

import itertools
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Final
from urllib.parse import quote

from msgspec import Struct

from cloudconsole.backends.openstack import billable
from cloudconsole.backends.openstack.billable import BillableResource
from cloudconsole.backends.openstack.flavors import ListedFlavor, merge_flavors
from cloudconsole.backends.openstack.pagination import Listing, ServiceClient, gather
from cloudconsole.backends.openstack.quotas import ComputeLimits, Figures, NetworkQuotas, VolumeLimits, usage_limits
from cloudconsole.spec.records import Flavors, UsageLimits

FLAVORS: Final = Listing("/flavors/detail", "flavors", ListedFlavor)
# From 2.47 on a server comes with what it was made of, and from 2.69 on one that Nova cannot reach is listed, too.
SERVERS: Final = Listing("/servers/detail", "servers", billable.ListedServer, {"X-OpenStack-Nova-API-Version": "2.69"})
VOLUMES: Final = Listing("/volumes/detail", "volumes", billable.ListedVolume)
IMAGES: Final = Listing("/images", "images", billable.ListedImage)
BALANCERS: Final = Listing("/lbaas/loadbalancers", "loadbalancers", billable.ListedBalancer)

_IMAGES_A_PAGE: Final = "1000"
"""Glance gives 25 where nothing is said; the others as many as they ever give."""


class _Absolute(Struct, frozen=True):
    absolute: ComputeLimits


class _ComputeAnswer(Struct, frozen=True):
    limits: _Absolute


class _AbsoluteVolumes(Struct, frozen=True):
    absolute: VolumeLimits


class _VolumeAnswer(Struct, frozen=True):
    limits: _AbsoluteVolumes


class _NetworkAnswer(Struct, frozen=True):
    quota: NetworkQuotas


async def fetch_quotas(regions: Sequence[ServiceClient], project_id: str) -> UsageLimits:
    ways = {"compute": _compute, "volume": _volume, "network": _network}
    return usage_limits(
        await gather(
            ask(region, project_id) for region in regions for service, ask in ways.items() if service in region.services
        )
    )


async def _compute(region: ServiceClient, _project_id: str) -> Figures:
    # Without a version: newer ones leave fields out.
    return (await region.one("compute", "/limits", _ComputeAnswer)).limits.absolute.figures()


async def _volume(region: ServiceClient, _project_id: str) -> Figures:
    return (await region.one("volume", "/limits", _VolumeAnswer)).limits.absolute.figures()


async def _network(region: ServiceClient, project_id: str) -> Figures:
    path = f"/quotas/{quote(project_id, safe='')}/details.json"
    return (await region.one("network", path, _NetworkAnswer)).quota.figures()


async def fetch_flavors(regions: Sequence[ServiceClient]) -> Flavors:
    """The public ones and those shared with the project: what Nova lists to who asks for no others."""
    return merge_flavors(
        await gather(region.all("compute", FLAVORS) for region in regions if "compute" in region.services)
    )


async def fetch_billable(regions: Sequence[ServiceClient], project_id: str, since: int) -> list[BillableResource]:
    """All that costs money and is there, and the servers that ended since then."""
    ways = {"compute": _servers, "volume": _volumes, "image": _images, "load-balancer": _balancers}
    found = await gather(
        ask(region, project_id, since)
        for region in regions
        for service, ask in ways.items()
        if service in region.services
    )
    return [holding for some in found for holding in some]


async def _servers(region: ServiceClient, _project_id: str, since: int) -> Iterable[BillableResource]:
    # One after the other: a server that is deleted between the two is in the first, or in both, but never in none. And
    # the first page without a parameter: only then does Nova list what it cannot reach.
    present = await region.all("compute", SERVERS)
    start = datetime.fromtimestamp(since, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    changed = await region.all("compute", SERVERS, {"changes-since": start})
    return billable.servers(region.region, [*present, *changed], since)


async def _volumes(region: ServiceClient, _project_id: str, _since: int) -> Iterable[BillableResource]:
    return billable.volumes(region.region, await region.all("volume", VOLUMES))


async def _images(region: ServiceClient, project_id: str, _since: int) -> Iterable[BillableResource]:
    shown = {"owner": project_id, "limit": _IMAGES_A_PAGE}
    listed = await gather(region.all("image", IMAGES, params) for params in (shown, {**shown, "os_hidden": "true"}))
    return billable.images(region.region, itertools.chain(*listed), project_id)


async def _balancers(region: ServiceClient, project_id: str, _since: int) -> Iterable[BillableResource]:
    listed = await region.all("load-balancer", BALANCERS, {"project_id": project_id})
    return billable.balancers(region.region, listed, project_id)
