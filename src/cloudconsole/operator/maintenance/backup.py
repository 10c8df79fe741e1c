"""Backup, restore, safe output files."""

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
from cloudconsole.operator.transaction import operator_transaction
from cloudconsole.store.base import DATABASE_NAMES, DatabaseName, StoreError, read_only
from cloudconsole.store.migrations import current_revision, known_revisions, migrate, reject_newer
from cloudconsole.store.sqlite.archive import Manifest, describe, read_archive, write_archive
from cloudconsole.store.sqlite.backup import (
    connect,
    consistent_snapshot,
    copy_to,
    find_corruption,
    insert_missing_rows,
    is_read_only,
    overwrite_database,
    read_only_snapshot,
    temporary_directory,
)
from cloudconsole.store.sqlite.engine import database_file, opened
from cloudconsole.store.sqlite.integrity import unexpected_schema_parts
from cloudconsole.store.sqlite.permissions import reject_unsafe_permissions, reject_world_writable
from cloudconsole.store.sqlite.store import exclusive_lock, prepare
from cloudconsole.store.sqlite.test_marker import is_test_store
from cloudconsole.store.tables import access_audit, accounts, operator_audit, resources, secrets, sessions, tenants


class StagedRestore(NamedTuple):
    """A backup taken apart, found good and brought up to date; nothing else has been touched."""

    folder: Path
    name: str
    manifest: Manifest
    holds: dict[str, int]
    """How many tenants, accounts and resources."""


@contextmanager
def stage_restore(file: Path, beside: Path) -> Iterator[StagedRestore]:
    """A backup made ready in a folder of its own, which is gone afterwards."""
    if not file.is_file():
        raise OperatorError(f"{file} cannot be read: there is no such file")
    if beside.is_dir():
        reject_unsafe_permissions(beside)
    place = _existing(beside)
    reject_world_writable(place)
    with temporary_directory(place, "restore") as folder:
        manifest = read_archive(file, folder)
        for part in DATABASE_NAMES:
            _prove(file, folder, part, manifest.files[part].revision)
            with opened(folder, part) as engine:
                migrate(engine, {part})
        with opened(folder, "cloud") as engine, read_only(engine).connect() as connection:
            counted = {
                table.name: connection.scalar(select(func.count()).select_from(table)) or 0
                for table in (tenants, accounts, resources)
            }
        yield StagedRestore(folder, file.name, manifest, counted)


def _prove(file: Path, folder: Path, part: DatabaseName, revision: str) -> None:
    """Refuse a database that is not one of ours, before anything in it is believed or evaluated."""
    database = database_file(folder, part)
    if revision not in known_revisions():
        raise StoreError(f"{file} was made by a newer Cloud Console (revision {revision}): install that version")
    try:
        odd = unexpected_schema_parts(database, part, revision)
        problem: object = None if odd else find_corruption(database)
    except sqlite3.Error as unreadable:
        odd, problem = [], unreadable
    if odd:
        raise StoreError(f"{file} is not as Cloud Console makes a backup: {', '.join(odd[:3])} in {part}.db")
    if problem is not None:
        raise StoreError(f"{file} is damaged: {part}.db: {problem}; take another backup")
    with opened(folder, part) as engine:
        if current_revision(engine) != revision:
            raise StoreError(f"{file} is not as Cloud Console makes a backup: {part}.db is not of revision {revision}")


def restore(
    backup: StagedRestore, folder: Path, *, actor: str, now: int, zone: tzinfo, keep_sessions: bool = False
) -> int:
    """Make the store in a folder, or a new one where there is none, what the backup holds, but for the trails.

    The activity goes first: should the cloud's turn never come, no session that was ended is alive again. Gives how
    many lines of operators' changes were kept that the backup does not have.
    """
    kept = 0

    def finish_cloud() -> None:
        nonlocal kept
        kept = _keep_trail(backup, folder, "cloud", operator_audit)
        _note_restore(backup, kept, actor=actor, now=now, zone=zone)

    is_new = not any(database_file(folder, part).exists() for part in DATABASE_NAMES)
    try:
        prepare(folder, actor=actor)
        for part in DATABASE_NAMES:
            with opened(folder, part) as engine:
                reject_newer(engine)
    except StoreError as problem:
        raise StoreError(f"{problem}; restore into an empty folder instead: --to DIR") from problem
    with exclusive_lock(folder):
        _refuse_desks(backup, folder, is_new=is_new)
        _finish_activity(backup, folder, keep_sessions=keep_sessions, keep_own_secrets=not is_new)
        last_steps: dict[DatabaseName, Callable[[], object]] = {
            "activity": lambda: _keep_trail(backup, folder, "activity", access_audit),
            "cloud": finish_cloud,
        }
        for part, last_step in last_steps.items():
            overwrite_database(folder, part, database_file(backup.folder, part), when_still=last_step)
    return kept


