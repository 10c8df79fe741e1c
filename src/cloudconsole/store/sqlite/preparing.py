"""Making the embedded store where there is none, and bringing its tables up to date; or only asking for that."""

import errno
import fcntl
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

from sqlalchemy.exc import DBAPIError

from cloudconsole.store.engine import PARTS, Part, StoreError
from cloudconsole.store.migrations import current_revision, is_usable, migrate
from cloudconsole.store.sqlite.desk_mark import mark, refuse_unless_desks
from cloudconsole.store.sqlite.engine import database_file, opened
from cloudconsole.store.sqlite.folders import refuse_danger
from cloudconsole.store.sqlite.scratch import clear_left

_UNWRITABLE: Final = (errno.EROFS, errno.EACCES, errno.EPERM)


def prepare(folder: Path, *, for_desk: bool = False, actor: str | None = None) -> None:
    """Make the store if there is none and bring its tables up to date; safe when several start at once.

    For a desk, one that is there must be a desk's already; a new one becomes it. With an
    `actor`, a migration is logged and audited.
    """
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        refuse_danger(folder)
        clear_left(folder)
        with alone(folder):
            if for_desk:
                refuse_unless_desks(folder)
            for part in PARTS:
                database_file(folder, part).touch(mode=0o600)
                with opened(folder, part) as engine:
                    migrate(engine, {part}, actor=actor)
            if for_desk:
                mark(folder)
    except OSError as problem:
        raise StoreError(f"the data folder {folder} cannot be used: {problem.strerror}") from problem
    except DBAPIError as problem:
        raise StoreError(f"the data folder {folder} cannot be used: {problem.orig}") from problem


def require_current(folder: Path, part: Part) -> None:
    """Refuse to read tables that this program cannot serve: reading changes nothing, so it does not migrate either."""
    refuse_danger(folder)
    file = database_file(folder, part)
    if not file.is_file():
        raise StoreError(f"there is no {file}: restore a backup, or start cloudconsole serve, which makes it anew")
    with opened(folder, part) as engine:
        if is_usable(engine):
            return
        revision = current_revision(engine)
    if revision is None:
        raise StoreError(f"{file} is not of a store of Cloud Console: give a store's folder with --data")
    raise StoreError(
        f"the store in {folder} is of an older Cloud Console (revision {revision}): "
        "take a backup, then start cloudconsole serve anew, which brings it up to date"
    )


@contextmanager
def alone(folder: Path, *, must_write: bool = True) -> Iterator[None]:
    """Holds the folder's lock: nobody else makes, migrates or restores the store.

    Unless one `must_write`, a lock that cannot be written to is held for reading, and one that cannot be made is not.
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
