"""Checks of the embedded store's files: data directory, permissions, locks."""

import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from stat import S_IMODE
from typing import Final

from cloudconsole.server.doctor.context_and_findings import DoctorContext, Finding, ok, problem, warning
from cloudconsole.server.doctor.fix_commands import ROOT, as_root, as_user, shell
from cloudconsole.server.doctor.processes import lock_holders
from cloudconsole.store.base import BUSY_SECONDS, DATABASE_NAMES
from cloudconsole.store.sql import is_lock_error
from cloudconsole.store.sqlite.engine import connect, database_file
from cloudconsole.store.sqlite.permissions import MIN_FREE, find_unsafe_permissions, user_named


def access_problem(case: DoctorContext) -> Finding | None:
    """Return why the data directory cannot be accessed; None also if it does not exist."""
    data = case.settings.data
    for directory in reversed([data.resolve(), *data.resolve().parents]):
        if not directory.is_dir():
            return None
        if not os.access(directory, os.X_OK):
            text = f"this user cannot access {directory}, which belongs to {_owner(directory)}"
            return problem(text, *_access_fix(case, directory, 0o700))
    if os.access(data, os.R_OK | os.W_OK):
        return None
    if os.statvfs(data).f_flag & os.ST_RDONLY:
        return problem(
            f"{data} is on a read-only file system, where no store can be used",
            "remount it for writing, or move the directory to another file system",
        )
    return _no_access(case, data, 0o700)


def access_problem_at(case: DoctorContext, database: Path) -> Finding | None:
    """Return why a database or its WAL files cannot be accessed."""
    for file in files_of(database):
        if not os.access(file, os.R_OK | os.W_OK):
            return _no_access(case, file, 0o600)
    return None


def files_of(database: Path) -> list[Path]:
    """Return the existing files of a database, including WAL and shared memory."""
    return [file for end in ("", "-wal", "-shm") if (file := Path(f"{database}{end}")).is_file()]


def _no_access(case: DoctorContext, path: Path, mode: int) -> Finding:
    action = "write to" if os.access(path, os.R_OK) else "read"
    text = f"this user cannot {action} {path}, which belongs to {_owner(path)}"
    return problem(text, *_access_fix(case, path, mode))


def _access_fix(case: DoctorContext, path: Path, mode: int) -> tuple[str, str]:
    """Return the fix as text and command."""
    owner = path.stat().st_uid
    if owner == os.geteuid():
        return "grant its owner access", shell("chmod", f"{mode:o}", path)
    return f"run doctor as {_owner(path)}", as_user(owner, *case.words("doctor"))


def _owner(path: Path) -> str:
    return user_named(path.stat().st_uid)


STALE_SECONDS: Final = 3600
"""Age at which a temporary directory of a restore or dry run is abandoned."""


def check_folder(case: DoctorContext) -> Iterator[Finding]:
    if case.settings.database is not None:
        yield ok("not needed: the store is in the database")
        return
    data = case.settings.data
    access = access_problem(case)
    if access is not None:
        yield access
        return
    if not data.is_dir():
        yield problem(f"no directory {data}", "create a store, or pass its directory (--data)", case.command("init"))
        return
    findings = [*_ownership(case, data), *_permissions(data), *_free_space(data), *_leftovers(data, case.now)]
    yield from findings
    if not findings:
        yield ok(f"{data.resolve()} is private and has enough free space")


def _ownership(case: DoctorContext, data: Path) -> Iterator[Finding]:
    danger = find_unsafe_permissions(data)
    if danger is not None:
        yield problem(danger.text, *_unsafe_fix(case, data))
    # In a directory of root, such as a container volume, the files belong to the serving user.
    owner = data.stat().st_uid or os.geteuid()
    foreign = [file for file in _files(data) if file.lstat().st_uid != owner]
    if foreign:
        names = ", ".join(file.name for file in foreign)
        yield problem(
            f"in {data} another user owns {names}",
            f"change their owner to {user_named(owner)}, who owns the directory",
            # -h: never follow a link that the owner of the directory has put there.
            as_root("chown", "-h", user_named(owner), *foreign),
        )


def _unsafe_fix(case: DoctorContext, data: Path) -> tuple[str, str]:
    """Return the fix for a data directory with unsafe permissions, as text and command."""
    owner = data.stat().st_uid
    if owner in (ROOT, os.geteuid()):
        return "restrict its permissions", shell("chmod", "o-w", data)
    # Do not take over a service's directory: only change an owner that has no name.
    command = as_user(owner, *case.words("doctor"))
    if command:
        return f"run doctor as {user_named(owner)}", command
    return "change its owner and that of its files", as_root("chown", "-R", user_named(os.geteuid()), data)


def _permissions(data: Path) -> Iterator[Finding]:
    if S_IMODE(data.stat().st_mode) & 0o077 and find_unsafe_permissions(data) is None:
        yield warning(f"other users can access {data}", "restrict its permissions", shell("chmod", "700", data))
    for file in _files(data):
        if S_IMODE(file.stat().st_mode) & 0o077:
            command = "" if file.is_symlink() else shell("chmod", "600", file)
            yield problem(f"other users can open {file}, which contains secrets", "restrict its permissions", command)


def _free_space(data: Path) -> Iterator[Finding]:
    free = shutil.disk_usage(data).free
    used = sum(file.stat().st_size for file in _files(data))
    fix = "free space on its disk, or move the directory to a larger one"
    if free < MIN_FREE:
        yield problem(f"only {_megabytes(free)} are free for {data}: logins will soon fail", fix)
    elif free < 2 * used:
        yield warning(f"{_megabytes(free)} are free for a store of {_megabytes(used)}: a restore needs twice that", fix)


def _leftovers(data: Path, now: float) -> Iterator[Finding]:
    for directory in sorted([*data.glob(".restore-*"), *data.glob(".dry-run-*")]):
        if directory.stat().st_mtime < now - STALE_SECONDS:
            text = f"{directory} was left by a killed command and contains copies of secrets"
            yield warning(text, "remove it", shell("rm", "-r", directory))


def _files(data: Path) -> list[Path]:
    return [file for part in DATABASE_NAMES for file in files_of(database_file(data, part))]


def _megabytes(size: int) -> str:
    return f"{size / 1024**2:.0f} MB"


MAX_WAIT_SECONDS: float = BUSY_SECONDS
"""Time that the console waits before it responds with 503."""


def lock_findings(file: Path) -> Iterator[Finding]:
    """Report a database whose write lock is not available within the time that the console waits."""
    try:
        with closing(connect(file, timeout=MAX_WAIT_SECONDS)) as connection:
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
        f"{file} is locked by {who}: logins get 503, and changes fail",
        "find out what it is doing, and end it if it hangs",
        shell("kill", *(holder.pid for holder in holders)) if holders else "",
    )
