"""Consistent online copies, temporary directories, read-only media."""

import errno
import fcntl
import os
import shutil
import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Final, Literal

from cloudconsole.store.base import BUSY_SECONDS, DatabaseName, StoreError
from cloudconsole.store.sqlite.engine import database_file

_FAILED_WRITES: Final = {
    sqlite3.SQLITE_FULL: errno.ENOSPC,
    sqlite3.SQLITE_IOERR_WRITE: errno.EIO,
    sqlite3.SQLITE_IOERR_TRUNCATE: errno.EIO,
    sqlite3.SQLITE_IOERR_FSYNC: errno.EIO,
}


@contextmanager
def consistent_snapshot(
    folder: Path, parts: Iterable[DatabaseName]
) -> Iterator[dict[DatabaseName, sqlite3.Connection]]:
    """Open connections to one snapshot of all databases, without blocking writers."""
    with ExitStack() as stack:
        connections = {part: stack.enter_context(closing(_open_database(folder, part))) for part in parts}
        with ExitStack() as writers:
            # Block writers briefly while all read transactions begin. All lock in this order.
            for part in connections:
                writer = writers.enter_context(closing(_open_database(folder, part)))
                writer.execute("BEGIN IMMEDIATE")
            for connection in connections.values():
                connection.execute("BEGIN")
                connection.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()
        yield connections


def copy_to(source: sqlite3.Connection, file: Path) -> None:
    """Write a connection's snapshot to a new private file; raise `OSError` if that fails."""
    file.touch(mode=0o600, exist_ok=False)
    try:
        with closing(sqlite3.connect(file)) as target:
            source.backup(target)
    except sqlite3.Error as problem:
        # The source is only read, so a write error concerns the copy.
        number = _FAILED_WRITES.get(problem.sqlite_errorcode)
        if number is None:
            raise
        raise OSError(number, os.strerror(number), str(file)) from problem


def overwrite_database(folder: Path, part: DatabaseName, file: Path, *, when_locked: Callable[[], object]) -> None:
    """Replace a database's content by that of a file in one transaction, visible to open connections.

    `when_locked` is called once other writers are locked out, and may still change the file.
    """
    deadline = time.monotonic() + BUSY_SECONDS
    waits = True

    def after_step(status: int, _remaining: int, _total: int) -> None:
        nonlocal waits
        if waits and status == sqlite3.SQLITE_OK:
            waits = False
            when_locked()
        elif waits and time.monotonic() > deadline:
            raise StoreError(f"the store in {folder} is locked by another writer: try again")

    with closing(sqlite3.connect(file)) as source, closing(_open_database(folder, part)) as target:
        (page_size,) = target.execute("PRAGMA page_size").fetchone()
        if source.execute("PRAGMA page_size").fetchone() != (page_size,):
            # A database in use cannot change its page size.
            source.execute("PRAGMA journal_mode = DELETE")
            source.execute(f"PRAGMA page_size = {page_size}")
            source.execute("VACUUM")
        # The first page takes the lock; the copy restarts if the file has changed since.
        source.backup(target, pages=1, progress=after_step)
        # The whole content went through the log, which would otherwise stay that large.
        target.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def insert_missing_rows(file: Path, source: Path, table: str, columns: Iterable[str]) -> int:
    """Append the rows of a table that only `source` has, in order and with new ids; return their number."""
    names = ", ".join(f'"{name}"' for name in columns)
    with closing(connect(file)) as connection:
        connection.execute("ATTACH DATABASE ? AS source", (_address(source),))
        return connection.execute(
            f"INSERT INTO main.{table} ({names}) SELECT {names} FROM ("
            f"SELECT id, {names} FROM source.{table} EXCEPT SELECT id, {names} FROM main.{table}) ORDER BY id"
        ).rowcount


def find_corruption(file: Path, *, quick: bool = False, is_still: bool = False) -> str | None:
    """Return SQLite's description of a database's corruption, or None."""
    pragma = "quick_check" if quick else "integrity_check"
    try:
        with closing(connect(file, is_still=is_still)) as connection:
            connection.execute("PRAGMA query_only = ON")
            problems = [str(row[0]) for row in connection.execute(f"PRAGMA {pragma}(3)")]
            violations = connection.execute("PRAGMA foreign_key_check").fetchmany(3)
    except sqlite3.Error as problem:
        return str(problem)
    if problems != ["ok"]:
        return "; ".join(problems)
    return "; ".join(f"a row of {row[0]} refers to a missing row of {row[2]}" for row in violations) or None


