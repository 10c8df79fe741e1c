"""Reader for the frequent reads on PostgreSQL, with the SQL of the embedded store."""

import re
from collections.abc import AsyncIterator, Hashable
from contextlib import asynccontextmanager
from functools import lru_cache
from typing import Final

from cloudconsole.store.base import Parameters, RowTuple
from cloudconsole.store.postgres.change_log_reader import HISTORY
from cloudconsole.store.postgres.change_poller import ChangeLease
from cloudconsole.store.postgres.connection import Servers
from cloudconsole.store.postgres.dsn import Dsn
from cloudconsole.store.postgres.pool import BorrowedConnection, ConnectionPool

_PLACEHOLDERS: Final = re.compile(r"(?P<each>\?)|:(?P<name>[a-z_]+)|%")
_SHARED_STAMP: Final = f"SELECT number, {HISTORY} FROM shared_changes"


class PostgresSnapshot:
    """A connection in a snapshot transaction."""

    def __init__(self, connection: BorrowedConnection) -> None:
        self._connection = connection

    async def one(self, sql: str, parameters: Parameters = ()) -> RowTuple | None:
        return next(iter(await self.all(sql, parameters)), None)

    async def all(self, sql: str, parameters: Parameters = ()) -> list[RowTuple]:
        if _has_nul(parameters):
            return []
        return await self._connection.rows(to_psycopg_placeholders(sql), parameters)

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

    async def one(self, sql: str, parameters: Parameters = ()) -> RowTuple | None:
        return next(iter(await self.all(sql, parameters)), None)

    async def all(self, sql: str, parameters: Parameters = ()) -> list[RowTuple]:
        async with self._connections.acquire() as connection:
            return await PostgresSnapshot(connection).all(sql, parameters)

    async def seek(self, sql: str, parameters: Parameters = ()) -> RowTuple | None:
        async with self._connections.acquire(untrusted=True) as connection:
            return await PostgresSnapshot(connection).one(sql, parameters)

    @asynccontextmanager
    async def snapshot(self) -> AsyncIterator[PostgresSnapshot]:
        async with self._connections.acquire() as connection:
            await connection.perform("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
            yield PostgresSnapshot(connection)
            await connection.perform("COMMIT")

    async def _follow(self) -> None:
        """Stop using connections to the former server, for reads and writes."""
        self._servers.note_another()
        await self._connections.renew()

    async def leave(self) -> None:
        await self.changes.leave()
        await self._connections.close()

    def close(self) -> None:
        """Do nothing: `leave` has closed the connections."""


@lru_cache(maxsize=256)
def to_psycopg_placeholders(sql: str) -> str:
    """Replace the parameter placeholders by psycopg's."""

    def placeholder(match: re.Match[str]) -> str:
        if match["each"]:
            return "%s"
        return f"%({match['name']})s" if match["name"] else "%%"

    return _PLACEHOLDERS.sub(placeholder, sql)


def _has_nul(parameters: Parameters) -> bool:
    """Return whether a parameter has a NUL, which PostgreSQL cannot store, so that nothing matches."""
    values = parameters.values() if isinstance(parameters, dict) else parameters
    return any(isinstance(value, str) and "\0" in value for value in values)
