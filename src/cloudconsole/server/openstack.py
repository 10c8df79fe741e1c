"""Components for OpenStack, with their metrics; imported only if a Keystone is configured."""

import asyncio
import logging
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import httpx2
from msgspec import Struct
from sqlalchemy import Engine
from sqlalchemy.exc import SQLAlchemyError

from cloudconsole.backends.openstack.client import CallObserver, OpenStackClient
from cloudconsole.backends.openstack.cloud import CloudEndpoint, OpenStackCloud
from cloudconsole.backends.openstack.config import EndpointState, Service
from cloudconsole.backends.openstack.keystone import KeystoneIdentity
from cloudconsole.backends.openstack.token_encryption_and_keys import TokenCipher
from cloudconsole.core.clock import Clock
from cloudconsole.core.ports import ClientInfo, CloudCredentials
from cloudconsole.operator.project_tenants import provision_tenant
from cloudconsole.server.config.settings import Settings
from cloudconsole.server.http.identity_providers import IdentityProvider
from cloudconsole.server.http.login_queue import ConcurrencyLimiter
from cloudconsole.server.metrics.layout import UPSTREAM_FAILURES, UPSTREAM_IN_FLIGHT, UPSTREAM_OFFSETS
from cloudconsole.server.metrics.shared_memory import WorkerMetrics
from cloudconsole.server.reading_collection import CredentialUser, QueueingRecorder, ReadingCollector
from cloudconsole.server.token_revocation import TokenRevoker
from cloudconsole.server.writer import Writer
from cloudconsole.spec.errors import Unavailable, UpstreamFailed, UpstreamTimeout
from cloudconsole.store.activity_writes import ActivityStore
from cloudconsole.store.base import Reader
from cloudconsole.store.observed_resources import ObservedResources, tenant_of_project

log = logging.getLogger(__name__)

LOGINS_AT_ONCE: Final = 100
"""Concurrent logins per endpoint and worker; one user or network has at most half of them."""
CHECK_SECONDS: Final = 1.5
"""Deadline of the check whether an endpoint responds; a page waits for it."""


class Projects:
    """Tenants of OpenStack projects."""

    def __init__(self, reader: Reader, engine: Engine, writer: Writer, clock: Clock) -> None:
        self._reader = reader
        self._engine = engine
        self._writer = writer
        self._clock = clock

    async def tenant_of(self, project: str, name: str) -> int | None:
        """Return the tenant's id, creating the tenant for a new project; None if an operator disabled it."""
        try:
            tenant = await tenant_of_project(self._reader, project)
        except ValueError as problem:
            log.warning("invalid project id: %s", problem)
            raise UpstreamFailed from problem
        if tenant is None:
            try:
                return await self._writer.write(provision_tenant, self._engine, project, name, int(self._clock.now()))
            except SQLAlchemyError as problem:
                raise Unavailable from problem
        tenant_id, disabled = tenant
        return None if disabled else tenant_id


@dataclass(frozen=True)
class OpenStack:
    cloud: OpenStackCloud
    collector: ReadingCollector
    providers: dict[str, IdentityProvider]
    endpoints: dict[str, CloudEndpoint]
    engine: Engine
    adopter: Writer

    @property
    def revokers(self) -> list[TokenRevoker]:
        return [provider.revoker for provider in self.providers.values() if provider.revoker is not None]

    def tick(self) -> None:
        """Start periodic work; call this a few times a second."""
        for revoker in self.revokers:
            revoker.tick()
        self.collector.tick()

    async def check_endpoints(self, client: ClientInfo) -> list[EndpointState]:
        """Ask all identity endpoints for their version, concurrently."""
        return list(await asyncio.gather(*(_check(endpoint, client) for endpoint in self.endpoints.values())))

    async def leave(self) -> None:
        """Close what is bound to the running event loop."""
        await self.collector.close()
        for revoker in self.revokers:
            await revoker.close()
        await self.cloud.close()
        for endpoint in self.endpoints.values():
            await endpoint.upstream.close()

    def close(self) -> None:
        self.adopter.close()
        self.engine.dispose()


