"""Which stores are of consoles for the desk: their keys and sessions can be foretold, and their times are invented.

The mark is a row among the secrets, so it goes along wherever the store does: into a copy, a backup and a new store
that is made from it.
"""

import fcntl
import os
from pathlib import Path
from typing import Final

from sqlalchemy import Connection, insert, select

from cloudconsole.store.base import DATABASE_NAMES, Store, StoreError, read_only
from cloudconsole.store.sqlite.engine import database_file, opened
from cloudconsole.store.tables import secrets

MARKER: Final = "desk"
LOCK_NAME: Final = "desk.lock"


def is_test_store(folder: Path) -> bool:
    """Whether the store in a folder is a desk's."""
    if not database_file(folder, "activity").is_file():
        return False
    with opened(folder, "activity") as engine, read_only(engine).connect() as connection:
        return has_marker(connection)


def has_marker(connection: Connection) -> bool:
    """The same over a connection to its activity."""
    return connection.scalar(select(secrets.c.name).where(secrets.c.name == MARKER)) is not None


def reject_production_store(folder: Path) -> None:
    """Refuse a store that anyone but a desk made: only one that is not there yet becomes a desk's."""
    if any(database_file(folder, part).exists() for part in DATABASE_NAMES) and not is_test_store(folder):
        raise StoreError(
            f"the store in {folder} is not one of a console for the desk, and stays as it is: "
            "give --data with an empty folder, or leave it out"
        )


def reject_test_store(store: Store) -> None:
    with store.opened("activity") as engine, read_only(engine).connect() as connection:
        is_desks = has_marker(connection)
    if is_desks:
        raise StoreError(
            f"{store} is of a console for the desk, whose sessions and keys can be foretold: "
            "give --data with another folder"
        )


def mark_test_store(folder: Path) -> None:
    with opened(folder, "activity") as engine, engine.begin() as connection:
        if not has_marker(connection):
            connection.execute(insert(secrets).values(name=MARKER, value=b""))


def hold_until_exit(folder: Path) -> None:
    """Keep other consoles for the desk from a folder until this process, with all that it starts, has ended."""
    handle = os.open(folder / LOCK_NAME, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, mode=0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(handle)
        raise StoreError(
            f"another console for the desk serves the store in {folder}: give --data with another folder"
        ) from None
