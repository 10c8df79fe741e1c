"""Who may hold the store's folder: whoever can write to a folder can replace each file in it."""

import os
import pwd
from pathlib import Path
from shlex import quote
from stat import S_ISVTX, S_IWOTH
from typing import Final, NamedTuple

from cloudconsole.store.base import StoreError

ROOT: Final = 0
LEAST_FREE: Final = 64 * 1024 * 1024
"""Bytes that must be left on the disk of a store for it to be served."""


class UnsafePermissions(NamedTuple):
    text: str
    fix: str


def find_unsafe_permissions(folder: Path) -> UnsafePermissions | None:
    """Why a folder that is there must not be used; None where nothing is wrong with whom it belongs to.

    Root may own it, who can do anything anyway, and a group may write to it: so do containers get their volumes.
    """
    status, ourselves = folder.stat(), os.geteuid()
    if status.st_uid not in (ROOT, ourselves):
        owner = user_named(status.st_uid)
        return UnsafePermissions(
            f"the data folder {folder} belongs to {owner}, who can replace what is in it",
            f"run this as {owner}, or chown -R {user_named(ourselves)} {quote(str(folder))}",
        )
    if status.st_mode & S_IWOTH:
        return UnsafePermissions(
            f"every user can write to the data folder {folder} and replace what is in it",
            f"chmod o-w {quote(str(folder))}",
        )
    return None


def reject_unsafe_permissions(folder: Path) -> None:
    danger = find_unsafe_permissions(folder)
    if danger is not None:
        raise StoreError(f"{danger.text}: {danger.fix}")


def reject_world_writable(folder: Path) -> None:
    """Refuse a folder in which every user could put another in the place of one that we make there."""
    mode = folder.stat().st_mode
    if mode & S_IWOTH and not mode & S_ISVTX:
        raise StoreError(
            f"every user can replace what is put into {folder}: choose another folder, or chmod +t {quote(str(folder))}"
        )


def user_named(user: int) -> str:
    """A user's name, or the number where it has none."""
    try:
        return pwd.getpwuid(user).pw_name
    except KeyError:
        return str(user)
