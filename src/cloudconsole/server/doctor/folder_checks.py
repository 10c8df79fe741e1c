"""The data folder: there, ours, closed to others, and with room left."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from stat import S_IMODE
from typing import Final

from cloudconsole.server.doctor.findings import Case, Finding, ok, problem, warning
from cloudconsole.server.doctor.obstacles import files_of, obstacle_of
from cloudconsole.server.doctor.shell import ROOT, as_root, as_user, shell
from cloudconsole.store.base import PARTS
from cloudconsole.store.sqlite.engine import database_file
from cloudconsole.store.sqlite.permissions import LEAST_FREE, danger_of, user_named

LEFT_SECONDS: Final = 3600
"""After this time a restore or a dry run is no longer at work in its folder."""


def check_folder(case: Case) -> Iterator[Finding]:
    if case.settings.database is not None:
        yield ok("none is needed: the store is in the database")
        return
    folder = case.settings.data
    obstacle = obstacle_of(case)
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


def _ownership(case: Case, folder: Path) -> Iterator[Finding]:
    danger = danger_of(folder)
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


def _safe_again(case: Case, folder: Path) -> tuple[str, str]:
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
    if S_IMODE(folder.stat().st_mode) & 0o077 and danger_of(folder) is None:
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
    return [file for part in PARTS for file in files_of(database_file(folder, part))]


def _megabytes(size: int) -> str:
    return f"{size / 1024**2:.0f} MB"
