"""Hourly readings of OpenStack projects for the billing record, in the background."""

import asyncio
import logging
import random
import time
from collections.abc import Callable, Sequence
from datetime import tzinfo
from pathlib import Path
from typing import Final, Protocol

from sqlalchemy import Engine
from sqlalchemy.exc import SQLAlchemyError

from cloudconsole.backends.openstack.secret_files import (
    ApplicationCredential,
    SecretFileError,
    read_application_credentials,
)
from cloudconsole.core.clock import Clock
from cloudconsole.core.ports import ClientInfo, CloudCredentials, FederatedUser, Tenant
from cloudconsole.core.pricing import clock_hour
from cloudconsole.server.writer import Writer
from cloudconsole.spec.errors import ApiError, LoginRequired
from cloudconsole.store.base import Reader
from cloudconsole.store.billing.readings import Reading, record_reading
from cloudconsole.store.session_lookup import UNREAD_PROJECTS, credentials_from_row

log = logging.getLogger(__name__)

SWEEP_SECONDS: Final = 60
SWEEP_SIZE: Final = 1000
"""Sessions that are looked at; more follow in the next sweep."""
MAX_PENDING: Final = 1000
CLOSE_SECONDS: Final = 2
_LAST_READING: Final = """
    SELECT MAX(last_reading) FROM tenants
    JOIN record_names ON record_names.thing = 'project' AND record_names.name = tenants.project
    JOIN reading_periods ON reading_periods.project_id = record_names.id WHERE tenants.id = ?
"""
COLLECTOR: Final = ClientInfo("127.0.0.1", "cloudconsole-collector")


class ResourceReader(Protocol):
    async def record_resources(self, tenant: Tenant) -> float:
        """Read the tenant's resources for the billing record, and return until when that is enough."""


class CredentialUser(Protocol):
    """Logs in to one Keystone with application credentials."""

    async def use_application_credential(
        self, credential: ApplicationCredential, client: ClientInfo
    ) -> FederatedUser | None:
        """Return the user and project of a credential, or None if it is rejected."""

    async def revoke(self, access: CloudCredentials, client: ClientInfo) -> None:
        """Revoke the token."""


CredentialFiles = Sequence[tuple[Path, CredentialUser]]


class QueueingRecorder:
    """Writes readings to the billing record: at once, or later if a request must not wait for that."""

    def __init__(self, engine: Engine, writer: Writer, zone: tzinfo) -> None:
        self._engine = engine
        self._writer = writer
        self._zone = zone
        self._pending: dict[str, Reading] = {}

    def add(self, reading: Reading) -> None:
        """Record a reading later; a later one of the same project replaces it."""
        if reading.project in self._pending or len(self._pending) < MAX_PENDING:
            self._pending[reading.project] = reading

    async def record_pending(self) -> None:
        while self._pending:
            _, reading = self._pending.popitem()
            await self.record(reading)

    async def record(self, reading: Reading) -> None:
        """Record a reading; if that fails, the next one tries again, or the hour is a gap."""
        try:
            await self._writer.write(record_reading, self._engine, reading, self._zone)
        except (ApiError, SQLAlchemyError) as problem:
            log.warning("could not record a reading: %r", problem.__cause__ or problem)

    @property
    def has_pending(self) -> bool:
        return bool(self._pending)


