"""The few hot reads, as plain SQL on one held connection: a read takes microseconds, so it runs on the event loop."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from cloudconsole.spec.errors import Unavailable
from cloudconsole.store.engine import database_file

Row = tuple[Any, ...]
Parameters = Row | dict[str, Any]


class Reader:
    """Reads both parts of the store; never writes, so its stamps move on every commit by anyone."""

    def __init__(self, folder: Path) -> None:
        self._connection = sqlite3.connect(database_file(folder, "cloud"), timeout=1, isolation_level=None)
        self._connection.execute("ATTACH ? AS activity", (str(database_file(folder, "activity")),))
        self._connection.execute("PRAGMA query_only = ON")
        # Held, because it is used twice a call.
        self._stamping = self._connection.cursor()

    def stamp(self) -> int:
        """Moves whenever what tenants read was changed."""
        return self._data_version("PRAGMA main.data_version")

    def activity_stamp(self) -> int:
        """Moves whenever a session was opened, used or ended, or another of the activity's tables was written."""
        return self._data_version("PRAGMA activity.data_version")

    def one(self, sql: str, parameters: Parameters = ()) -> Row | None:
        try:
            row: Row | None = self._connection.execute(sql, parameters).fetchone()
        except sqlite3.Error as problem:
            raise Unavailable from problem
        return row

    def all(self, sql: str, parameters: Parameters = ()) -> list[Row]:
        try:
            return self._connection.execute(sql, parameters).fetchall()
        except sqlite3.Error as problem:
            raise Unavailable from problem

    def _data_version(self, pragma: str) -> int:
        try:
            version: int = self._stamping.execute(pragma).fetchone()[0]
        except sqlite3.Error as problem:
            raise Unavailable from problem
        return version

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """What is read inside is of one moment."""
        self.all("BEGIN")
        try:
            yield
        finally:
            self.all("ROLLBACK")

    def close(self) -> None:
        self._connection.close()