class _Version(Struct, frozen=True):
    id: str


class _VersionResponse(Struct, frozen=True):
    version: _Version


async def _check(endpoint: CloudEndpoint, client: ClientInfo) -> EndpointState:
    address, upstream = endpoint.endpoint.address, endpoint.upstream
    try:
        async with asyncio.timeout(CHECK_SECONDS):
            response = await upstream.request(address, "GET", "/v3", client=client)
            if upstream.read(response, _VersionResponse).version.id.startswith("v3"):
                return EndpointState(address)
    except (TimeoutError, UpstreamTimeout):
        return EndpointState(address, "slow")
    except UpstreamFailed as failure:
        if isinstance(failure.__cause__, httpx2.NetworkError):
            return EndpointState(address, "unreachable")
    return EndpointState(address, "invalid")


def open_openstack(
    settings: Settings,
    reader: Reader,
    activity: Engine,
    clock: Clock,
    writer: Writer,
    adopter: Writer,
    observer: CallObserver,
) -> OpenStack:
    """Create the components for all configured Keystones.

    `adopter` creates tenants and records readings, `writer` does all other writes.
    """
    keystones = [endpoint.keystone for endpoint in settings.identity if endpoint.keystone is not None]
    engine = settings.store.open_engine("cloud")
    projects = Projects(reader, engine, adopter, clock)
    cipher = TokenCipher(settings.token_key_file)
    client_limits = settings.client_limits
    endpoints = {
        keystone.address: CloudEndpoint(keystone, OpenStackClient(client_limits, keystone.ca_file, observer))
        for keystone in keystones
    }

    credential_files: list[tuple[Path, CredentialUser]] = []

    def make_provider(endpoint: CloudEndpoint) -> IdentityProvider:
        def discard(access: CloudCredentials, client: ClientInfo) -> None:
            revoker.add(access, client)

        identity = KeystoneIdentity(endpoint.endpoint, endpoint.upstream, cipher, projects, clock, discard)
        address, lifetime = endpoint.endpoint.address, settings.session_lifetime
        revoker = TokenRevoker(address, identity, reader, ActivityStore(activity), writer, clock, lifetime)
        if endpoint.endpoint.application_credentials is not None:
            credential_files.append((endpoint.endpoint.application_credentials, identity))
        limiter = ConcurrencyLimiter(LOGINS_AT_ONCE, at_once=LOGINS_AT_ONCE, retry_after=1)
        return IdentityProvider(identity, limiter, identity, revoker)

    providers = {address: make_provider(endpoint) for address, endpoint in endpoints.items()}
    observed = ObservedResources(reader, activity, writer.write)
    recorder = QueueingRecorder(engine, adopter, settings.zone)
    cloud = OpenStackCloud(endpoints, cipher, reader, observed, recorder, client_limits, clock, settings.zone)
    collector = ReadingCollector(cloud, recorder, reader, clock, settings.zone, settings.session_idle, credential_files)
    return OpenStack(cloud, collector, providers, endpoints, engine, adopter)


class UpstreamObserver:
    """Counts requests to OpenStack in shared memory."""

    def __init__(self, metrics: WorkerMetrics) -> None:
        self._metrics = metrics

    def started(self, service: Service) -> None:
        self._metrics.add(UPSTREAM_IN_FLIGHT[service])

    def finished(self, service: Service, nanoseconds: int) -> None:
        self._metrics.add(UPSTREAM_IN_FLIGHT[service], -1)
        self._metrics.observe(UPSTREAM_OFFSETS[service], nanoseconds)

    def failed(self, service: Service, *, was_slow: bool) -> None:
        reason = UpstreamTimeout.error if was_slow else UpstreamFailed.error
        self._metrics.add(UPSTREAM_FAILURES[service, reason])
