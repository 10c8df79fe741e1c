"""Reader for the frequent reads: each takes microseconds, so it runs on the event loop over one connection."""

import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

from cloudconsole.spec.errors import Unavailable
from cloudconsole.store.base import Parameters, RowTuple
from cloudconsole.store.sqlite.change_feed import SqliteChangeFeed
from cloudconsole.store.sqlite.engine import database_file


class SqliteReader:
    """Reads both databases; it never writes, so that `data_version` reports every commit."""

    revisions: Final = """
        SELECT (SELECT version_num FROM main.alembic_version), (SELECT version_num FROM activity.alembic_version)
    """
    oldest_compatible: Final = """
        SELECT
            (SELECT oldest_compatible FROM main.schema_revisions
                WHERE revision = (SELECT version_num FROM main.alembic_version)),
            (SELECT oldest_compatible FROM activity.schema_revisions
                WHERE revision = (SELECT version_num FROM activity.alembic_version))
    """

    def __init__(self, folder: Path) -> None:
        self._connection = sqlite3.connect(database_file(folder, "cloud"), timeout=1, isolation_level=None)
        self._connection.execute("ATTACH ? AS activity", (str(database_file(folder, "activity")),))
        self._connection.execute("PRAGMA query_only = ON")
        self.changes = SqliteChangeFeed(self._connection)

    async def one(self, sql: str, parameters: Parameters = ()) -> RowTuple | None:
        try:
            row: RowTuple | None = self._connection.execute(sql, parameters).fetchone()
        except sqlite3.Error as problem:
            raise Unavailable from problem
        return row

    async def seek(self, sql: str, parameters: Parameters = ()) -> RowTuple | None:
        """Read like `one`: reads never wait for each other here."""
        return await self.one(sql, parameters)

    async def all(self, sql: str, parameters: Parameters = ()) -> list[RowTuple]:
        try:
            return self._connection.execute(sql, parameters).fetchall()
        except sqlite3.Error as problem:
            raise Unavailable from problem

    async def shared_stamp(self) -> int:
        return self.changes.cloud_version()

    @asynccontextmanager
    async def snapshot(self) -> AsyncIterator["SqliteReader"]:
        """Open a snapshot; await only reads in it, or other requests would share the transaction."""
        await self.all("BEGIN")
        try:
            yield self
        finally:
            await self.all("ROLLBACK")

    async def leave(self) -> None:
        """Do nothing: the connection does not depend on the event loop."""

    def close(self) -> None:
        self._connection.close()
