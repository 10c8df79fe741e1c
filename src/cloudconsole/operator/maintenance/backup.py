"""Backup and restore of an embedded store; safe output files."""

import os
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from datetime import tzinfo
from pathlib import Path
from typing import IO, NamedTuple

from sqlalchemy import Table, delete, func, insert, select

from cloudconsole.operator.audit import RESTORE, record_change
from cloudconsole.operator.errors import OperatorError
from cloudconsole.operator.messages import Message
from cloudconsole.operator.transaction import operator_transaction
from cloudconsole.store.base import DATABASE_NAMES, DatabaseName, StoreError, read_only_engine
from cloudconsole.store.migrations import current_revision, known_revisions, migrate, reject_newer
from cloudconsole.store.sqlite.archive import Manifest, describe, read_archive, write_archive
from cloudconsole.store.sqlite.backup import (
    consistent_snapshot,
    copy_to,
    find_corruption,
    insert_missing_rows,
    is_read_only,
    overwrite_database,
    read_only_snapshot,
)
from cloudconsole.store.sqlite.engine import connect, database_file, opened
from cloudconsole.store.sqlite.permissions import reject_unsafe_permissions, reject_world_writable
from cloudconsole.store.sqlite.schema_tampering import unexpected_schema_parts
from cloudconsole.store.sqlite.store import exclusive_lock, prepare
from cloudconsole.store.sqlite.temporary_directories import temporary_directory
from cloudconsole.store.sqlite.test_marker import is_test_store
from cloudconsole.store.tables import access_audit, accounts, operator_audit, resources, secrets, sessions, tenants


class StagedRestore(NamedTuple):
    """An unpacked, verified and migrated backup, before the store is touched."""

    folder: Path
    name: str
    manifest: Manifest
    row_counts: dict[str, int]
    """The number of tenants, accounts and resources."""


@contextmanager
def stage_restore(file: Path, beside: Path) -> Iterator[StagedRestore]:
    """Unpack and verify a backup in a temporary directory."""
    if not file.is_file():
        raise OperatorError(Message("{file} cannot be read: no such file", "无法读取 {file}：没有此文件", file=file))
    if beside.is_dir():
        reject_unsafe_permissions(beside)
    parent = _existing(beside)
    reject_world_writable(parent)
    with temporary_directory(parent, "restore") as folder:
        manifest = read_archive(file, folder)
        for part in DATABASE_NAMES:
            _verify(file, folder, part, manifest.files[part].revision)
            with opened(folder, part) as engine:
                migrate(engine, {part})
        with opened(folder, "cloud") as engine, read_only_engine(engine).connect() as connection:
            counted = {
                table.name: connection.scalar(select(func.count()).select_from(table)) or 0
                for table in (tenants, accounts, resources)
            }
        yield StagedRestore(folder, file.name, manifest, counted)


def _verify(file: Path, folder: Path, part: DatabaseName, revision: str) -> None:
    """Reject a database with an unknown schema before running any query that its content could influence."""
    database = database_file(folder, part)
    if revision not in known_revisions():
        raise StoreError(
            f"{file} was created by a newer Cloud Console (revision {revision}): install that version",
            f"{file} 由更新版本的 Cloud Console（版本 {revision}）创建：请安装该版本",
        )
    try:
        unexpected = unexpected_schema_parts(database, part, revision)
        problem: object = None if unexpected else find_corruption(database)
    except sqlite3.Error as unreadable:
        unexpected, problem = [], unreadable
    if unexpected:
        raise StoreError(
            f"{file} is not a valid Cloud Console backup: unexpected {', '.join(unexpected[:3])} in {part}.db",
            f"{file} 不是有效的 Cloud Console 备份：{part}.db 中有意外的 {', '.join(unexpected[:3])}",
        )
    if problem is not None:
        raise StoreError(
            f"{file} is damaged: {part}.db: {problem}; take another backup",
            f"{file} 已损坏：{part}.db：{problem}；请重新备份",
        )
    with opened(folder, part) as engine:
        if current_revision(engine) != revision:
            raise StoreError(
                f"{file} is not a valid Cloud Console backup: {part}.db does not have revision {revision}",
                f"{file} 不是有效的 Cloud Console 备份：{part}.db 的版本不是 {revision}",
            )


