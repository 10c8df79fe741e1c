"""Hourly readings of OpenStack projects for the billing record, in the background."""

import asyncio
import logging
import random
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from datetime import tzinfo
from functools import partial
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
from cloudconsole.store.session_lookup import SESSIONS_OF_TENANT, UNREAD_TENANTS, credentials_from_row

log = logging.getLogger(__name__)

SWEEP_SECONDS: Final = 60
READS_AT_ONCE: Final = 8
"""Of one endpoint, so that one that does not respond delays no other."""
SESSIONS_PER_PROJECT: Final = 3
"""Sessions that are tried in a sweep."""
RETRY_SECONDS: Final = 300
"""The pause after a failure with an application credential."""
MAX_PENDING: Final = 1000
MAX_REMEMBERED: Final = 10_000
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
Job = Callable[[], Awaitable[None]]


class QueueingRecorder:
    """Writes readings to the billing record: at once, or later if a request must not wait for that.

    A reading that shows the same as the last one of its hour is not written: on SQLite, every write of any tenant's
    data outdates all cached responses.
    """

    def __init__(self, engine: Engine, writer: Writer, zone: tzinfo) -> None:
        self._engine = engine
        self._writer = writer
        self._zone = zone
        self._pending: dict[str, Reading] = {}
        self._recorded: dict[str, tuple[int, int]] = {}
        """Hour and hash of the last reading of each project."""

    @property
    def has_pending(self) -> bool:
        return bool(self._pending)

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
        seen = clock_hour(reading.at, self._zone).start, hash(tuple(reading.resources))
        if self._recorded.get(reading.project) == seen:
            return
        try:
            is_recorded = await self._writer.write(record_reading, self._engine, reading, self._zone)
        except (ApiError, SQLAlchemyError) as problem:
            log.warning("could not record a reading: %r", problem.__cause__ or problem)
            return
        if is_recorded:
            if len(self._recorded) >= MAX_REMEMBERED:
                self._recorded.clear()
            self._recorded[reading.project] = seen


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
        self._credential_retries: dict[str, float] = {}
        """When an application credential that has failed is tried again."""
        self.sweep: asyncio.Task[None] | None = None
        """The current sweep, or the last one."""
        self.recording: asyncio.Task[None] | None = None
        """The current task that records what requests have read, or the last one."""

    def tick(self) -> None:
        """Start due work in the running event loop; call this a few times a second."""
        if self._is_closed:
            return
        if self._monotonic() >= self._next_sweep and _is_done(self.sweep):
            self._next_sweep = self._monotonic() + SWEEP_SECONDS
            self.sweep = asyncio.create_task(self._sweep())
        if self._recorder.has_pending and _is_done(self.recording):
            self.recording = asyncio.create_task(self._recorder.record_pending())

    async def close(self) -> None:
        """Stop; call this before the connections to the cloud close."""
        self._is_closed = True
        tasks = {task for task in (self.sweep, self.recording) if task is not None}
        if tasks:
            await asyncio.wait(tasks, timeout=CLOSE_SECONDS)
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)

    async def read(self, tenant: Tenant) -> float:
        """Bring the record of a tenant up to date as far as possible, and return until when it is."""
        try:
            return await self._cloud.record_resources(tenant)
        except LoginRequired:
            raise
        except ApiError as problem:
            _log_failed_read(problem)
            return self._clock.now()

    async def _sweep(self) -> None:
        if len(self._rejected) > MAX_REMEMBERED:
            self._rejected.clear()
        limits: dict[object, asyncio.Semaphore] = {}

        async def run(place: object, job: Job) -> None:
            async with limits.setdefault(place, asyncio.Semaphore(READS_AT_ONCE)):
                try:
                    await job()
                except Exception:
                    log.exception("could not read a project for the billing record")

        try:
            jobs = [*await self._session_jobs(), *self._credential_jobs()]
        except ApiError as problem:
            log.warning("could not find projects to read: %r", problem.__cause__ or problem)
            return
        # Workers read in different orders, so that they seldom read the same project at once.
        random.shuffle(jobs)
        await asyncio.gather(*(run(place, job) for place, job in jobs))

    # With sessions

    async def _session_jobs(self) -> list[tuple[object, Job]]:
        found = await self._reader.all(UNREAD_TENANTS, {**self._in_use(), "since": self._hour_start()})
        return [(endpoint, partial(self._read_with_sessions, tenant_id)) for tenant_id, endpoint in found]

    async def _read_with_sessions(self, tenant_id: int) -> None:
        """Read a project with the first session that can, unless another worker has read it."""
        if await self._is_read(tenant_id):
            return
        query = {**self._in_use(), "tenant_id": tenant_id, "limit": SESSIONS_PER_PROJECT + len(self._rejected)}
        found = await self._reader.all(SESSIONS_OF_TENANT, query)
        usable = [row for row in found if row[0] not in self._rejected]
        for id_hash, username, *columns in usable[:SESSIONS_PER_PROJECT]:
            tenant = Tenant(tenant_id, username, credentials_from_row(columns), COLLECTOR)
            try:
                await self._cloud.record_resources(tenant)
            except LoginRequired:
                self._rejected.add(id_hash)
            except ApiError as problem:
                _log_failed_read(problem)
            else:
                return

    def _in_use(self) -> dict[str, int]:
        now = int(self._clock.now())
        return {"now": now, "idle_since": now - self._session_idle}

    # With application credentials

    def _credential_jobs(self) -> Iterator[tuple[object, Job]]:
        for file, user in self._credential_files:
            try:
                credentials = read_application_credentials(file)
            except SecretFileError as problem:
                log.warning("%s", problem)
                continue
            for credential in credentials:
                name = f"the application credential in line {credential.line} of {file}"
                yield user, partial(self._read_with_credential, credential, user, name)

    async def _read_with_credential(self, credential: ApplicationCredential, user: CredentialUser, name: str) -> None:
        now, known = self._clock.now(), self._credential_tenants.get(credential.id)
        is_waiting = now < self._credential_retries.get(credential.id, 0)
        if is_waiting or (known is not None and await self._is_read(known)):
            return
        try:
            found = await user.use_application_credential(credential, COLLECTOR)
            if found is None:
                self._credential_retries[credential.id] = clock_hour(now, self._zone).end
                log.warning("%s is rejected, or its tenant is disabled", name)
                return
            self._credential_tenants[credential.id] = found.tenant_id
            try:
                if not await self._is_read(found.tenant_id):
                    await self._cloud.record_resources(
                        Tenant(found.tenant_id, found.username, found.credentials, COLLECTOR)
                    )
            finally:
                await user.revoke(found.credentials, COLLECTOR)
        except ApiError as problem:
            self._credential_retries[credential.id] = now + RETRY_SECONDS
            log.warning("could not read a project with %s: %s", name, problem.error)

    async def _is_read(self, tenant_id: int) -> bool:
        row = await self._reader.one(_LAST_READING, (tenant_id,))
        return row is not None and row[0] is not None and row[0] >= self._hour_start()

    def _hour_start(self) -> int:
        return clock_hour(self._clock.now(), self._zone).start


def _is_done(task: asyncio.Task[None] | None) -> bool:
    return task is None or task.done()


def _log_failed_read(problem: ApiError) -> None:
    log.warning("could not read resources for the billing record: %s", problem.error)
