"""The store as it was when the console began to serve, kept in memory, and how to have it back."""

import sqlite3
from contextlib import closing
from pathlib import Path

from cloudconsole.spec.errors import Unavailable
from cloudconsole.store.base import PARTS
from cloudconsole.store.sqlite.backup import connect, consistent_snapshot
from cloudconsole.store.sqlite.engine import database_file


class StartingStore:
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        # Made by one thread and put back by another, never at once.
        self._kept = {part: sqlite3.connect(":memory:", check_same_thread=False) for part in PARTS}
        with consistent_snapshot(folder, PARTS) as connections:
            for part, connection in connections.items():
                connection.backup(self._kept[part])

    def put_back(self) -> None:
        """Each part in one transaction: whoever has the store open sees it from then on."""
        try:
            for part, kept in self._kept.items():
                with closing(connect(database_file(self._folder, part))) as store:
                    kept.backup(store)
                    # The whole content went through the log, which would grow with every test.
                    store.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        except sqlite3.Error as problem:
            raise Unavailable from problem

    def close(self) -> None:
        for kept in self._kept.values():
            kept.close()
