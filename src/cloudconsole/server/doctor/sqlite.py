"""Checks of the embedded store's files: data directory, permissions, locks."""

import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from stat import S_IMODE
from typing import Final

from cloudconsole.server.doctor.fix_commands import ROOT, as_root, as_user, shell
from cloudconsole.server.doctor.processes import lock_holders
from cloudconsole.server.doctor.results import DoctorContext, Finding, ok, problem, warning
from cloudconsole.store.base import BUSY_SECONDS, DATABASE_NAMES
from cloudconsole.store.sql import is_lock_error
from cloudconsole.store.sqlite.backup import connect
from cloudconsole.store.sqlite.engine import database_file
from cloudconsole.store.sqlite.permissions import LEAST_FREE, find_unsafe_permissions, user_named


def access_problem(case: DoctorContext) -> Finding | None:
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


def access_problem_at(case: DoctorContext, database: Path) -> Finding | None:
    """The same for a database and the files beside it."""
    for file in files_of(database):
        if not os.access(file, os.R_OK | os.W_OK):
            return _closed(case, file, 0o600)
    return None


def files_of(database: Path) -> list[Path]:
    """A database's file and those that SQLite keeps beside it, as far as they are there."""
    return [file for end in ("", "-wal", "-shm") if (file := Path(f"{database}{end}")).is_file()]


def _closed(case: DoctorContext, place: Path, mode: int) -> Finding:
    lacks = "written to" if os.access(place, os.R_OK) else "read"
    text = f"{place}, which belongs to {_owner(place)}, cannot be {lacks} by this user"
    return problem(text, *_opening(case, place, mode))


def _opening(case: DoctorContext, place: Path, mode: int) -> tuple[str, str]:
    """Return the advice, in words and as a command."""
    owner = place.stat().st_uid
    if owner == os.geteuid():
        return "open it to its owner", shell("chmod", f"{mode:o}", place)
    return f"run doctor as {_owner(place)}", as_user(owner, *case.words("doctor"))


def _owner(place: Path) -> str:
    return user_named(place.stat().st_uid)


LEFT_SECONDS: Final = 3600
"""After this time a restore or a dry run is no longer at work in its folder."""


def check_folder(case: DoctorContext) -> Iterator[Finding]:
    if case.settings.database is not None:
        yield ok("none is needed: the store is in the database")
        return
    folder = case.settings.data
    obstacle = access_problem(case)
    if obstacle is not None:
        yield obstacle
        return
    if not folder.is_dir():
        yield problem(
            f"there is no folder {folder}", "create a store, or give its folder (--data)", case.command("init")
        )
        return
    findings = [*_ownership(case, folder), *_openness(folder), *_free_space(folder), *_leftovers(folder, case.now)]
    yield from findings
    if not findings:
        yield ok(f"{folder.resolve()} is closed to others and has room")


def _ownership(case: DoctorContext, folder: Path) -> Iterator[Finding]:
    danger = find_unsafe_permissions(folder)
    if danger is not None:
        yield problem(danger.text, *_safe_again(case, folder))
    # In a folder of root's, such as a container's volume, the files are of whoever serves.
    owner = folder.stat().st_uid or os.geteuid()
    strangers = [file for file in _files(folder) if file.lstat().st_uid != owner]
    if strangers:
        names = ", ".join(file.name for file in strangers)
        yield problem(
            f"in {folder} another user owns {names}",
            f"give them to {user_named(owner)}, who has the folder",
            # -h: never follow a link that the owner of the folder has put there.
            as_root("chown", "-h", user_named(owner), *strangers),
        )


def _safe_again(case: DoctorContext, folder: Path) -> tuple[str, str]:
    """Return the advice for a folder that must not be used, in words and as a command."""
    owner = folder.stat().st_uid
    if owner in (ROOT, os.geteuid()):
        return "close it to others", shell("chmod", "o-w", folder)
    # A service's folder must stay the service's: only one whose owner has no name is to be taken over.
    command = as_user(owner, *case.words("doctor"))
    if command:
        return f"run doctor as {user_named(owner)}", command
    return "take it over, with its files", as_root("chown", "-R", user_named(os.geteuid()), folder)


def _openness(folder: Path) -> Iterator[Finding]:
    if S_IMODE(folder.stat().st_mode) & 0o077 and find_unsafe_permissions(folder) is None:
        yield warning(f"other users can look into {folder}", "close it to others", shell("chmod", "700", folder))
    for file in _files(folder):
        if S_IMODE(file.stat().st_mode) & 0o077:
            command = "" if file.is_symlink() else shell("chmod", "600", file)
            yield problem(f"other users can open {file}, which holds secrets", "close it to others", command)


def _free_space(folder: Path) -> Iterator[Finding]:
    free = shutil.disk_usage(folder).free
    used = sum(file.stat().st_size for file in _files(folder))
    mend = "make room on its disk, or move the folder to a larger one"
    if free < LEAST_FREE:
        yield problem(f"only {_megabytes(free)} are free for {folder}: soon nobody can log in", mend)
    elif free < 2 * used:
        yield warning(
            f"{_megabytes(free)} are free for a store of {_megabytes(used)}: a restore needs twice that", mend
        )


def _leftovers(folder: Path, now: float) -> Iterator[Finding]:
    for place in sorted([*folder.glob(".restore-*"), *folder.glob(".dry-run-*")]):
        if place.stat().st_mtime < now - LEFT_SECONDS:
            text = f"{place} was left by a command that was killed, with copies of secrets"
            yield warning(text, "remove it", shell("rm", "-r", place))


def _files(folder: Path) -> list[Path]:
    return [file for part in DATABASE_NAMES for file in files_of(database_file(folder, part))]


def _megabytes(size: int) -> str:
    return f"{size / 1024**2:.0f} MB"


LONGEST_SECONDS: float = BUSY_SECONDS
"""As long as the console waits before it answers 503."""


def lock_findings(file: Path) -> Iterator[Finding]:
    """Report a database whose write lock cannot be had in the time that the console waits for it."""
    try:
        with closing(connect(file, timeout=LONGEST_SECONDS)) as connection:
            connection.execute("BEGIN IMMEDIATE")
            connection.execute("ROLLBACK")
    except sqlite3.OperationalError as error:
        if not is_lock_error(error):
            raise
        yield locked(file)


def locked(file: Path) -> Finding:
    holders = lock_holders(files_of(file))
    who = " and ".join(map(str, holders)) or "another process"
    return problem(
        f"{file} is locked by {who}: logins get 503, and no change can be made",
        "see what that does, and end it if it hangs",
        shell("kill", *(holder.pid for holder in holders)) if holders else "",
    )
