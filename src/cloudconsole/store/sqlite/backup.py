"""Consistent online copy, temp dirs, read-only media."""

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
    """Connections that all see the same moment, for as long as they are held; nobody waits for them."""
    with ExitStack() as stack:
        connections = {part: stack.enter_context(closing(_open_database(folder, part))) for part in parts}
        with ExitStack() as stillness:
            # While nobody can write to any of them, each begins to read. It takes no time, and all lock in this order.
            for part in connections:
                writer = stillness.enter_context(closing(_open_database(folder, part)))
                writer.execute("BEGIN IMMEDIATE")
            for connection in connections.values():
                connection.execute("BEGIN")
                connection.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()
        yield connections


def copy_to(source: sqlite3.Connection, file: Path) -> None:
    """Write what a connection sees to a new file, for its owner alone; `OSError` where that cannot be written."""
    file.touch(mode=0o600, exist_ok=False)
    try:
        with closing(sqlite3.connect(file)) as target:
            source.backup(target)
    except sqlite3.Error as problem:
        # The source is only read: what fails to be written is the copy.
        number = _FAILED_WRITES.get(problem.sqlite_errorcode)
        if number is None:
            raise
        raise OSError(number, os.strerror(number), str(file)) from problem


def overwrite_database(folder: Path, part: DatabaseName, file: Path, *, when_still: Callable[[], object]) -> None:
    """Make a database's content that of a file, in one transaction: whoever has it open sees it from then on.

    `when_still` is called once nobody else can write to the database any more, and may yet change the file.
    """
    give_up_at = time.monotonic() + BUSY_SECONDS
    waits = True

    def after_step(status: int, _remaining: int, _total: int) -> None:
        nonlocal waits
        if waits and status == sqlite3.SQLITE_OK:
            waits = False
            when_still()
        elif waits and time.monotonic() > give_up_at:
            raise StoreError(f"the store in {folder} is being written to by someone else: try again")

    with closing(sqlite3.connect(file)) as source, closing(_open_database(folder, part)) as target:
        (page_size,) = target.execute("PRAGMA page_size").fetchone()
        if source.execute("PRAGMA page_size").fetchone() != (page_size,):
            # A database in use cannot change its page size.
            source.execute("PRAGMA journal_mode = DELETE")
            source.execute(f"PRAGMA page_size = {page_size}")
            source.execute("VACUUM")
        # The first page takes the lock, and the copying begins anew when the file has changed since.
        source.backup(target, pages=1, progress=after_step)
        # The whole content went through the log, which would keep that size.
        target.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def insert_missing_rows(file: Path, source: Path, table: str, columns: Iterable[str]) -> int:
    """Add to a database the rows of a table that only another one has, in their order and with new ids at the end."""
    names = ", ".join(f'"{name}"' for name in columns)
    with closing(connect(file)) as connection:
        connection.execute("ATTACH DATABASE ? AS source", (_address(source),))
        return connection.execute(
            f"INSERT INTO main.{table} ({names}) SELECT {names} FROM ("
            f"SELECT id, {names} FROM source.{table} EXCEPT SELECT id, {names} FROM main.{table}) ORDER BY id"
        ).rowcount


def find_corruption(file: Path, *, quick: bool = False, is_still: bool = False) -> str | None:
    """What SQLite finds wrong with a database, in its own words; None where all is well."""
    pragma = "quick_check" if quick else "integrity_check"
    try:
        with closing(connect(file, is_still=is_still)) as connection:
            connection.execute("PRAGMA query_only = ON")
            found = [str(row[0]) for row in connection.execute(f"PRAGMA {pragma}(3)")]
            foreign = connection.execute("PRAGMA foreign_key_check").fetchmany(3)
    except sqlite3.Error as problem:
        return str(problem)
    if found != ["ok"]:
        return "; ".join(found)
    return "; ".join(f"a row of {row[0]} refers to nothing in {row[2]}" for row in foreign) or None


def _open_database(folder: Path, part: DatabaseName) -> sqlite3.Connection:
    return connect(database_file(folder, part))


def connect(file: Path, *, is_still: bool = False, timeout: float = BUSY_SECONDS) -> sqlite3.Connection:
    """A plain connection to a database that must be there: none is made where it is not.

    Of one that `is_still`, which nobody writes to and which has no log, the file alone is read, and nothing is made
    beside it.
    """
    address = f"{file.absolute().as_uri()}?mode=ro&immutable=1" if is_still else _address(file)
    return sqlite3.connect(address, uri=True, timeout=timeout, isolation_level=None)


def _address(file: Path) -> str:
    return f"{file.absolute().as_uri()}?mode=rw"


Purpose = Literal["dry-run", "restore"]
PURPOSES: Final[tuple[Purpose, ...]] = ("dry-run", "restore")
MIN_AGE_SECONDS: Final = 60
"""One that was made so lately may be about to be held."""


@contextmanager
def temporary_directory(place: Path, purpose: Purpose) -> Iterator[Path]:
    """A folder that only we can look into, held while it is used and gone afterwards."""
    with tempfile.TemporaryDirectory(prefix=f".{purpose}-", dir=place) as name:
        handle = _open_directory(Path(name))
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield Path(name)
        finally:
            os.close(handle)


def remove_stale_directories(place: Path) -> None:
    """Remove the folders that nobody holds any more; one that we may not remove stays."""
    for purpose in PURPOSES:
        for folder in place.glob(f".{purpose}-*"):
            _remove_unless_held(folder)


def _remove_unless_held(folder: Path) -> None:
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
    """Whether we may not write to the store, or nobody may: so it is on a file system that is read-only."""
    places = (folder, *(database_file(folder, part) for part in parts))
    return not all(os.access(place, os.W_OK, effective_ids=True) for place in places)


@contextmanager
def read_only_snapshot(
    folder: Path, parts: tuple[DatabaseName, ...]
) -> Iterator[dict[DatabaseName, sqlite3.Connection]]:
    """Connections that all see the same moment; `StoreError` at the end if someone who can has written meanwhile."""
    before = _file_states(folder, parts)
    with ExitStack() as stack:
        connections = {part: stack.enter_context(closing(_open_read_only(folder, part))) for part in parts}
        for connection in connections.values():
            connection.execute("BEGIN")
            connection.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()
        yield connections
        if _file_states(folder, parts) != before:
            raise StoreError(
                f"the store in {folder} was written to meanwhile: try again, or do it as a user who can write to it"
            )


def _open_read_only(folder: Path, part: DatabaseName) -> sqlite3.Connection:
    """What was written last is in the log; without one, the file alone is the whole database."""
    file = database_file(folder, part)
    log, index = Path(f"{file}-wal"), Path(f"{file}-shm")
    has_log = log.exists() and log.stat().st_size > 0
    if has_log and not index.exists():
        raise StoreError(
            f"{log} cannot be read in a folder that cannot be written to: copy the folder to where it can be, "
            "and give the copy with --data"
        )
    return connect(file, is_still=not has_log)


def _file_states(folder: Path, parts: Iterable[DatabaseName]) -> list[tuple[int, int, int] | None]:
    """What is different about the files as soon as anything was written to them."""
    files = [Path(f"{database_file(folder, part)}{end}") for part in parts for end in ("", "-wal")]
    return [_file_state(file) for file in files]


def _file_state(file: Path) -> tuple[int, int, int] | None:
    try:
        status = file.stat()
    except FileNotFoundError:
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns
