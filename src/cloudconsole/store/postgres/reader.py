"""The few hot reads on PostgreSQL: the SQL is the same, and nothing is read that the watch has not made stale."""

import re
from collections.abc import AsyncIterator, Hashable
from contextlib import asynccontextmanager
from functools import lru_cache
from typing import Final

from cloudconsole.store.postgres.change_lease import Watch
from cloudconsole.store.postgres.change_log import HISTORY
from cloudconsole.store.postgres.connection import Servers
from cloudconsole.store.postgres.dsn import DatabaseAddress
from cloudconsole.store.postgres.pool import Connections, Taken
from cloudconsole.store.reader import Parameters, Row

_SIGNS: Final = re.compile(r"(?P<each>\?)|:(?P<name>[a-z_]+)|%")
_SHARED_STAMP: Final = f"SELECT number, {HISTORY} FROM shared_changes"


class Moment:
    """A connection in a transaction that sees one moment."""

    def __init__(self, taken: Taken) -> None:
        self._taken = taken

    async def one(self, sql: str, parameters: Parameters = ()) -> Row | None:
        return next(iter(await self.all(sql, parameters)), None)

    async def all(self, sql: str, parameters: Parameters = ()) -> list[Row]:
        if _is_unheard_of(parameters):
            return []
        return await self._taken.rows(in_psycopgs_way(sql), parameters)

    async def shared_stamp(self) -> Hashable:
        (stamp,) = await self.all(_SHARED_STAMP)
        return stamp


class PostgresReader:
    revisions: Final = "SELECT version_num FROM alembic_version"
    oldest_compatible: Final = (
        "SELECT oldest_compatible FROM schema_revisions JOIN alembic_version ON revision = version_num"
    )

    def __init__(self, address: DatabaseAddress, servers: Servers) -> None:
        self._connections = Connections(address)
        self._servers = servers
        self.changes = Watch(address, self._follow)

    async def one(self, sql: str, parameters: Parameters = ()) -> Row | None:
        return next(iter(await self.all(sql, parameters)), None)

    async def all(self, sql: str, parameters: Parameters = ()) -> list[Row]:
        async with self._connections.taken() as taken:
            return await Moment(taken).all(sql, parameters)

    async def seek(self, sql: str, parameters: Parameters = ()) -> Row | None:
        async with self._connections.taken(by_stranger=True) as taken:
            return await Moment(taken).one(sql, parameters)

    @asynccontextmanager
    async def snapshot(self) -> AsyncIterator[Moment]:
        async with self._connections.taken() as taken:
            await taken.perform("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
            yield Moment(taken)
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
def in_psycopgs_way(sql: str) -> str:
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
