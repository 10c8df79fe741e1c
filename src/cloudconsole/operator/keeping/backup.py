"""Taking a backup: both databases as they are at one moment, proved whole before it is called done."""

from contextlib import ExitStack, closing
from pathlib import Path

from cloudconsole.operator.errors import OperatorError
from cloudconsole.operator.keeping.outfile import refuse_as_outfile, replacing
from cloudconsole.store.base import PARTS, Part, StoreError
from cloudconsole.store.sqlite.archive import Manifest, describe, write_archive
from cloudconsole.store.sqlite.backup import (
    connect,
    consistent_snapshot,
    copy_to,
    damage,
    is_unwritable,
    read_only_snapshot,
)
from cloudconsole.store.sqlite.engine import database_file
from cloudconsole.store.sqlite.permissions import refuse_danger
from cloudconsole.store.sqlite.store import alone


def back_up(folder: Path, file: Path, *, now: int, force: bool = False) -> Manifest:
    """Write a backup of the store in a folder; an old file stands until the new one is complete."""
    refuse_danger(folder)
    refuse_as_outfile(file)
    if file.exists() and not force:
        raise OperatorError(f"{file} is there already: give another name, or --force to replace it")
    with ExitStack() as held:
        moment = read_only_snapshot if is_unwritable(folder, PARTS) else consistent_snapshot
        # Not while a restore has put back one part and not yet the other.
        with alone(folder, must_write=False):
            connections = held.enter_context(moment(folder, PARTS))
        with replacing(file) as outfile:
            for part, connection in connections.items():
                copy_to(connection, database_file(outfile.folder, part))
            held.close()
            revisions = {part: _sound_revision(outfile.folder, part) for part in PARTS}
            manifest = describe(outfile.folder, revisions, now)
            with outfile.opened() as target:
                write_archive(target, manifest, outfile.folder)
    return manifest


def _sound_revision(folder: Path, part: Part) -> str:
    """The revision of a copy that SQLite finds nothing wrong with."""
    file = database_file(folder, part)
    problem = damage(file, is_still=True)
    if problem is not None:
        raise StoreError(f"the store is damaged, and no backup was made: {part}.db: {problem}; restore a good one")
    with closing(connect(file, is_still=True)) as connection:
        if connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'alembic_version'").fetchone():
            for (revision,) in connection.execute("SELECT version_num FROM alembic_version"):
                return str(revision)
    raise StoreError(f"{part}.db is not a store of Cloud Console: give its folder with --data")
