"""Locked temporary directories beside a store, and removal of abandoned ones."""

import fcntl
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, Literal

Purpose = Literal["dry-run", "restore"]
PURPOSES: Final[tuple[Purpose, ...]] = ("dry-run", "restore")
MIN_AGE_SECONDS: Final = 60
"""A younger directory may not be locked yet."""


@contextmanager
def temporary_directory(parent: Path, purpose: Purpose) -> Iterator[Path]:
    """Create a private directory, locked while in use and removed afterwards."""
    with tempfile.TemporaryDirectory(prefix=f".{purpose}-", dir=parent) as name:
        handle = _open_directory(Path(name))
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield Path(name)
        finally:
            os.close(handle)


def remove_stale_directories(parent: Path) -> None:
    """Remove temporary directories that are no longer locked, ignoring failures."""
    for purpose in PURPOSES:
        for folder in parent.glob(f".{purpose}-*"):
            _remove_unless_locked(folder)


def _remove_unless_locked(folder: Path) -> None:
    try:
        handle = _open_directory(folder)
    except OSError:
        return
    try:
        if os.fstat(handle).st_mtime < time.time() - MIN_AGE_SECONDS:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(folder, ignore_errors=True)
    except BlockingIOError:
        pass
    finally:
        os.close(handle)


def _open_directory(folder: Path) -> int:
    return os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