def restore(
    backup: StagedRestore, folder: Path, *, actor: str, now: int, zone: tzinfo, keep_sessions: bool = False
) -> int:
    """Restore the backup into the store in `folder`, creating it if needed, and keep newer audit entries.

    The activity database is restored first: if the restore stops in between, no ended session is valid again. Return
    the number of retained audit entries of changes that the backup lacks.
    """
    retained = 0

    def finish_cloud() -> None:
        nonlocal retained
        retained = _retain_audit_log(backup, folder, "cloud", operator_audit)
        _record_restore(backup, retained, actor=actor, now=now, zone=zone)

    is_new = not any(database_file(folder, part).exists() for part in DATABASE_NAMES)
    try:
        prepare(folder, actor=actor)
        for part in DATABASE_NAMES:
            with opened(folder, part) as engine:
                reject_newer(engine)
    except StoreError as problem:
        raise StoreError(
            f"{problem}; restore into an empty directory instead: --to DIR",
            f"{problem.chinese}；请改为恢复到空目录：--to DIR",
        ) from problem
    with exclusive_lock(folder):
        _reject_test_backup(backup, folder, is_new=is_new)
        _finish_activity(backup, folder, keep_sessions=keep_sessions, keep_own_secrets=not is_new)
        last_steps: dict[DatabaseName, Callable[[], object]] = {
            "activity": lambda: _retain_audit_log(backup, folder, "activity", access_audit),
            "cloud": finish_cloud,
        }
        for part, last_step in last_steps.items():
            overwrite_database(folder, part, database_file(backup.folder, part), when_locked=last_step)
    return retained


def _reject_test_backup(backup: StagedRestore, folder: Path, *, is_new: bool) -> None:
    """Allow a backup of a test store only in a new store or another test store."""
    if is_test_store(backup.folder) and not (is_new or is_test_store(folder)):
        raise OperatorError(
            Message(
                "{file} is a backup of a test store, and {directory} is not a test store: restore it into an empty "
                "directory instead: --to DIR",
                "{file} 是测试用数据存储的备份，而 {directory} 不是测试用数据存储：请改为恢复到空目录：--to DIR",
                file=backup.name,
                directory=folder,
            )
        )


def _finish_activity(backup: StagedRestore, folder: Path, *, keep_sessions: bool, keep_own_secrets: bool) -> None:
    with opened(backup.folder, "activity") as staged_engine, staged_engine.begin() as connection:
        if not keep_sessions:
            connection.execute(delete(sessions))
        if keep_own_secrets:
            # Running workers hold the store's key: with the backup's key, new workers would disagree with them.
            with opened(folder, "activity") as engine, read_only_engine(engine).connect() as live:
                own = [dict(row) for row in live.execute(select(secrets)).mappings()]
            if own:
                connection.execute(delete(secrets).where(secrets.c.name.in_([row["name"] for row in own])))
                connection.execute(insert(secrets), own)


def _retain_audit_log(backup: StagedRestore, folder: Path, part: DatabaseName, log: Table) -> int:
    """Add the audit entries since the backup to the staged database, and return their number."""
    columns = [column.name for column in log.columns if not column.primary_key]
    return insert_missing_rows(database_file(backup.folder, part), database_file(folder, part), log.name, columns)


def _record_restore(backup: StagedRestore, retained: int, *, actor: str, now: int, zone: tzinfo) -> None:
    """Record the restore in the staged database, so that there is no restore without an audit entry."""
    after = {"made_at": backup.manifest.made_at, **backup.row_counts, "audit_entries_retained": retained}
    with (
        opened(backup.folder, "cloud") as engine,
        operator_transaction(engine, actor=actor, now=now, zone=zone) as tx,
    ):
        record_change(tx, RESTORE, backup.name, None, after)


def _existing(folder: Path) -> Path:
    """Return the directory or its nearest existing ancestor."""
    folder = folder.absolute()
    return next(each for each in (folder, *folder.parents) if each.is_dir())


