"""Engines and connections for the two SQLite databases, in WAL mode, and their files."""

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Connection, Engine, create_engine, event

from cloudconsole.store.base import BUSY_SECONDS, DATABASE_NAMES, DatabaseName


def database_file(folder: Path, part: DatabaseName) -> Path:
    return folder / f"{part}.db"


def open_engine(folder: Path, part: DatabaseName) -> Engine:
    """Return an engine whose transactions take the write lock at the start, so that they cannot fail to upgrade it."""
    engine = create_engine(
        # Not as text: a path may contain characters with a meaning in URLs.
        URL.create("sqlite", database=str(database_file(folder, part))),
        # Error messages may be logged, data may not.
        hide_parameters=True,
        connect_args={"timeout": BUSY_SECONDS, "isolation_level": None, "check_same_thread": False},
    )

    @event.listens_for(engine, "connect")
    def set_up(connection: sqlite3.Connection, _record: Any) -> None:
        connection.execute("PRAGMA journal_mode = WAL")
        # FULL: acknowledged changes, such as a logout, survive a power failure.
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA foreign_keys = ON")
        # 16 MB instead of 4: an import changes the same pages in successive transactions, and copies them only once.
        connection.execute("PRAGMA wal_autocheckpoint = 4000")

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        reads_only = connection.get_execution_options().get("reads_only")
        connection.exec_driver_sql("BEGIN" if reads_only else "BEGIN IMMEDIATE")

    return engine


@contextmanager
def opened(folder: Path, part: DatabaseName) -> Iterator[Engine]:
    engine = open_engine(folder, part)
    try:
        yield engine
    finally:
        engine.dispose()


def file_sizes(folder: Path) -> dict[str, int]:
    """Return bytes by file name; a missing write-ahead log has 0."""
    files = (Path(f"{database_file(folder, part)}{end}") for part in DATABASE_NAMES for end in ("", "-wal"))
    return {file.name: file.stat().st_size if file.exists() else 0 for file in files}


def free_bytes(folder: Path) -> int:
    return shutil.disk_usage(folder).free


def connect(file: Path, *, is_still: bool = False, timeout: float = BUSY_SECONDS) -> sqlite3.Connection:
    """Open an existing database without creating one.

    With `is_still` the database has no writers and no log: only its file is read, and no file is created beside it.
    """
    address = f"{file.absolute().as_uri()}?mode=ro&immutable=1" if is_still else database_uri(file)
    return sqlite3.connect(address, uri=True, timeout=timeout, isolation_level=None)


def database_uri(file: Path) -> str:
    return f"{file.absolute().as_uri()}?mode=rw"
