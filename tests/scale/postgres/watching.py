"""A watch over a real database, whose looks the tests decide on."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import psycopg

from cloudconsole.store.postgres import change_poller
from cloudconsole.store.postgres.change_poller import ChangeLease
from cloudconsole.store.postgres.dsn import Dsn

PATIENCE = 20
ANOTHER_TABLE = (
    "ALTER TABLE signals RENAME TO former",
    "CREATE TABLE signals (LIKE former INCLUDING DEFAULTS)",
    "DROP TABLE former",
)
"""After these, signals have another history, as after a restore."""


class Seconds:
    """A monotonic clock that stands until it is moved."""

    def __init__(self) -> None:
        self.moment = 1000.0

    def __call__(self) -> float:
        return self.moment

    def end_lease(self) -> None:
        self.moment += change_poller.LEASE_SECONDS


class Watched:
    """A watch, and what has changed of tenants and sessions since somebody last asked."""

    def __init__(self, address: Dsn) -> None:
        self.seconds = Seconds()
        self.other_servers = 0
        self.watch = ChangeLease(address, self._note_another, self.seconds)

    async def changed(self, *subjects: int | bytes) -> list[int | bytes]:
        """Those of the subjects that a new look finds changed."""
        since = self.watch.latest
        self.seconds.end_lease()
        await self.watch.poll()
        return [subject for subject in subjects if self._number(subject) > since]

    async def _note_another(self) -> None:
        self.other_servers += 1

    def _number(self, subject: int | bytes) -> int:
        return self.watch.tenant_version(subject) if isinstance(subject, int) else self.watch.session_version(subject)


@asynccontextmanager
async def watched(address: Dsn) -> AsyncIterator[Watched]:
    """A watch that has looked, so that the next look tells what came since."""
    found = Watched(address)
    try:
        await found.changed()
        yield found
    finally:
        await found.watch.leave()


def execute(address: Dsn, *statements: str) -> None:
    """In one transaction of another's."""
    with psycopg.connect(address.conninfo()) as connection:
        for statement in statements:
            connection.execute(statement)


async def eventually_held(watch: ChangeLease) -> None:
    """Until a look in the background has succeeded."""
    async with asyncio.timeout(PATIENCE):
        while not watch.is_held:  # noqa: ASYNC110 - there is nothing that tells
            await asyncio.sleep(0.02)
