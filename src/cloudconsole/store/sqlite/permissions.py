"""Permission checks of the data directory: write access to a directory allows replacing its files."""

import os
import pwd
from pathlib import Path
from shlex import quote
from stat import S_ISVTX, S_IWOTH
from typing import Final, NamedTuple

from cloudconsole.store.base import StoreError

ROOT: Final = 0
MIN_FREE: Final = 64 * 1024 * 1024
"""Free bytes required on the disk of a served store."""


class UnsafePermissions(NamedTuple):
    text: str
    fix: str
    chinese: str
    """Both in Chinese."""


def find_unsafe_permissions(folder: Path) -> UnsafePermissions | None:
    """Return why an existing directory is unsafe, or None.

    Root may own it, and a group may write to it, as is common for container volumes.
    """
    status, current_user = folder.stat(), os.geteuid()
    if status.st_uid not in (ROOT, current_user):
        owner = user_named(status.st_uid)
        return UnsafePermissions(
            f"the data directory {folder} belongs to {owner}, who can replace its files",
            f"run this as {owner}, or chown -R {user_named(current_user)} {quote(str(folder))}",
            f"数据目录 {folder} 属于 {owner}，该用户可以替换其中的文件：请以 {owner} 身份执行，"
            f"或执行 chown -R {user_named(current_user)} {quote(str(folder))}",
        )
    if status.st_mode & S_IWOTH:
        return UnsafePermissions(
            f"every user can write to the data directory {folder} and replace its files",
            f"chmod o-w {quote(str(folder))}",
            f"所有用户都可写入数据目录 {folder} 并替换其中的文件：chmod o-w {quote(str(folder))}",
        )
    return None


def reject_unsafe_permissions(folder: Path) -> None:
    problem = find_unsafe_permissions(folder)
    if problem is not None:
        raise StoreError(f"{problem.text}: {problem.fix}", problem.chinese)


def reject_world_writable(folder: Path) -> None:
    """Reject a directory in which every user could replace files created there."""
    mode = folder.stat().st_mode
    if mode & S_IWOTH and not mode & S_ISVTX:
        raise StoreError(
            f"every user can replace files in {folder}: choose another directory, or chmod +t {quote(str(folder))}",
            f"所有用户都可替换 {folder} 中的文件：请选择其他目录，或执行 chmod +t {quote(str(folder))}",
        )


def user_named(user: int) -> str:
    """Return a user's name, or the id if there is none."""
    try:
        return pwd.getpwuid(user).pw_name
    except KeyError:
        return str(user)