def _refuse_desks(backup: StagedRestore, folder: Path, *, is_new: bool) -> None:
    """What a console for the desk wrote stays among such: in a store of its own, or in another desk's."""
    if is_test_store(backup.folder) and not (is_new or is_test_store(folder)):
        raise OperatorError(
            f"{backup.name} is of a console for the desk, and that in {folder} is not: "
            "restore it into an empty folder instead: --to DIR"
        )


def _finish_activity(backup: StagedRestore, folder: Path, *, keep_sessions: bool, keep_own_secrets: bool) -> None:
    with opened(backup.folder, "activity") as staged_engine, staged_engine.begin() as connection:
        if not keep_sessions:
            connection.execute(delete(sessions))
        if keep_own_secrets:
            # Serving workers hold the store's own key: with the backup's they and later ones would not agree.
            with opened(folder, "activity") as engine, read_only(engine).connect() as live:
                own = [dict(row) for row in live.execute(select(secrets)).mappings()]
            if own:
                connection.execute(delete(secrets).where(secrets.c.name.in_([row["name"] for row in own])))
                connection.execute(insert(secrets), own)


def _keep_trail(backup: StagedRestore, folder: Path, part: DatabaseName, log: Table) -> int:
    """Who did what since the backup stays known, though it is undone: add those lines to what is put back."""
    columns = [column.name for column in log.columns if not column.primary_key]
    return insert_missing_rows(database_file(backup.folder, part), database_file(folder, part), log.name, columns)


def _note_restore(backup: StagedRestore, kept: int, *, actor: str, now: int, zone: tzinfo) -> None:
    """The line in the trail is part of what is put back, so there is no restore without it."""
    after = {"made_at": backup.manifest.made_at, **backup.holds, "lines_kept": kept}
    with (
        opened(backup.folder, "cloud") as engine,
        operator_transaction(engine, actor=actor, now=now, zone=zone) as tx,
    ):
        record_change(tx, RESTORE, backup.name, None, after)


def _existing(folder: Path) -> Path:
    """The folder, or the nearest one around it that is there."""
    folder = folder.absolute()
    return next(place for place in (folder, *folder.parents) if place.is_dir())


def reject_output_file(file: Path) -> None:
    """Refuse a name under which no file can be put safely.

    Who can write to the folder may have left a link there, to let another file be overwritten, or a pipe to listen at.
    """
    try:
        is_link, is_there = file.is_symlink(), file.exists()
    except OSError as problem:
        raise _cannot_write(file, problem) from problem
    if is_link:
        raise OperatorError(f"{file} is a symbolic link, and none is followed: give another name, or remove it")
    if is_there and not file.is_file():
        raise OperatorError(f"{file} is not a file: give the name of a file to write")
    if not file.parent.is_dir():
        raise OperatorError(f"{file} cannot be written: there is no folder {file.parent}: make it first")
    reject_world_writable(file.parent)


@contextmanager
def atomic_output(file: Path) -> Iterator["OutputFile"]:
    """Makes a file beside where it shall be, and puts it there at the end; until then, what was there stands.

    A link that is put there meanwhile is replaced itself.
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
    return OperatorError(f"{file} cannot be written: {problem.strerror}")


class OutputFile:
    """A file in the making, in a folder that only we can look into."""

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
    """Write a backup of the store in a folder; an old file stands until the new one is complete."""
    reject_unsafe_permissions(folder)
    reject_output_file(file)
    if file.exists() and not force:
        raise OperatorError(f"{file} is there already: give another name, or --force to replace it")
    with ExitStack() as held:
        moment = read_only_snapshot if is_read_only(folder, DATABASE_NAMES) else consistent_snapshot
        # Not while a restore has put back one part and not yet the other.
        with exclusive_lock(folder, must_write=False):
            connections = held.enter_context(moment(folder, DATABASE_NAMES))
        with atomic_output(file) as outfile:
            for part, connection in connections.items():
                copy_to(connection, database_file(outfile.folder, part))
            held.close()
            revisions = {part: _sound_revision(outfile.folder, part) for part in DATABASE_NAMES}
            manifest = describe(outfile.folder, revisions, now)
            with outfile.opened() as target:
                write_archive(target, manifest, outfile.folder)
    return manifest


def _sound_revision(folder: Path, part: DatabaseName) -> str:
    """The revision of a copy that SQLite finds nothing wrong with."""
    file = database_file(folder, part)
    problem = find_corruption(file, is_still=True)
    if problem is not None:
        raise StoreError(f"the store is damaged, and no backup was made: {part}.db: {problem}; restore a good one")
    with closing(connect(file, is_still=True)) as connection:
        if connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'alembic_version'").fetchone():
            for (revision,) in connection.execute("SELECT version_num FROM alembic_version"):
                return str(revision)
    raise StoreError(f"{part}.db is not a store of Cloud Console: give its folder with --data")
