"""Taking a backup: both databases as they are at one moment, proved whole before it is called done."""

import os
import tempfile
from contextlib import ExitStack
from pathlib import Path

from cloudconsole.operator.errors import OperatorError
from cloudconsole.store.archive import Manifest, describe, write_archive
from cloudconsole.store.copying import copy_to, damage, one_moment
from cloudconsole.store.engine import PARTS, Part, StoreError, database_file, opened
from cloudconsole.store.migrations import current_revision
from cloudconsole.store.preparing import alone


def back_up(folder: Path, file: Path, *, now: int, force: bool = False) -> Manifest:
    """Write a backup of the store in a folder; an old file stands until the new one is complete."""
    if file.exists() and not file.is_file():
        raise OperatorError(f"{file} is not a file: give the name of a file to write")
    if file.exists() and not force:
        raise OperatorError(f"{file} is there already: give another name, or --force to replace it")
    file = file.resolve()
    with tempfile.TemporaryDirectory(prefix=f".{file.name}.", dir=file.parent) as nearby:
        copies = Path(nearby)
        with ExitStack() as held:
            # Not while a restore has put back one part and not yet the other.
            with alone(folder):
                connections = held.enter_context(one_moment(folder, PARTS))
            for part, connection in connections.items():
                copy_to(connection, database_file(copies, part))
        manifest = describe(copies, {part: _sound_revision(copies, part) for part in PARTS}, now)
        complete = copies / "backup"
        descriptor = os.open(complete, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as target:
            write_archive(target, manifest, copies)
            target.flush()
            os.fsync(target.fileno())
        complete.replace(file)
    return manifest


def _sound_revision(folder: Path, part: Part) -> str:
    """The revision of a copy that SQLite finds nothing wrong with."""
    problem = damage(database_file(folder, part))
    if problem is not None:
        raise StoreError(f"the store is damaged, and no backup was made: {part}.db: {problem}; restore a good one")
    with opened(folder, part) as engine:
        revision = current_revision(engine)
    if revision is None:
        raise StoreError(f"{part}.db is not a store of Cloud Console: give its folder with --data")
    return revision
