"""What keeps this user from the data folder: whoever may not look into it or write to it can say nothing of a store."""

import os
from pathlib import Path

from cloudconsole.server.doctor.findings import Finding, problem
from cloudconsole.store.sqlite.folders import user_named


def obstacle_of(folder: Path) -> Finding | None:
    """None also where there is no such folder: that is another finding."""
    for place in reversed([folder.resolve(), *folder.resolve().parents]):
        if not place.is_dir():
            return None
        if not os.access(place, os.X_OK):
            owner = _owner(place)
            return problem(f"this user may not look into {place}, which belongs to {owner}", _opening(place, 0o700))
    if os.access(folder, os.R_OK | os.W_OK):
        return None
    if os.statvfs(folder).f_flag & os.ST_RDONLY:
        return problem(
            f"{folder} is on a file system that is read-only, and no store can be used there",
            "mount it for writing, or move the folder to another file system",
        )
    return _closed(folder, 0o700)


def obstacle_at(database: Path) -> Finding | None:
    """The same for a database and the files beside it."""
    for file in files_of(database):
        if not os.access(file, os.R_OK | os.W_OK):
            return _closed(file, 0o600)
    return None


def files_of(database: Path) -> list[Path]:
    """A database's file and those that SQLite keeps beside it, as far as they are there."""
    return [file for end in ("", "-wal", "-shm") if (file := Path(f"{database}{end}")).is_file()]


def _closed(place: Path, mode: int) -> Finding:
    lacks = "written to" if os.access(place, os.R_OK) else "read"
    return problem(f"{place}, which belongs to {_owner(place)}, cannot be {lacks} by this user", _opening(place, mode))


def _opening(place: Path, mode: int) -> str:
    is_ours = place.stat().st_uid == os.geteuid()
    return f"chmod {mode:o} {place}" if is_ours else f"run doctor as {_owner(place)}"


def _owner(place: Path) -> str:
    return user_named(place.stat().st_uid)
