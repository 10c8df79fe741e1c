"""A small OpenStack: regions on a fake cloud, with the recorded responses unless a test sets others.

The recorded project has two servers and a deleted one, three volumes, four images (one hidden, one without data) and
two load balancers; lists have two items per page.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable
from contextlib import asynccontextmanager
from datetime import UTC, tzinfo
from pathlib import Path
from typing import Any, TypeVar

from sqlalchemy import insert

from cloudconsole.backends.openstack.cloud import CloudEndpoint, OpenStackCloud
from cloudconsole.backends.openstack.config import ClientLimits, Endpoint
from cloudconsole.core.ports import CacheableResult, ClientInfo, CloudCredentials, Tenant
from cloudconsole.spec.records import ConsumptionItem, Flavors, UsageLimits
from cloudconsole.store.billing.readings import Reading
from cloudconsole.store.observed_resources import ObservedResources
from cloudconsole.store.sqlite.engine import open_engine, opened
from cloudconsole.store.sqlite.reader import SqliteReader
from cloudconsole.store.tables import prices
from tests.backends.openstack.fake_cloud import FakeCloud, RecordedRequest, Reply, client_limits, open_client
from tests.harness import FakeClock

DIRECTORY = Path(__file__).parent / "recorded"

PROJECT = "ec6af04054034425b932407de1d21231"
HOUR = 1_794_772_800
"""The hour of the recordings: 20:00 UTC on 15 November 2026."""
DELETED_SERVER = "1442cfc4-1a19-4cc5-a420-5c9c554c6924"


def recorded(name: str) -> Any:
    return json.loads((DIRECTORY / f"{name}.json").read_text())


def pages(name: str) -> list[Any]:
    return [json.loads(file.read_text()) for file in sorted(DIRECTORY.glob(f"{name}_page?.json"))]


def recorded_items(name: str) -> list[Any]:
    """Return the items of all pages of a recorded list."""
    key = name.split("_")[1]
    return [item for page in pages(name) for item in page[key]]


ENDPOINT = "https://keystone.example:5000"
ONE = 10**9
BASES = {"compute": "/v2.1", "volume": f"/v3/{PROJECT}", "network": "/v2.0", "image": "/v2", "load-balancer": "/v2"}
NO_CACHING = client_limits(cache_seconds=0, flavor_seconds=0)

Result = TypeVar("Result")


class PlaintextCipher:
    """Leaves tokens unencrypted; an empty one stands for a token whose key has been removed."""

    def decrypt(self, encrypted: bytes) -> str | None:
        return encrypted.decode() or None


class SmallOpenStack:
    def __init__(self, fake: FakeCloud, data_dir: Path, clock: FakeClock) -> None:
        self.fake = fake
        self.data_dir = data_dir
        self.clock = clock
        self.zone: tzinfo = UTC
        self.services: dict[str, dict[str, str]] = {}
        self.endpoint = Endpoint(ENDPOINT, interface="internal")
        self.write_error: Exception | None = None
        self.writes = 0
        self.readings: list[Reading] = []

    # Responses of the cloud

    def add_region(self, region: str, services: Iterable[str] = BASES) -> None:
        self.services[region] = {
            service: f"{self.fake.address}/{region}/{service}{BASES[service]}" for service in services
        }
        self.respond_json(region, "compute", "/limits", recorded("nova_limits"))
        self.respond_json(region, "volume", "/limits", recorded("cinder_limits"))
        self.respond_json(region, "network", f"/quotas/{PROJECT}/details.json", recorded("neutron_quota_details"))
        self.respond_json(region, "compute", "/flavors/detail", {"flavors": recorded_items("nova_flavors")})
        self.set_servers(region, recorded_items("nova_servers"), recorded_items("nova_servers_changed"))
        for name in ("cinder_volumes", "glance_images", "octavia_loadbalancers"):
            self.set_items(region, name.partition("_")[2], recorded_items(name))

    def respond(
        self, region: str, service: str, path: str, *replies: Reply | Callable[[RecordedRequest], Reply]
    ) -> None:
        self.fake.respond("GET", f"/{region}/{service}{BASES[service]}{path}", *replies)

    def respond_json(self, region: str, service: str, path: str, body: object) -> None:
        self.respond(region, service, path, Reply(body=body))

    def set_items(self, region: str, key: str, items: list[Any]) -> None:
        """Set all volumes, all images that are not hidden, or all load balancers."""
        service, path = {
            "volumes": ("volume", "/volumes/detail"),
            "images": ("image", "/images"),
            "loadbalancers": ("load-balancer", "/lbaas/loadbalancers"),
        }[key]
        self.respond(
            region, service, path, lambda request: Reply(body={key: [] if "os_hidden" in request.query else items})
        )

    def set_servers(self, region: str, present: list[Any], changed: list[Any]) -> None:
        def reply(request: RecordedRequest) -> Reply:
            return Reply(body={"servers": changed if "changes-since" in request.query else present})

        self.respond(region, "compute", "/servers/detail", reply)

    def clear_region(self, region: str) -> None:
        self.set_servers(region, [], [])
        for key in ("volumes", "images", "loadbalancers"):
            self.set_items(region, key, [])

    def requests_to(self, path: str) -> list[RecordedRequest]:
        """Return the requests to paths with this ending."""
        return [request for request in self.fake.requests if request.path.endswith(path)]

    # Readings

    def add(self, reading: Reading) -> None:
        self.readings.append(reading)

    async def record(self, reading: Reading) -> None:
        self.readings.append(reading)

    # Operator changes

    def price(self, kind: str, unit: str, billionths: int = ONE, *, since: int = 0, of: str | None = None) -> None:
        row = {"kind": kind, "unit": unit, "start": since, "billionths": billionths, "type": of}
        with opened(self.data_dir, "cloud") as engine, engine.begin() as connection:
            connection.execute(insert(prices).values(row))

    def price_everything(self, but: str = "") -> None:
        for kind, unit in (("instance", "each"), ("volume", "gb"), ("image", "gb"), ("loadbalance", "each")):
            if kind != but:
                self.price(kind, unit)

    # Tenant reads

    def tenant(self, token: str = "token", *, user: str = "ruth", project: str = PROJECT) -> Tenant:
        credentials = CloudCredentials(ENDPOINT, user, project, self.services, token.encode())
        return Tenant(1, user, credentials, ClientInfo("203.0.113.7", "request-1"))

    @asynccontextmanager
    async def console(self, limits: ClientLimits) -> AsyncIterator[OpenStackCloud]:
        """Run the cloud backend of a console worker."""
        reader, engine = SqliteReader(self.data_dir), open_engine(self.data_dir, "activity")
        observed = ObservedResources(reader, engine, self._write)
        async with open_client(limits) as client:
            endpoints = {ENDPOINT: CloudEndpoint(self.endpoint, client)}
            cloud = OpenStackCloud(endpoints, PlaintextCipher(), reader, observed, self, limits, self.clock, self.zone)
            try:
                yield cloud
            finally:
                await cloud.close()
                engine.dispose()
                reader.close()

    def run(
        self, use: Callable[[OpenStackCloud], Coroutine[Any, Any, Result]], limits: ClientLimits = NO_CACHING
    ) -> Result:
        async def scenario() -> Result:
            async with self.console(limits) as cloud:
                return await use(cloud)

        return asyncio.run(scenario())

    def limits(self) -> CacheableResult[UsageLimits]:
        return self.run(lambda cloud: cloud.usage_limits(self.tenant()))

    def flavors(self) -> CacheableResult[Flavors]:
        return self.run(lambda cloud: cloud.flavors(self.tenant()))

    def consumption(self, limits: ClientLimits = NO_CACHING) -> CacheableResult[list[ConsumptionItem]]:
        return self.run(lambda cloud: cloud.consumption(self.tenant()), limits)

    def hourly(self) -> dict[str, str]:
        return hourly(self.consumption())

    async def _write(self, work: Callable[..., None], *arguments: Any) -> None:
        if self.write_error is not None:
            raise self.write_error
        self.writes += 1
        await asyncio.to_thread(work, *arguments)


def hourly(result: CacheableResult[list[ConsumptionItem]]) -> dict[str, str]:
    """Return the cost per hour by kind."""
    return {item.res_type: item.hour for item in result.record}
