"""Marker of stores created in test mode, whose keys and sessions are predictable.

The marker is a row in `secrets`, so that copies, backups and restored stores have it too.
"""

import fcntl
import os
from pathlib import Path
from typing import Final

from sqlalchemy import Connection, insert, select

from cloudconsole.store.base import DATABASE_NAMES, Store, StoreError, read_only_engine
from cloudconsole.store.sqlite.engine import database_file, opened
from cloudconsole.store.tables import secrets

MARKER: Final = "test-store"
LOCK_NAME: Final = "test-store.lock"


def is_test_store(folder: Path) -> bool:
    """Return whether the directory contains a test store."""
    if not database_file(folder, "activity").is_file():
        return False
    with opened(folder, "activity") as engine, read_only_engine(engine).connect() as connection:
        return has_marker(connection)


def has_marker(connection: Connection) -> bool:
    """Return whether the activity database has the marker."""
    return connection.scalar(select(secrets.c.name).where(secrets.c.name == MARKER)) is not None


def reject_production_store(folder: Path) -> None:
    """Reject an existing store that was not created in test mode."""
    if any(database_file(folder, part).exists() for part in DATABASE_NAMES) and not is_test_store(folder):
        raise StoreError(
            f"the store in {folder} is not a test store and was not changed: "
            "pass --data with an empty directory, or omit it"
        )


def reject_test_store(store: Store) -> None:
    with store.opened("activity") as engine, read_only_engine(engine).connect() as connection:
        is_test = has_marker(connection)
    if is_test:
        raise StoreError(
            f"{store} is a test store, whose sessions and keys are predictable: pass --data with another directory",
            f"{store.chinese} 是测试用的，其会话和密钥可被预测：请用 --data 指定其他目录",
        )


def mark_test_store(folder: Path) -> None:
    with opened(folder, "activity") as engine, engine.begin() as connection:
        if not has_marker(connection):
            connection.execute(insert(secrets).values(name=MARKER, value=b""))


def hold_until_exit(folder: Path) -> None:
    """Lock out other test servers until this process and its children have ended."""
    handle = os.open(folder / LOCK_NAME, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, mode=0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(handle)
        raise StoreError(
            f"another test server uses the store in {folder}: pass --data with another directory"
        ) from None
