"""What keeps this user from the data folder: whoever may not look into it or write to it can say nothing of a store."""

import os
from pathlib import Path

from cloudconsole.server.doctor.findings import Case, Finding, problem
from cloudconsole.server.doctor.shell import as_user, shell
from cloudconsole.store.sqlite.permissions import user_named


def obstacle_of(case: Case) -> Finding | None:
    """None also where there is no such folder: that is another finding."""
    folder = case.settings.data
    for place in reversed([folder.resolve(), *folder.resolve().parents]):
        if not place.is_dir():
            return None
        if not os.access(place, os.X_OK):
            owner = _owner(place)
            text = f"this user may not look into {place}, which belongs to {owner}"
            return problem(text, *_opening(case, place, 0o700))
    if os.access(folder, os.R_OK | os.W_OK):
        return None
    if os.statvfs(folder).f_flag & os.ST_RDONLY:
        return problem(
            f"{folder} is on a file system that is read-only, and no store can be used there",
            "mount it for writing, or move the folder to another file system",
        )
    return _closed(case, folder, 0o700)


def obstacle_at(case: Case, database: Path) -> Finding | None:
    """The same for a database and the files beside it."""
    for file in files_of(database):
        if not os.access(file, os.R_OK | os.W_OK):
            return _closed(case, file, 0o600)
    return None


def files_of(database: Path) -> list[Path]:
    """A database's file and those that SQLite keeps beside it, as far as they are there."""
    return [file for end in ("", "-wal", "-shm") if (file := Path(f"{database}{end}")).is_file()]


def _closed(case: Case, place: Path, mode: int) -> Finding:
    lacks = "written to" if os.access(place, os.R_OK) else "read"
    text = f"{place}, which belongs to {_owner(place)}, cannot be {lacks} by this user"
    return problem(text, *_opening(case, place, mode))


def _opening(case: Case, place: Path, mode: int) -> tuple[str, str]:
    """Return the advice, in words and as a command."""
    owner = place.stat().st_uid
    if owner == os.geteuid():
        return "open it to its owner", shell("chmod", f"{mode:o}", place)
    return f"run doctor as {_owner(place)}", as_user(owner, *case.words("doctor"))


def _owner(place: Path) -> str:
    return user_named(place.stat().st_uid)
