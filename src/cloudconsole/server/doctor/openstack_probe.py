"""Log in to an OpenStack as a user and read a little from every service."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final
from urllib.parse import quote

import httpx2
from msgspec import Struct

from cloudconsole.backends.openstack.client import InvalidResponse, OpenStackClient, TokenRejected
from cloudconsole.backends.openstack.config import SERVICES, ClientLimits, Endpoint, Service
from cloudconsole.backends.openstack.flavors import Id, ListedFlavor
from cloudconsole.backends.openstack.keystone import KeystoneIdentity
from cloudconsole.backends.openstack.multi_region_reads import FLAVORS, fetch_billable
from cloudconsole.backends.openstack.paginated_client import Listing, RegionClient
from cloudconsole.backends.openstack.token_encryption_and_keys import TokenCipher
from cloudconsole.core.clock import Clock, SystemClock
from cloudconsole.core.ports import ClientInfo, Credentials, FederatedUser
from cloudconsole.core.resources import BillableResource
from cloudconsole.server.doctor.context_and_findings import Login
from cloudconsole.server.doctor.http_probe import quoted
from cloudconsole.spec.errors import ApiError

CALL_SECONDS: Final = 10
READING_SECONDS: Final = 30
"""Timeout of reading all billable resources."""
_CLIENT: Final = ClientInfo("127.0.0.1", "cloudconsole-doctor")
_FAILURES: Final = (ApiError, TokenRejected, TimeoutError)


class VolumeType(Struct, frozen=True):
    id: Id
    name: str


VOLUME_TYPES: Final = Listing("/types", "volume_types", VolumeType)


@dataclass
class ProbeResult:
    """Results of a probe; an exception in place of data that could not be read."""

    user: FederatedUser | None = None
    """None if Keystone rejected the login."""
    project: str = ""
    services: dict[tuple[str, Service], Exception | None] = field(default_factory=dict)
    """Failures by region and service."""
    flavors: dict[str, list[ListedFlavor]] = field(default_factory=dict)
    """Flavors by region; empty if they could not be read."""
    volume_types: dict[str, list[VolumeType]] = field(default_factory=dict)
    billable: list[BillableResource] | Exception = field(default_factory=list)


class _NoTenants:
    """Accepts every project without creating a tenant: the probe changes nothing."""

    def __init__(self) -> None:
        self.name = ""

    async def tenant_of(self, _project: str, name: str) -> int | None:
        self.name = name
        return 0


def probe_cloud(endpoint: Endpoint, login: Login, since: int) -> ProbeResult:
    """Run the probe; raise `ApiError` if Keystone does not say whether the login is valid."""
    with TemporaryDirectory() as directory:
        return asyncio.run(_probe_cloud(endpoint, login, since, TokenCipher(Path(directory) / "keys"), SystemClock()))


async def _probe_cloud(endpoint: Endpoint, login: Login, since: int, cipher: TokenCipher, clock: Clock) -> ProbeResult:
    upstream = OpenStackClient(ClientLimits(call_seconds=CALL_SECONDS), endpoint.ca_file)
    tenants = _NoTenants()
    keystone = KeystoneIdentity(endpoint, upstream, cipher, tenants, clock)
    try:
        user = await keystone.authenticate(Credentials(login.username, login.password), _CLIENT)
        result = ProbeResult(user, tenants.name)
        if user is not None:
            try:
                token = cipher.decrypt(user.credentials.encrypted_token) or ""
                await _read_services(upstream, user, token, since, result)
            finally:
                await _result(keystone.revoke(user.credentials, _CLIENT))
        return result
    finally:
        await upstream.close()


async def _read_services(
    upstream: OpenStackClient, user: FederatedUser, token: str, since: int, result: ProbeResult
) -> None:
    credentials = user.credentials
    regions = [
        RegionClient(upstream, _CLIENT, token, region, services) for region, services in credentials.services.items()
    ]
    requests: dict[tuple[str, Service], Awaitable[Any]] = {
        (region.region, service): _PROBES[service](region, credentials.project_id)
        for region in regions
        for service in SERVICES
        if service in region.services
    }
    responses = await asyncio.gather(*map(_result, requests.values()))
    result.services = {
        key: response if isinstance(response, Exception) else None
        for key, response in zip(requests, responses, strict=True)
    }
    for region in regions:
        result.flavors[region.region] = await _list(region, "compute", FLAVORS)
        result.volume_types[region.region] = await _list(region, "volume", VOLUME_TYPES)
    result.billable = await _result(
        asyncio.wait_for(fetch_billable(regions, credentials.project_id, since), READING_SECONDS)
    )


async def _list(region: RegionClient, service: Service, listing: Listing[Any]) -> list[Any]:
    items = await _result(region.all(service, listing)) if service in region.services else []
    return [] if isinstance(items, Exception) else items


async def _result(work: Awaitable[Any]) -> Any:
    """Return the result or the failure."""
    try:
        return await work
    except _FAILURES as failure:
        return failure


class _Any(Struct, frozen=True):
    """A JSON object whose content does not matter."""


def _probe(service: Service, path: str) -> Callable[[RegionClient, str], Awaitable[_Any]]:
    return lambda region, project: region.one(service, path.format(project=quote(project, safe="")), _Any)


_PROBES: Final[dict[Service, Callable[[RegionClient, str], Awaitable[_Any]]]] = {
    "compute": _probe("compute", "/limits"),
    "volume": _probe("volume", "/limits"),
    "network": _probe("network", "/quotas/{project}/details.json"),
    "image": _probe("image", "/images?limit=1"),
    "load-balancer": _probe("load-balancer", "/lbaas/loadbalancers?limit=1"),
}
"""One cheap request per service that a plain member must be allowed to make."""


def describe_failure(failure: BaseException) -> str:
    cause = failure.__cause__ or failure
    if isinstance(cause, TimeoutError):
        return "no response in time"
    if isinstance(cause, TokenRejected):
        return "it rejects Keystone's token"
    if isinstance(cause, InvalidResponse | httpx2.NetworkError):
        return quoted(cause)
    # Other errors may quote the token or the response.
    return "invalid response"
