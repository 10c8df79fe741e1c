"""Change feed over SQLite's `data_version`."""

import sqlite3

from cloudconsole.spec.errors import Unavailable


class SqliteChangeFeed:
    """SQLite reports that a file changed, not what: every commit invalidates all data in the file."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        # Reused, since every request needs it twice.
        self._cursor = connection.cursor()
        self._versions: tuple[int, int] | None = None
        self._cloud = 0
        self._activity = 0
        self.latest = 0

    @property
    def is_stale(self) -> bool:
        return False

    async def poll(self) -> None:
        versions = self.cloud_version(), self._version("PRAGMA activity.data_version")
        known = self._versions
        if versions != known:
            self.latest += 1
            if known is None or versions[0] != known[0]:
                self._cloud = self.latest
            if known is None or versions[1] != known[1]:
                self._activity = self.latest
            self._versions = versions

    def tenant_version(self, _tenant_id: int) -> int:
        return self._cloud

    def session_version(self, _id_hash: bytes) -> int:
        return self._activity

    def cloud_version(self) -> int:
        return self._version("PRAGMA main.data_version")

    def _version(self, pragma: str) -> int:
        try:
            version: int = self._cursor.execute(pragma).fetchone()[0]
        except sqlite3.Error as problem:
            raise Unavailable from problem
        return version