def reject_output_file(file: Path) -> None:
    """Reject a path that cannot be written safely.

    Other users with write access to the directory could plant a link to overwrite another file, or a pipe to read.
    """
    try:
        is_link, exists = file.is_symlink(), file.exists()
    except OSError as problem:
        raise _cannot_write(file, problem) from problem
    if is_link:
        raise OperatorError(
            Message(
                "{file} is a symbolic link, which is not followed: choose another name or remove it",
                "{file} 是符号链接，不会写入其目标：请换用其他名称或将其删除",
                file=file,
            )
        )
    if exists and not file.is_file():
        raise OperatorError(
            Message(
                "{file} is not a regular file: choose another name", "{file} 不是普通文件：请换用其他名称", file=file
            )
        )
    if not file.parent.is_dir():
        raise OperatorError(
            Message(
                "{file} cannot be written: there is no directory {directory}: create it first",
                "无法写入 {file}：目录 {directory} 不存在，请先创建",
                file=file,
                directory=file.parent,
            )
        )
    reject_world_writable(file.parent)


@contextmanager
def atomic_output(file: Path) -> Iterator["OutputFile"]:
    """Write a temporary file next to the target and rename it at the end; the old file stays until then.

    A link created there in the meantime is itself replaced.
    """
    reject_output_file(file)
    try:
        with tempfile.TemporaryDirectory(prefix=".cloudconsole-", dir=file.parent) as nearby:
            outfile = OutputFile(Path(nearby))
            yield outfile
            outfile.complete.replace(file)
    except OSError as problem:
        raise _cannot_write(file, problem) from problem


def _cannot_write(file: Path, problem: OSError) -> OperatorError:
    return OperatorError(
        Message("{file} cannot be written: {reason}", "无法写入 {file}：{reason}", file=file, reason=problem.strerror)
    )


class OutputFile:
    """An incomplete file in a private directory."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.complete = folder / "complete"

    @contextmanager
    def opened(self) -> Iterator[IO[bytes]]:
        descriptor = os.open(self.complete, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        with os.fdopen(descriptor, "wb") as target:
            yield target
            target.flush()
            os.fsync(target.fileno())


def write_backup(folder: Path, file: Path, *, now: int, force: bool = False) -> Manifest:
    """Write a backup of the store; an existing file is replaced only when the new one is complete."""
    reject_unsafe_permissions(folder)
    reject_output_file(file)
    if file.exists() and not force:
        raise OperatorError(
            Message(
                "{file} already exists: choose another name, or pass --force to replace it",
                "{file} 已存在：请换用其他名称，或加 --force 覆盖",
                file=file,
            )
        )
    with ExitStack() as held:
        snapshot = read_only_snapshot if is_read_only(folder, DATABASE_NAMES) else consistent_snapshot
        # Wait for a restore that has replaced only one of the databases.
        with exclusive_lock(folder, must_write=False):
            connections = held.enter_context(snapshot(folder, DATABASE_NAMES))
        with atomic_output(file) as outfile:
            for part, connection in connections.items():
                copy_to(connection, database_file(outfile.folder, part))
            held.close()
            revisions = {part: _checked_revision(outfile.folder, part) for part in DATABASE_NAMES}
            manifest = describe(outfile.folder, revisions, now)
            with outfile.opened() as target:
                write_archive(target, manifest, outfile.folder)
    return manifest


def _checked_revision(folder: Path, part: DatabaseName) -> str:
    """Check a copy's integrity and return its revision."""
    file = database_file(folder, part)
    problem = find_corruption(file, is_still=True)
    if problem is not None:
        raise StoreError(
            f"the store is damaged; no backup was written: {part}.db: {problem}; restore a good backup",
            f"数据存储已损坏，未写入备份：{part}.db：{problem}；请恢复完好的备份",
        )
    with closing(connect(file, is_still=True)) as connection:
        if connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'alembic_version'").fetchone():
            for (revision,) in connection.execute("SELECT version_num FROM alembic_version"):
                return str(revision)
    raise StoreError(
        f"{part}.db is not a Cloud Console store: pass its directory with --data",
        f"{part}.db 不是 Cloud Console 的数据存储：请用 --data 指定其目录",
    )
