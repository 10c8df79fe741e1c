"""What an OpenStack behind the console adds to it; loaded only where the settings name one."""

import logging
from dataclasses import dataclass
from typing import Final

from sqlalchemy import Engine
from sqlalchemy.exc import SQLAlchemyError

from cloudconsole.backends.openstack.client import OpenStackClient
from cloudconsole.backends.openstack.cloud import CloudEndpoint, OpenStackCloud
from cloudconsole.backends.openstack.config import CallObserver
from cloudconsole.backends.openstack.keystone import KeystoneIdentity
from cloudconsole.backends.openstack.token_encryption import TokenCipher
from cloudconsole.core.clock import Clock
from cloudconsole.core.ports import ClientInfo, CloudCredentials
from cloudconsole.operator.provisioning import provision_tenant
from cloudconsole.server.config.settings import Settings
from cloudconsole.server.http.concurrency import ConcurrencyLimiter
from cloudconsole.server.http.identity_providers import IdentityProvider
from cloudconsole.server.token_revocation import TokenRevoker
from cloudconsole.server.writer import Writer
from cloudconsole.spec.errors import Unavailable, UpstreamFailed
from cloudconsole.store.activity import ActivityStore
from cloudconsole.store.base import Reader
from cloudconsole.store.openstack import ObservedResources, tenant_of_project

log = logging.getLogger(__name__)

LOGINS_AT_ONCE: Final = 100
"""Of one endpoint's users in one worker; one user or address has half of them at the most."""


class Projects:
    """The console's tenants that are projects of a cloud."""

    def __init__(self, reader: Reader, engine: Engine, writer: Writer, clock: Clock) -> None:
        self._reader = reader
        self._engine = engine
        self._writer = writer
        self._clock = clock

    async def tenant_of(self, project: str, name: str) -> int | None:
        """The tenant's id; made where the project was never seen before, None where an operator disabled it."""
        try:
            found = await tenant_of_project(self._reader, project)
        except ValueError as problem:
            log.warning("a project's id is none: %s", problem)
            raise UpstreamFailed from problem
        if found is None:
            try:
                return await self._writer.write(provision_tenant, self._engine, project, name, int(self._clock.now()))
            except SQLAlchemyError as problem:
                raise Unavailable from problem
        tenant_id, disabled = found
        return None if disabled else tenant_id


@dataclass(frozen=True)
class OpenStack:
    cloud: OpenStackCloud
    doors: dict[str, IdentityProvider]
    places: dict[str, CloudEndpoint]
    engine: Engine
    adopter: Writer

    @property
    def revokers(self) -> list[TokenRevoker]:
        return [provider.revoker for provider in self.doors.values() if provider.revoker is not None]

    async def leave(self) -> None:
        """Close what hangs on the running event loop."""
        for revoker in self.revokers:
            await revoker.close()
        await self.cloud.close()
        for place in self.places.values():
            await place.upstream.close()

    def close(self) -> None:
        self.adopter.close()
        self.engine.dispose()


def open_openstack(
    settings: Settings,
    reader: Reader,
    activity: Engine,
    clock: Clock,
    writer: Writer,
    adopter: Writer,
    watcher: CallObserver,
) -> OpenStack:
    """All that the Keystones among the identity endpoints need; `adopter` writes tenants, `writer` all else."""
    endpoints = [endpoint.keystone for endpoint in settings.identity if endpoint.keystone is not None]
    engine = settings.store.open_engine("cloud")
    projects = Projects(reader, engine, adopter, clock)
    cipher = TokenCipher(settings.token_key_file)
    manners = settings.manners
    places = {
        endpoint.address: CloudEndpoint(endpoint, OpenStackClient(manners, endpoint.ca_file, watcher))
        for endpoint in endpoints
    }

    def open_door(place: CloudEndpoint) -> IdentityProvider:
        def discard(access: CloudCredentials, client: ClientInfo) -> None:
            revoker.add(access, client)

        keystone = KeystoneIdentity(place.endpoint, place.upstream, cipher, projects, clock, discard)
        address, lifetime = place.endpoint.address, settings.session_lifetime
        revoker = TokenRevoker(address, keystone, reader, ActivityStore(activity), writer, clock, lifetime)
        limiter = ConcurrencyLimiter(LOGINS_AT_ONCE, at_once=LOGINS_AT_ONCE, retry_after=1)
        return IdentityProvider(keystone, limiter, keystone, revoker)

    providers = {address: open_door(place) for address, place in places.items()}
    sightings = ObservedResources(reader, activity, writer.write)
    cloud = OpenStackCloud(places, cipher, reader, sightings, manners, clock, settings.zone)
    return OpenStack(cloud, providers, places, engine, adopter)
