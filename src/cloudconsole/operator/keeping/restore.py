"""Restoring a backup: proved and brought up to date apart, then made the store's content in one step for each part."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import tzinfo
from pathlib import Path
from typing import NamedTuple

from sqlalchemy import delete, func, insert, select

from cloudconsole.operator.audit import note
from cloudconsole.operator.desk import at_desk
from cloudconsole.operator.errors import OperatorError
from cloudconsole.store.archive import Manifest, read_archive
from cloudconsole.store.copying import damage, put_into
from cloudconsole.store.engine import PARTS, StoreError, database_file, opened, reading
from cloudconsole.store.migrations import migrate
from cloudconsole.store.preparing import alone, prepare
from cloudconsole.store.tables import accounts, resources, secrets, sessions, tenants


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
    with tempfile.TemporaryDirectory(prefix=".restore-", dir=_existing(beside)) as nearby:
        folder = Path(nearby)
        manifest = read_archive(file, folder)
        for part in PARTS:
            problem = damage(database_file(folder, part))
            if problem is not None:
                raise StoreError(f"{file} is damaged: {part}.db: {problem}; take another backup")
            with opened(folder, part) as engine:
                migrate(engine, {part})
        with opened(folder, "cloud") as engine, reading(engine).connect() as connection:
            counted = {
                table.name: connection.scalar(select(func.count()).select_from(table)) or 0
                for table in (tenants, accounts, resources)
            }
        yield Staged(folder, file.name, manifest, counted)


def restore(backup: Staged, folder: Path, *, actor: str, now: int, zone: tzinfo, keep_sessions: bool = False) -> None:
    """Make the store in a folder, or a new one where there is none, what the backup holds.

    The activity goes first: should the cloud's turn never come, no session that was ended is alive again.
    """
    is_new = not any(database_file(folder, part).exists() for part in PARTS)
    try:
        prepare(folder)
    except StoreError as problem:
        raise StoreError(f"{problem}; restore into an empty folder instead: --to DIR") from problem
    with alone(folder):
        _finish_activity(backup, folder, keep_sessions=keep_sessions, keep_own_secrets=not is_new)
        _finish_cloud(backup, actor=actor, now=now, zone=zone)
        for part in reversed(PARTS):
            put_into(folder, part, database_file(backup.folder, part))


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


def _finish_cloud(backup: Staged, *, actor: str, now: int, zone: tzinfo) -> None:
    """The line in the trail is part of what is put back, so there is no restore without it."""
    with opened(backup.folder, "cloud") as engine, at_desk(engine, actor=actor, now=now, zone=zone) as desk:
        note(desk, "restore", backup.name, None, {"made_at": backup.manifest.made_at, **backup.holds})


def _existing(folder: Path) -> Path:
    """The folder, or the nearest one around it that is there."""
    folder = folder.absolute()
    return next(place for place in (folder, *folder.parents) if place.is_dir())