class ReadingCollector:
    """Reads each project with a live session or an application credential once per hour; the first worker does it."""

    def __init__(
        self,
        cloud: ResourceReader,
        recorder: QueueingRecorder,
        reader: Reader,
        clock: Clock,
        zone: tzinfo,
        session_idle: int,
        credential_files: CredentialFiles = (),
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._cloud = cloud
        self._recorder = recorder
        self._reader = reader
        self._clock = clock
        self._zone = zone
        self._session_idle = session_idle
        self._credential_files = credential_files
        self._monotonic = monotonic
        self._next_sweep = 0.0
        self._is_closed = False
        self._rejected: set[bytes] = set()
        """Sessions whose token the cloud has rejected."""
        self._credential_tenants: dict[str, int] = {}
        """The tenant of each application credential that was used."""
        self._failed_credentials: dict[str, int] = {}
        """The hour in which an application credential failed: it is tried again in the next one."""
        self.task: asyncio.Task[None] | None = None
        """The current task, or the last one."""

    def tick(self) -> None:
        """Start due work in the running event loop; call this a few times a second."""
        if self._is_closed or (self.task is not None and not self.task.done()):
            return
        if self._monotonic() >= self._next_sweep:
            self._next_sweep = self._monotonic() + SWEEP_SECONDS
            self.task = asyncio.create_task(self._sweep())
        elif self._recorder.has_pending:
            self.task = asyncio.create_task(self._recorder.record_pending())

    async def close(self) -> None:
        """Stop; call this before the connections to the cloud close."""
        self._is_closed = True
        if self.task is not None:
            await asyncio.wait({self.task}, timeout=CLOSE_SECONDS)
            self.task.cancel()
            await asyncio.wait({self.task})

    async def read(self, tenant: Tenant) -> float:
        """Bring the record of a tenant up to date as far as possible, and return until when it is."""
        try:
            return await self._cloud.record_resources(tenant)
        except LoginRequired:
            raise
        except ApiError as problem:
            log.warning("could not read resources for the billing record: %s", problem.error)
            return self._clock.now()

    async def _sweep(self) -> None:
        try:
            by_tenant: dict[int, list[tuple[bytes, Tenant]]] = {}
            for id_hash, tenant in await self._unread():
                by_tenant.setdefault(tenant.id, []).append((id_hash, tenant))
            self._rejected &= {id_hash for sessions in by_tenant.values() for id_hash, _ in sessions}
            # Workers read in different orders, so that they seldom read the same project at once.
            for tenant_id in random.sample(sorted(by_tenant), len(by_tenant)):
                await self._read_with_any(by_tenant[tenant_id])
            for file, user in self._credential_files:
                for credential in read_application_credentials(file):
                    await self._read_with_credential(credential, user)
            await self._recorder.record_pending()
        except SecretFileError as problem:
            log.warning("%s", problem)
        except ApiError as problem:
            log.warning("could not find projects to read: %r", problem.__cause__ or problem)
        except Exception:
            log.exception("could not read projects for the billing record")

    async def _read_with_any(self, sessions: list[tuple[bytes, Tenant]]) -> None:
        """Read a project with the first session whose token the cloud accepts, unless another worker has read it."""
        for id_hash, tenant in sessions:
            if id_hash in self._rejected:
                continue
            if await self._is_read(tenant.id):
                return
            try:
                await self.read(tenant)
            except LoginRequired:
                self._rejected.add(id_hash)
            else:
                return

    async def _read_with_credential(self, credential: ApplicationCredential, user: CredentialUser) -> None:
        hour = clock_hour(self._clock.now(), self._zone).start
        tenant_id = self._credential_tenants.get(credential.id)
        if self._failed_credentials.get(credential.id) == hour or (tenant_id and await self._is_read(tenant_id)):
            return
        try:
            found = await user.use_application_credential(credential, COLLECTOR)
            if found is None:
                self._failed_credentials[credential.id] = hour
                log.warning("application credential %s is rejected, or its tenant is disabled", credential.id)
                return
            self._credential_tenants[credential.id] = found.tenant_id
            if not await self._is_read(found.tenant_id):
                await self.read(Tenant(found.tenant_id, found.username, found.credentials, COLLECTOR))
            await user.revoke(found.credentials, COLLECTOR)
        except ApiError as problem:
            self._failed_credentials[credential.id] = hour
            log.warning("could not use application credential %s: %s", credential.id, problem.error)

    async def _is_read(self, tenant_id: int) -> bool:
        row = await self._reader.one(_LAST_READING, (tenant_id,))
        hour = clock_hour(self._clock.now(), self._zone).start
        return row is not None and row[0] is not None and row[0] >= hour

    async def _unread(self) -> list[tuple[bytes, Tenant]]:
        now = self._clock.now()
        query = {
            "now": int(now),
            "idle_since": int(now) - self._session_idle,
            "since": clock_hour(now, self._zone).start,
            "limit": SWEEP_SIZE,
        }
        return [
            (id_hash, Tenant(tenant_id, username, credentials_from_row(columns), COLLECTOR))
            for id_hash, tenant_id, username, *columns in await self._reader.all(UNREAD_PROJECTS, query)
        ]