def _open_database(folder: Path, part: DatabaseName) -> sqlite3.Connection:
    return connect(database_file(folder, part))


def connect(file: Path, *, is_still: bool = False, timeout: float = BUSY_SECONDS) -> sqlite3.Connection:
    """Open an existing database without creating one.

    With `is_still` the database has no writers and no log: only its file is read, and no file is created beside it.
    """
    address = f"{file.absolute().as_uri()}?mode=ro&immutable=1" if is_still else _address(file)
    return sqlite3.connect(address, uri=True, timeout=timeout, isolation_level=None)


def _address(file: Path) -> str:
    return f"{file.absolute().as_uri()}?mode=rw"


Purpose = Literal["dry-run", "restore"]
PURPOSES: Final[tuple[Purpose, ...]] = ("dry-run", "restore")
MIN_AGE_SECONDS: Final = 60
"""A younger directory may not be locked yet."""


@contextmanager
def temporary_directory(parent: Path, purpose: Purpose) -> Iterator[Path]:
    """Create a private directory, locked while in use and removed afterwards."""
    with tempfile.TemporaryDirectory(prefix=f".{purpose}-", dir=parent) as name:
        handle = _open_directory(Path(name))
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield Path(name)
        finally:
            os.close(handle)


def remove_stale_directories(parent: Path) -> None:
    """Remove temporary directories that are no longer locked, ignoring failures."""
    for purpose in PURPOSES:
        for folder in parent.glob(f".{purpose}-*"):
            _remove_unless_locked(folder)


def _remove_unless_locked(folder: Path) -> None:
    try:
        handle = _open_directory(folder)
    except OSError:
        return
    try:
        if os.fstat(handle).st_mtime < time.time() - MIN_AGE_SECONDS:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(folder, ignore_errors=True)
    except BlockingIOError:
        pass
    finally:
        os.close(handle)


def _open_directory(folder: Path) -> int:
    return os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)


def is_read_only(folder: Path, parts: Iterable[DatabaseName]) -> bool:
    """Return whether the store is not writable, by permissions or on a read-only file system."""
    paths = (folder, *(database_file(folder, part) for part in parts))
    return not all(os.access(path, os.W_OK, effective_ids=True) for path in paths)


@contextmanager
def read_only_snapshot(
    folder: Path, parts: tuple[DatabaseName, ...]
) -> Iterator[dict[DatabaseName, sqlite3.Connection]]:
    """Open connections to one snapshot; raise `StoreError` at the end if another user has written."""
    before = _file_states(folder, parts)
    with ExitStack() as stack:
        connections = {part: stack.enter_context(closing(_open_read_only(folder, part))) for part in parts}
        for connection in connections.values():
            connection.execute("BEGIN")
            connection.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()
        yield connections
        if _file_states(folder, parts) != before:
            raise StoreError(
                f"the store in {folder} was written to during the backup: try again, or run this as a user who can "
                "write to it"
            )


def _open_read_only(folder: Path, part: DatabaseName) -> sqlite3.Connection:
    """Open a database with its log, or only its file if there is no log."""
    file = database_file(folder, part)
    log, index = Path(f"{file}-wal"), Path(f"{file}-shm")
    has_log = log.exists() and log.stat().st_size > 0
    if has_log and not index.exists():
        raise StoreError(
            f"{log} cannot be read in a directory that is not writable: copy the directory to a writable one "
            "and pass that with --data"
        )
    return connect(file, is_still=not has_log)


def _file_states(folder: Path, parts: Iterable[DatabaseName]) -> list[tuple[int, int, int] | None]:
    """Return file metadata that changes with every write."""
    files = [Path(f"{database_file(folder, part)}{end}") for part in parts for end in ("", "-wal")]
    return [_file_state(file) for file in files]


def _file_state(file: Path) -> tuple[int, int, int] | None:
    try:
        status = file.stat()
    except FileNotFoundError:
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns
