"""What the metrics page says of the store, never counted more often than is cheap."""

import asyncio
import sqlite3
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Final, TypeVar

from cloudconsole.core.clock import Clock
from cloudconsole.server.config.settings import Settings
from cloudconsole.spec.errors import Unavailable
from cloudconsole.store import health
from cloudconsole.store.base import PARTS, read_with
from cloudconsole.store.health import Counts
from cloudconsole.store.reader import Reader
from cloudconsole.store.sqlite.engine import database_file
from cloudconsole.store.sqlite.store import FolderStore

Result = TypeVar("Result")

REST: Final = 20
"""Counting may take a twentieth of the time: it is not done again until it has rested this often as long as it took."""
REST_OF_DATABASE: Final = 500
"""The same where many replicas count in one database, each for itself."""


class StoreReadings:
    def __init__(self, settings: Settings, clock: Clock, seconds: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._seconds = seconds
        self._store = settings.store
        self._folder: Path | None = self._store.folder if isinstance(self._store, FolderStore) else None
        self._rest = REST if self._folder is not None else REST_OF_DATABASE
        self._idle_seconds = settings.session_idle
        self._counts: Counts | None = None
        self._again_at = 0.0

    def is_readable(self) -> bool:
        """Whether it can be read now: that takes no time to tell, however long counting does."""
        return self._read(health.probe) or False

    def counts(self) -> Counts | None:
        """To be asked for while the store can be read; None where counting failed all the same."""
        started = self._seconds()
        if started >= self._again_at:
            self._counts = self._read(lambda reader: health.count(reader, self._clock.now(), self._idle_seconds))
            finished = self._seconds()
            self._again_at = finished + self._rest * (finished - started)
        return self._counts

    def file_sizes(self) -> dict[str, int]:
        return {} if self._folder is None else health.file_sizes(self._folder)

    def free_bytes(self) -> list[int]:
        """One figure, or none where the folder is gone, or there is none."""
        with suppress(OSError):
            return [] if self._folder is None else [health.free_bytes(self._folder)]
        return []

    def _read(self, ask: Callable[[Reader], Awaitable[Result]]) -> Result | None:
        """None where the store cannot be read."""
        # Opening files that are not there would make them.
        if self._folder is not None and not all(database_file(self._folder, part).exists() for part in PARTS):
            return None

        async def read() -> Result:
            async with read_with(self._store) as reader:
                return await ask(reader)

        try:
            return asyncio.run(read())
        except (Unavailable, sqlite3.Error):
            return None
