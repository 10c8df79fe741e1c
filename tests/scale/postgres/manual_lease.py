"""A change lease over a real database, with a manual clock and manual polls; tests as coroutines."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import ParamSpec

import psycopg
from cluster.postgres import PostgresServer

from cloudconsole.store.postgres import change_poller
from cloudconsole.store.postgres.change_poller import ChangeLease
from cloudconsole.store.postgres.dsn import Dsn

Parameters = ParamSpec("Parameters")

TIMEOUT = 120
REPLACE_CHANGE_LOG = (
    "ALTER TABLE signals RENAME TO former",
    "CREATE TABLE signals (LIKE former INCLUDING DEFAULTS)",
    "DROP TABLE former",
)
"""Statements after which the change log has another history, as after a restore."""


class ManualClock:
    """A monotonic clock that only advances explicitly."""

    def __init__(self) -> None:
        self.moment = 1000.0

    def __call__(self) -> float:
        return self.moment

    def expire_lease(self) -> None:
        self.moment += change_poller.LEASE_SECONDS


class ManualLease:
    """A lease, and what has changed of tenants and sessions since the last poll."""

    def __init__(self, address: Dsn) -> None:
        self.clock = ManualClock()
        self.other_servers = 0
        self.lease = ChangeLease(address, self._on_other_server, self.clock)

    async def changed(self, *subjects: int | bytes) -> list[int | bytes]:
        """Return those of the subjects that a new poll reports as changed."""
        since = self.lease.latest
        self.clock.expire_lease()
        await self.lease.poll()
        return [subject for subject in subjects if self._number(subject) > since]

    async def _on_other_server(self) -> None:
        self.other_servers += 1

    def _number(self, subject: int | bytes) -> int:
        return self.lease.tenant_version(subject) if isinstance(subject, int) else self.lease.session_version(subject)


@asynccontextmanager
async def manual_lease(address: Dsn) -> AsyncIterator[ManualLease]:
    """A lease that has polled once, so that the next poll reports only later changes."""
    manual = ManualLease(address)
    try:
        await manual.changed()
        yield manual
    finally:
        await manual.lease.leave()


def execute(address: Dsn, *statements: str) -> None:
    """Execute the statements in one separate transaction."""
    with psycopg.connect(address.conninfo()) as connection:
        for statement in statements:
            connection.execute(statement)


@asynccontextmanager
async def unavailable(server: PostgresServer, fault: str) -> AsyncIterator[None]:
    """A server is stopped or paused meanwhile."""
    await asyncio.to_thread(getattr(server, fault))
    try:
        yield
    finally:
        await asyncio.to_thread({"stop": server.start, "pause": server.resume}[fault])


async def wait_until(is_true: Callable[[], object]) -> None:
    """Wait for what has no event."""
    async with asyncio.timeout(TIMEOUT):
        while not is_true():  # noqa: ASYNC110 - there is no event for it
            await asyncio.sleep(0.02)
