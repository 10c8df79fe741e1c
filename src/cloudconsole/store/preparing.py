"""Making the embedded store where there is none, and bringing its tables up to date."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy.exc import DBAPIError

from cloudconsole.store.engine import PARTS, StoreError, database_file, opened
from cloudconsole.store.migrations import migrate


def prepare(folder: Path) -> None:
    """Make the store if there is none and bring its tables up to date; safe when several start at once."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with alone(folder):
            for part in PARTS:
                database_file(folder, part).touch(mode=0o600)
                with opened(folder, part) as engine:
                    migrate(engine, {part})
    except OSError as problem:
        raise StoreError(f"the data folder {folder} cannot be used: {problem.strerror}") from problem
    except DBAPIError as problem:
        raise StoreError(f"the data folder {folder} cannot be used: {problem.orig}") from problem


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Holds the folder's lock: nobody else makes, migrates or restores the store."""
    handle = os.open(folder / "lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, mode=0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
