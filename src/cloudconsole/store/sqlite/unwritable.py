"""Reading a store whose folder cannot be written to, where SQLite cannot keep others from writing."""

import os
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

from cloudconsole.store.engine import Part, StoreError
from cloudconsole.store.sqlite.copying import connect
from cloudconsole.store.sqlite.engine import database_file


def is_unwritable(folder: Path, parts: Iterable[Part]) -> bool:
    """Whether we may not write to the store, or nobody may: so it is on a file system that is read-only."""
    places = (folder, *(database_file(folder, part) for part in parts))
    return not all(os.access(place, os.W_OK, effective_ids=True) for place in places)


@contextmanager
def one_still_moment(folder: Path, parts: tuple[Part, ...]) -> Iterator[dict[Part, sqlite3.Connection]]:
    """Connections that all see the same moment; `StoreError` at the end if someone who can has written meanwhile."""
    before = _marks(folder, parts)
    with ExitStack() as stack:
        connections = {part: stack.enter_context(closing(_open(folder, part))) for part in parts}
        for connection in connections.values():
            connection.execute("BEGIN")
            connection.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()
        yield connections
        if _marks(folder, parts) != before:
            raise StoreError(
                f"the store in {folder} was written to meanwhile: try again, or do it as a user who can write to it"
            )


def _open(folder: Path, part: Part) -> sqlite3.Connection:
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


def _marks(folder: Path, parts: Iterable[Part]) -> list[tuple[int, int, int] | None]:
    """What is different about the files as soon as anything was written to them."""
    files = [Path(f"{database_file(folder, part)}{end}") for part in parts for end in ("", "-wal")]
    return [_mark(file) for file in files]


def _mark(file: Path) -> tuple[int, int, int] | None:
    try:
        status = file.stat()
    except FileNotFoundError:
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns
