"""Restoring a backup: proved and brought up to date apart, then made the store's content in one step for each part."""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import tzinfo
from pathlib import Path
from typing import NamedTuple

from sqlalchemy import Table, delete, func, insert, select

from cloudconsole.operator.audit import RESTORE, note
from cloudconsole.operator.desk import at_desk
from cloudconsole.operator.errors import OperatorError
from cloudconsole.store.base import PARTS, Part, StoreError, reading
from cloudconsole.store.migrations import current_revision, known_revisions, migrate, refuse_newer
from cloudconsole.store.sqlite.archive import Manifest, read_archive
from cloudconsole.store.sqlite.backup import add_missing, damage, put_into, temporary_directory
from cloudconsole.store.sqlite.engine import database_file, opened
from cloudconsole.store.sqlite.integrity import odd_parts
from cloudconsole.store.sqlite.permissions import refuse_danger, refuse_open_to_all
from cloudconsole.store.sqlite.store import alone, prepare
from cloudconsole.store.sqlite.test_marker import is_marked
from cloudconsole.store.tables import access_audit, accounts, operator_audit, resources, secrets, sessions, tenants


class Staged(NamedTuple):
    """A backup taken apart, found good and brought up to date; nothing else has been touched."""

    folder: Path
    name: str
    manifest: Manifest
    holds: dict[str, int]
    """How many tenants, accounts and resources."""


@contextmanager
def staged(file: Path, beside: Path) -> Iterator[Staged]:
    """A backup made ready in a folder of its own, which is gone afterwards."""
    if not file.is_file():
        raise OperatorError(f"{file} cannot be read: there is no such file")
    if beside.is_dir():
        refuse_danger(beside)
    place = _existing(beside)
    refuse_open_to_all(place)
    with temporary_directory(place, "restore") as folder:
        manifest = read_archive(file, folder)
        for part in PARTS:
            _prove(file, folder, part, manifest.files[part].revision)
            with opened(folder, part) as engine:
                migrate(engine, {part})
        with opened(folder, "cloud") as engine, reading(engine).connect() as connection:
            counted = {
                table.name: connection.scalar(select(func.count()).select_from(table)) or 0
                for table in (tenants, accounts, resources)
            }
        yield Staged(folder, file.name, manifest, counted)


def _prove(file: Path, folder: Path, part: Part, revision: str) -> None:
    """Refuse a database that is not one of ours, before anything in it is believed or evaluated."""
    database = database_file(folder, part)
    if revision not in known_revisions():
        raise StoreError(f"{file} was made by a newer Cloud Console (revision {revision}): install that version")
    try:
        odd = odd_parts(database, part, revision)
        problem: object = None if odd else damage(database)
    except sqlite3.Error as unreadable:
        odd, problem = [], unreadable
    if odd:
        raise StoreError(f"{file} is not as Cloud Console makes a backup: {', '.join(odd[:3])} in {part}.db")
    if problem is not None:
        raise StoreError(f"{file} is damaged: {part}.db: {problem}; take another backup")
    with opened(folder, part) as engine:
        if current_revision(engine) != revision:
            raise StoreError(f"{file} is not as Cloud Console makes a backup: {part}.db is not of revision {revision}")


def restore(backup: Staged, folder: Path, *, actor: str, now: int, zone: tzinfo, keep_sessions: bool = False) -> int:
    """Make the store in a folder, or a new one where there is none, what the backup holds, but for the trails.

    The activity goes first: should the cloud's turn never come, no session that was ended is alive again. Gives how
    many lines of operators' changes were kept that the backup does not have.
    """
    kept = 0

    def finish_cloud() -> None:
        nonlocal kept
        kept = _keep_trail(backup, folder, "cloud", operator_audit)
        _note_restore(backup, kept, actor=actor, now=now, zone=zone)

    is_new = not any(database_file(folder, part).exists() for part in PARTS)
    try:
        prepare(folder, actor=actor)
        for part in PARTS:
            with opened(folder, part) as engine:
                refuse_newer(engine)
    except StoreError as problem:
        raise StoreError(f"{problem}; restore into an empty folder instead: --to DIR") from problem
    with alone(folder):
        _refuse_desks(backup, folder, is_new=is_new)
        _finish_activity(backup, folder, keep_sessions=keep_sessions, keep_own_secrets=not is_new)
        last_steps: dict[Part, Callable[[], object]] = {
            "activity": lambda: _keep_trail(backup, folder, "activity", access_audit),
            "cloud": finish_cloud,
        }
        for part, last_step in last_steps.items():
            put_into(folder, part, database_file(backup.folder, part), when_still=last_step)
    return kept


def _refuse_desks(backup: Staged, folder: Path, *, is_new: bool) -> None:
    """What a console for the desk wrote stays among such: in a store of its own, or in another desk's."""
    if is_marked(backup.folder) and not (is_new or is_marked(folder)):
        raise OperatorError(
            f"{backup.name} is of a console for the desk, and that in {folder} is not: "
            "restore it into an empty folder instead: --to DIR"
        )


def _finish_activity(backup: Staged, folder: Path, *, keep_sessions: bool, keep_own_secrets: bool) -> None:
    with opened(backup.folder, "activity") as staged_engine, staged_engine.begin() as connection:
        if not keep_sessions:
            connection.execute(delete(sessions))
        if keep_own_secrets:
            # Serving workers hold the store's own key: with the backup's they and later ones would not agree.
            with opened(folder, "activity") as engine, reading(engine).connect() as live:
                own = [dict(row) for row in live.execute(select(secrets)).mappings()]
            if own:
                connection.execute(delete(secrets).where(secrets.c.name.in_([row["name"] for row in own])))
                connection.execute(insert(secrets), own)


def _keep_trail(backup: Staged, folder: Path, part: Part, trail: Table) -> int:
    """Who did what since the backup stays known, though it is undone: add those lines to what is put back."""
    columns = [column.name for column in trail.columns if not column.primary_key]
    return add_missing(database_file(backup.folder, part), database_file(folder, part), trail.name, columns)


def _note_restore(backup: Staged, kept: int, *, actor: str, now: int, zone: tzinfo) -> None:
    """The line in the trail is part of what is put back, so there is no restore without it."""
    after = {"made_at": backup.manifest.made_at, **backup.holds, "lines_kept": kept}
    with opened(backup.folder, "cloud") as engine, at_desk(engine, actor=actor, now=now, zone=zone) as desk:
        note(desk, RESTORE, backup.name, None, after)


def _existing(folder: Path) -> Path:
    """The folder, or the nearest one around it that is there."""
    folder = folder.absolute()
    return next(place for place in (folder, *folder.parents) if place.is_dir())
