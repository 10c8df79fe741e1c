"""Trial login and reads, error texts."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final
from urllib.parse import quote

import httpx2
from msgspec import Struct

from cloudconsole.backends.openstack.billable import BillableResource
from cloudconsole.backends.openstack.client import InvalidResponse, OpenStackClient, TokenRejected
from cloudconsole.backends.openstack.config import SERVICES, ClientLimits, Endpoint, Service
from cloudconsole.backends.openstack.fetch import FLAVORS, fetch_billable
from cloudconsole.backends.openstack.flavors import Id, ListedFlavor
from cloudconsole.backends.openstack.keystone import KeystoneIdentity
from cloudconsole.backends.openstack.pagination import Listing, ServiceClient
from cloudconsole.backends.openstack.token_encryption import TokenCipher
from cloudconsole.core.clock import Clock, SystemClock
from cloudconsole.core.ports import ClientInfo, FederatedUser
from cloudconsole.server.doctor.http_probe import quoted
from cloudconsole.server.doctor.results import Login
from cloudconsole.spec.errors import ApiError

CALL_SECONDS: Final = 10
READING_SECONDS: Final = 30
"""For all that costs money, however much there is."""
_CALLER: Final = ClientInfo("127.0.0.1", "cloudconsole-doctor")
_FAILURES: Final = (ApiError, TokenRejected, TimeoutError)


class VolumeType(Struct, frozen=True):
    id: Id
    name: str


VOLUME_TYPES: Final = Listing("/types", "volume_types", VolumeType)


@dataclass
class ProbeResult:
    """What a visit found; an exception stands for what could not be read."""

    guest: FederatedUser | None = None
    """None where Keystone refused the login."""
    project: str = ""
    services: dict[tuple[str, Service], Exception | None] = field(default_factory=dict)
    """By region and service, what went wrong."""
    flavors: dict[str, list[ListedFlavor]] = field(default_factory=dict)
    """By region, as far as they could be read."""
    volume_types: dict[str, list[VolumeType]] = field(default_factory=dict)
    holdings: list[BillableResource] | Exception = field(default_factory=list)


class _NoTenants:
    """Takes every project, and makes no tenant: a look changes nothing."""

    def __init__(self) -> None:
        self.name = ""

    async def tenant_of(self, _project: str, name: str) -> int | None:
        self.name = name
        return 0


def probe_cloud(endpoint: Endpoint, login: Login, since: int) -> ProbeResult:
    """Raises an `ApiError` where nobody can tell whether the login is right."""
    with TemporaryDirectory() as folder:
        return asyncio.run(_probe_cloud(endpoint, login, since, TokenCipher(Path(folder) / "keys"), SystemClock()))


async def _probe_cloud(endpoint: Endpoint, login: Login, since: int, cipher: TokenCipher, clock: Clock) -> ProbeResult:
    upstream = OpenStackClient(ClientLimits(call_seconds=CALL_SECONDS), endpoint.ca_file)
    tenants = _NoTenants()
    keystone = KeystoneIdentity(endpoint, upstream, cipher, tenants, clock)
    try:
        user = await keystone.authenticate(login.username, login.password, _CALLER)
        seen = ProbeResult(user, tenants.name)
        if user is not None:
            try:
                await _look_around(upstream, user, cipher.decrypt(user.credentials.encrypted_token) or "", since, seen)
            finally:
                await _result(keystone.revoke(user.credentials, _CALLER))
        return seen
    finally:
        await upstream.close()


async def _look_around(
    upstream: OpenStackClient, user: FederatedUser, token: str, since: int, seen: ProbeResult
) -> None:
    access = user.credentials
    regions = [
        ServiceClient(upstream, _CALLER, token, region, services) for region, services in access.services.items()
    ]
    questions: dict[tuple[str, Service], Awaitable[Any]] = {
        (region.region, service): _PROBES[service](region, access.project_id)
        for region in regions
        for service in SERVICES
        if service in region.services
    }
    responses = await asyncio.gather(*map(_result, questions.values()))
    seen.services = {
        place: response if isinstance(response, Exception) else None
        for place, response in zip(questions, responses, strict=True)
    }
    for region in regions:
        seen.flavors[region.region] = await _listed(region, "compute", FLAVORS)
        seen.volume_types[region.region] = await _listed(region, "volume", VOLUME_TYPES)
    seen.holdings = await _result(asyncio.wait_for(fetch_billable(regions, access.project_id, since), READING_SECONDS))


async def _listed(region: ServiceClient, service: Service, listing: Listing[Any]) -> list[Any]:
    found = await _result(region.all(service, listing)) if service in region.services else []
    return [] if isinstance(found, Exception) else found


async def _result(work: Awaitable[Any]) -> Any:
    """What comes of it, be it what went wrong."""
    try:
        return await work
    except _FAILURES as failure:
        return failure


class _Any(Struct, frozen=True):
    """Of an answer of which only matters that it is one."""


def _probe(service: Service, path: str) -> Callable[[ServiceClient, str], Awaitable[_Any]]:
    return lambda region, project: region.one(service, path.format(project=quote(project, safe="")), _Any)


_PROBES: Final[dict[Service, Callable[[ServiceClient, str], Awaitable[_Any]]]] = {
    "compute": _probe("compute", "/limits"),
    "volume": _probe("volume", "/limits"),
    "network": _probe("network", "/quotas/{project}/details.json"),
    "image": _probe("image", "/images?limit=1"),
    "load-balancer": _probe("load-balancer", "/lbaas/loadbalancers?limit=1"),
}
"""One cheap call to each, with what a plain member must be allowed to read."""


def describe_failure(failure: BaseException) -> str:
    cause = failure.__cause__ or failure
    if isinstance(cause, TimeoutError):
        return "no answer in time"
    if isinstance(cause, TokenRejected):
        return "it does not take Keystone's token"
    if isinstance(cause, InvalidResponse | httpx2.NetworkError):
        return quoted(cause)
    # What others say of themselves may quote the token or the answer that they are about.
    return "an answer that makes no sense"
