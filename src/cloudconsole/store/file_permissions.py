"""Permissions of files that decide whom the server trusts."""

import stat
from pathlib import Path
from typing import Final

WRITABLE_BY_EVERYONE: Final = "can be written by every user of this machine: run chmod o-w on it"


def everyone_can_write(file: Path) -> bool:
    """Whether it is a regular file that any user of this machine can change."""
    mode = file.stat().st_mode
    return stat.S_ISREG(mode) and bool(mode & stat.S_IWOTH)
