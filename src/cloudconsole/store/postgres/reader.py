"""The few hot reads on PostgreSQL: the SQL is the same, and nothing is read that the watch has not made stale."""

import re
from collections.abc import AsyncIterator, Hashable
from contextlib import asynccontextmanager
from functools import lru_cache
from typing import Final

from cloudconsole.store.base import Parameters, Row
from cloudconsole.store.postgres.change_lease import ChangeLease
from cloudconsole.store.postgres.change_log import HISTORY
from cloudconsole.store.postgres.connection import Servers
from cloudconsole.store.postgres.dsn import Dsn
from cloudconsole.store.postgres.pool import BorrowedConnection, ConnectionPool

_SIGNS: Final = re.compile(r"(?P<each>\?)|:(?P<name>[a-z_]+)|%")
_SHARED_STAMP: Final = f"SELECT number, {HISTORY} FROM shared_changes"


class PostgresSnapshot:
    """A connection in a transaction that sees one moment."""

    def __init__(self, taken: BorrowedConnection) -> None:
        self._taken = taken

    async def one(self, sql: str, parameters: Parameters = ()) -> Row | None:
        return next(iter(await self.all(sql, parameters)), None)

    async def all(self, sql: str, parameters: Parameters = ()) -> list[Row]:
        if _is_unheard_of(parameters):
            return []
        return await self._taken.rows(to_psycopg_placeholders(sql), parameters)

    async def shared_stamp(self) -> Hashable:
        (stamp,) = await self.all(_SHARED_STAMP)
        return stamp


class PostgresReader:
    revisions: Final = "SELECT version_num FROM alembic_version"
    oldest_compatible: Final = (
        "SELECT oldest_compatible FROM schema_revisions JOIN alembic_version ON revision = version_num"
    )

    def __init__(self, address: Dsn, servers: Servers) -> None:
        self._connections = ConnectionPool(address)
        self._servers = servers
        self.changes = ChangeLease(address, self._follow)

    async def one(self, sql: str, parameters: Parameters = ()) -> Row | None:
        return next(iter(await self.all(sql, parameters)), None)

    async def all(self, sql: str, parameters: Parameters = ()) -> list[Row]:
        async with self._connections.acquire() as taken:
            return await PostgresSnapshot(taken).all(sql, parameters)

    async def seek(self, sql: str, parameters: Parameters = ()) -> Row | None:
        async with self._connections.acquire(by_stranger=True) as taken:
            return await PostgresSnapshot(taken).one(sql, parameters)

    @asynccontextmanager
    async def snapshot(self) -> AsyncIterator[PostgresSnapshot]:
        async with self._connections.acquire() as taken:
            await taken.perform("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
            yield PostgresSnapshot(taken)
            await taken.perform("COMMIT")

    async def _follow(self) -> None:
        """Use no connection to the former server again, be it for reads or for writes."""
        self._servers.note_another()
        await self._connections.renew()

    async def leave(self) -> None:
        await self.changes.leave()
        await self._connections.close()

    def close(self) -> None:
        """Nothing is left: connections hang on the event loop."""


@lru_cache(maxsize=256)
def to_psycopg_placeholders(sql: str) -> str:
    """The same SQL with psycopg's signs for parameters."""

    def sign(found: re.Match[str]) -> str:
        if found["each"]:
            return "%s"
        return f"%({found['name']})s" if found["name"] else "%%"

    return _SIGNS.sub(sign, sql)


def _is_unheard_of(parameters: Parameters) -> bool:
    """Whether something is looked for that PostgreSQL cannot hold, so that nothing can be found."""
    values = parameters.values() if isinstance(parameters, dict) else parameters
    return any(isinstance(value, str) and "\0" in value for value in values)
