"""Consistent copies of databases, online or from read-only media; integrity check."""

import errno
import os
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Final

from cloudconsole.store.base import BUSY_SECONDS, DatabaseName, StoreError
from cloudconsole.store.sqlite.engine import connect, database_file, database_uri

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
            raise StoreError(
                f"the store in {folder} is locked by another writer: try again",
                f"{folder} 中的数据存储正被其他写入者锁定，请重试",
            )

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
        connection.execute("ATTACH DATABASE ? AS source", (database_uri(source),))
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
                "write to it",
                f"备份期间 {folder} 中的数据存储有写入：请重试，或由可写入的用户执行",
            )


def _open_read_only(folder: Path, part: DatabaseName) -> sqlite3.Connection:
    """Open a database with its log, or only its file if there is no log."""
    file = database_file(folder, part)
    log, index = Path(f"{file}-wal"), Path(f"{file}-shm")
    has_log = log.exists() and log.stat().st_size > 0
    if has_log and not index.exists():
        raise StoreError(
            f"{log} cannot be read in a directory that is not writable: copy the directory to a writable one "
            "and pass that with --data",
            f"目录不可写，无法读取 {log}：请将目录复制到可写的位置，并用 --data 指定",
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
