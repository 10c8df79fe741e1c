"""What the metrics page says of the store, never counted more often than is cheap."""

import sqlite3
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final

from cloudconsole.core.clock import Clock
from cloudconsole.server.settings import Settings
from cloudconsole.spec.errors import Unavailable
from cloudconsole.store import figures
from cloudconsole.store.engine import PARTS, database_file
from cloudconsole.store.figures import Counts
from cloudconsole.store.reader import Reader

REST: Final = 20
"""Counting may take a twentieth of the time: it is not done again until it has rested this often as long as it took."""


class StoreReadings:
    """For one thread: that of its first reading."""

    def __init__(self, settings: Settings, clock: Clock, seconds: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._seconds = seconds
        self._folder: Path = settings.data
        self._idle_seconds = settings.session_idle
        self._reader: Reader | None = None
        self._counts: Counts | None = None
        self._again_at = 0.0

    def counts(self) -> Counts | None:
        """None while the store cannot be read."""
        started = self._seconds()
        if started >= self._again_at:
            try:
                self._counts = self._count()
            except (Unavailable, sqlite3.Error):
                self._counts = None
                self.close()
            finished = self._seconds()
            self._again_at = finished + REST * (finished - started)
        return self._counts

    def file_sizes(self) -> dict[str, int]:
        return figures.file_sizes(self._folder)

    def free_bytes(self) -> list[int]:
        """One figure, or none where the folder is gone."""
        with suppress(OSError):
            return [figures.free_bytes(self._folder)]
        return []

    def _count(self) -> Counts:
        if self._reader is None:
            # Opening what is not there would make it.
            if not all(database_file(self._folder, part).exists() for part in PARTS):
                raise Unavailable
            self._reader = Reader(self._folder)
        return figures.count(self._reader, self._clock.now(), self._idle_seconds)

    def close(self) -> None:
        if self._reader is not None:
            self._reader.close()
            self._reader = None
