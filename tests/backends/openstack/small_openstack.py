"""A small OpenStack: regions on a scripted server, which give the recorded answers until they are told others."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable
from contextlib import asynccontextmanager
from datetime import UTC, tzinfo
from pathlib import Path
from typing import Any, TypeVar

from sqlalchemy import insert

from cloudconsole.backends.openstack.client import OpenStackClient
from cloudconsole.backends.openstack.cloud import CloudEndpoint, OpenStackCloud
from cloudconsole.backends.openstack.config import ClientLimits, Endpoint
from cloudconsole.core.ports import CacheableResult, ClientInfo, CloudCredentials, Tenant
from cloudconsole.spec.records import ConsumptionItem, Flavors, UsageLimits
from cloudconsole.store.observed_resources import ObservedResources
from cloudconsole.store.sqlite.engine import open_engine, opened
from cloudconsole.store.sqlite.reader import SqliteReader
from cloudconsole.store.tables import nodes, prices
from tests.backends.openstack.fake_cloud import Asked, CloudDouble, Reply
from tests.backends.openstack.recordings import PROJECT, recorded, whole
from tests.harness import HeldClock, trusting_tests

ENDPOINT = "https://keystone.example:5000"
ONE = 10**9
BASES = {
    "compute": "/v2.1",
    "volume": f"/v3/{PROJECT}",
    "network": "/v2.0",
    "image": "/v2",
    "load-balancer": "/v2",
}
NOTHING_KEPT = ClientLimits(cache_seconds=0, flavor_seconds=0)

Result = TypeVar("Result")


class Unsealed:
    """Tokens of tests are not sealed; one that is empty is under a key that is no longer there."""

    def decrypt(self, sealed: bytes) -> str | None:
        return sealed.decode() or None


class SmallOpenStack:
    def __init__(self, double: CloudDouble, folder: Path, clock: HeldClock) -> None:
        self.double = double
        self.folder = folder
        self.clock = clock
        self.zone: tzinfo = UTC
        self.services: dict[str, dict[str, str]] = {}
        self.endpoint = Endpoint(ENDPOINT, interface="internal")
        self.fails_to_write: Exception | None = None
        self.writes = 0

    # What the cloud says

    def add_region(self, region: str, services: Iterable[str] = BASES) -> None:
        self.services[region] = {
            service: f"{self.double.address}/{region}/{service}{BASES[service]}" for service in services
        }
        self.says(region, "compute", "/limits", recorded("nova_limits"))
        self.says(region, "volume", "/limits", recorded("cinder_limits"))
        self.says(region, "network", f"/quotas/{PROJECT}/details.json", recorded("neutron_quota_details"))
        self.says(region, "compute", "/flavors/detail", whole("nova_flavors", "flavors"))
        self.lists_servers(
            region, whole("nova_servers", "servers")["servers"], whole("nova_servers_changed", "servers")["servers"]
        )
        self.lists(region, "volumes", whole("cinder_volumes", "volumes")["volumes"])
        self.lists(region, "images", whole("glance_images", "images")["images"])
        self.lists(region, "loadbalancers", whole("octavia_loadbalancers", "loadbalancers")["loadbalancers"])

    def answers(self, region: str, service: str, path: str, *replies: Reply | Callable[[Asked], Reply]) -> None:
        self.double.answers("GET", f"/{region}/{service}{BASES[service]}{path}", *replies)

    def says(self, region: str, service: str, path: str, body: object) -> None:
        self.answers(region, service, path, Reply(body=body))

    def lists(self, region: str, key: str, items: list[Any]) -> None:
        """All volumes, images that are not hidden, or load balancers."""
        service, path = {
            "volumes": ("volume", "/volumes/detail"),
            "images": ("image", "/images"),
            "loadbalancers": ("load-balancer", "/lbaas/loadbalancers"),
        }[key]
        self.answers(
            region, service, path, lambda asked: Reply(body={key: [] if "os_hidden" in asked.query else items})
        )

    def lists_servers(self, region: str, present: list[Any], changed: list[Any]) -> None:
        self.answers(
            region,
            "compute",
            "/servers/detail",
            lambda asked: Reply(body={"servers": changed if "changes-since" in asked.query else present}),
        )

    def lists_nothing(self, region: str) -> None:
        self.lists_servers(region, [], [])
        for key in ("volumes", "images", "loadbalancers"):
            self.lists(region, key, [])

    def asked(self, path: str) -> list[Asked]:
        """What was asked at paths that end so."""
        return [asked for asked in self.double.asked if asked.path.endswith(path)]

    # What the operator says

    def price(
        self,
        kind: str,
        unit: str,
        billionths: int = ONE,
        *,
        node: int | None = None,
        since: int = 0,
        of: str | None = None,
    ) -> None:
        row = {"kind": kind, "unit": unit, "node_id": node, "start": since, "billionths": billionths, "type": of}
        with opened(self.folder, "cloud") as engine, engine.begin() as connection:
            connection.execute(insert(prices).values(row))

    def price_everything(self, but: str = "") -> None:
        for kind, unit in (("instance", "each"), ("volume", "gb"), ("image", "gb"), ("loadbalance", "each")):
            if kind != but:
                self.price(kind, unit)

    def add_node(self, node_id: int, name: str) -> None:
        with opened(self.folder, "cloud") as engine, engine.begin() as connection:
            connection.execute(insert(nodes).values(id=node_id, name=name))

    # What a tenant sees

    def tenant(self, token: str = "token", *, user: str = "ruth", project: str = PROJECT) -> Tenant:
        access = CloudCredentials(ENDPOINT, user, project, self.services, token.encode())
        return Tenant(1, user, access, ClientInfo("203.0.113.7", "request-1"))

    @asynccontextmanager
    async def console(self, manners: ClientLimits = NOTHING_KEPT) -> AsyncIterator[OpenStackCloud]:
        """A worker of a console before this cloud."""
        reader, engine, upstream = (
            SqliteReader(self.folder),
            open_engine(self.folder, "activity"),
            OpenStackClient(manners, trusting_tests()),
        )
        places = {ENDPOINT: CloudEndpoint(self.endpoint, upstream)}
        sightings = ObservedResources(reader, engine, self._write)
        cloud = OpenStackCloud(places, Unsealed(), reader, sightings, manners, self.clock, self.zone)
        try:
            yield cloud
        finally:
            await cloud.close()
            await upstream.close()
            engine.dispose()
            reader.close()

    def run(
        self, use: Callable[[OpenStackCloud], Coroutine[Any, Any, Result]], manners: ClientLimits = NOTHING_KEPT
    ) -> Result:
        async def scenario() -> Result:
            async with self.console(manners) as cloud:
                return await use(cloud)

        return asyncio.run(scenario())

    def limits(self, tenant: Tenant | None = None) -> CacheableResult[UsageLimits]:
        return self.run(lambda cloud: cloud.usage_limits(tenant or self.tenant()))

    def flavors(self) -> CacheableResult[Flavors]:
        return self.run(lambda cloud: cloud.flavors(self.tenant()))

    def consumption(self, manners: ClientLimits = NOTHING_KEPT) -> CacheableResult[list[ConsumptionItem]]:
        return self.run(lambda cloud: cloud.consumption(self.tenant()), manners)

    def hourly(self) -> dict[str, str]:
        return hourly(self.consumption())

    async def _write(self, work: Callable[..., None], *arguments: Any) -> None:
        if self.fails_to_write is not None:
            raise self.fails_to_write
        self.writes += 1
        await asyncio.to_thread(work, *arguments)


def hourly(fresh: CacheableResult[list[ConsumptionItem]]) -> dict[str, str]:
    """What each kind costs per hour."""
    return {item.res_type: item.hour for item in fresh.record}
