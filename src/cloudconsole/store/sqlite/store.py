"""The embedded store: SQLite databases in a data directory, created, migrated and locked while they are served."""

import errno
import fcntl
import logging
import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import Final

from sqlalchemy import Engine
from sqlalchemy.exc import DBAPIError

from cloudconsole.store.base import DATABASE_NAMES, DatabaseName, StoreError
from cloudconsole.store.migrations import current_revision, is_usable, migrate
from cloudconsole.store.sqlite.engine import database_file, open_engine, opened
from cloudconsole.store.sqlite.permissions import reject_unsafe_permissions
from cloudconsole.store.sqlite.reader import SqliteReader
from cloudconsole.store.sqlite.temporary_directories import remove_stale_directories
from cloudconsole.store.sqlite.test_marker import mark_test_store, reject_production_store

_UNWRITABLE: Final = (errno.EROFS, errno.EACCES, errno.EPERM)


def prepare(folder: Path, *, test_mode: bool = False, actor: str | None = None) -> None:
    """Create the store if needed and migrate its tables; safe to run concurrently.

    With `test_mode`, an existing store must be a test store, and a new one is marked as such. With an
    `actor`, a migration is logged and audited.
    """
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        reject_unsafe_permissions(folder)
        remove_stale_directories(folder)
        with exclusive_lock(folder):
            if test_mode:
                reject_production_store(folder)
            for part in DATABASE_NAMES:
                database_file(folder, part).touch(mode=0o600)
                with opened(folder, part) as engine:
                    migrate(engine, {part}, actor=actor)
            if test_mode:
                mark_test_store(folder)
    except OSError as problem:
        raise StoreError(
            f"the data directory {folder} cannot be used: {problem.strerror}",
            f"数据目录 {folder} 无法使用：{problem.strerror}",
        ) from problem
    except DBAPIError as problem:
        raise StoreError(
            f"the data directory {folder} cannot be used: {problem.orig}", f"数据目录 {folder} 无法使用：{problem.orig}"
        ) from problem


def require_current(folder: Path, part: DatabaseName) -> None:
    """Reject tables that this program cannot serve; reading never migrates."""
    reject_unsafe_permissions(folder)
    file = database_file(folder, part)
    if not file.is_file():
        raise StoreError(
            f"there is no {file}: restore a backup, or start cloudconsole serve, which creates it",
            f"没有 {file}：请恢复备份，或启动 cloudconsole serve 以创建",
        )
    with opened(folder, part) as engine:
        if is_usable(engine):
            return
        revision = current_revision(engine)
    if revision is None:
        raise StoreError(
            f"{file} does not belong to a Cloud Console store: pass a store's directory with --data",
            f"{file} 不属于 Cloud Console 的数据存储：请用 --data 指定数据存储的目录",
        )
    raise StoreError(
        f"the store in {folder} was created by an older Cloud Console (revision {revision}): "
        "take a backup, then restart cloudconsole serve, which migrates it",
        f"{folder} 中的数据存储由旧版本的 Cloud Console（版本 {revision}）创建："
        "请先备份，再重启 cloudconsole serve 进行迁移",
    )


@contextmanager
def exclusive_lock(folder: Path, *, must_write: bool = True) -> Iterator[None]:
    """Hold the store's lock, which serialises creation, migration and restore.

    Without `must_write`, a read-only lock file is opened for reading, and one that cannot be created is skipped.
    """
    with ExitStack() as stack:
        handle = _open_lock(folder / "lock", must_write=must_write)
        if handle is not None:
            stack.callback(os.close, handle)
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def _open_lock(file: Path, *, must_write: bool) -> int | None:
    try:
        return os.open(file, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, mode=0o600)
    except OSError as problem:
        if must_write or problem.errno not in _UNWRITABLE:
            raise
    try:
        return os.open(file, os.O_RDONLY | os.O_NOFOLLOW)
    except (FileNotFoundError, PermissionError):
        return None


class SqliteStore:
    replication_wait_seconds: Final = 0.0
    """Every request detects commits at once."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __str__(self) -> str:
        return f"the store in {self.folder}"

    @property
    def chinese(self) -> str:
        return f"{self.folder} 中的数据存储"

    @property
    def location(self) -> str:
        return str(self.folder.resolve())

    def open_engine(self, part: DatabaseName) -> Engine:
        return open_engine(self.folder, part)

    def opened(self, part: DatabaseName) -> AbstractContextManager[Engine]:
        return opened(self.folder, part)

    def reader(self) -> SqliteReader:
        return SqliteReader(self.folder)

    def exists(self) -> bool:
        return database_file(self.folder, "cloud").exists()

    def migrate(self, actor: str | None = None) -> None:
        prepare(self.folder, actor=actor)

    def prepare(self, actor: str | None = None) -> None:
        self.migrate(actor)

    def require_current(self, part: DatabaseName) -> None:
        require_current(self.folder, part)


log = logging.getLogger(__name__)

_UNSUPPORTED: Final = (errno.ENOLCK, errno.EOPNOTSUPP, errno.EBADF, errno.EINVAL)
"""Errors of file systems without such locks."""


def hold_serving_lock(folder: Path) -> None:
    """Hold the lock until this process and all its workers have ended, even by a crash."""
    try:
        fcntl.flock(os.open(folder, os.O_RDONLY | os.O_DIRECTORY), fcntl.LOCK_SH)
    except OSError as problem:
        if problem.errno not in _UNSUPPORTED:
            raise
        log.warning("copy-to cannot detect that %s is being served: its file system does not support locks", folder)


def is_served(folder: Path) -> bool:
    """Return whether a process serves the store, or whether that cannot be determined."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as problem:
        if isinstance(problem, BlockingIOError) or problem.errno in _UNSUPPORTED:
            return True
        raise
    finally:
        os.close(handle)
    return False
