"""Folders for copies that are thrown away, also after whoever made them was killed: the copies hold secrets."""

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
YOUNG_SECONDS: Final = 60
"""One that was made so lately may be about to be held."""


@contextmanager
def scratch(place: Path, purpose: Purpose) -> Iterator[Path]:
    """A folder that only we can look into, held while it is used and gone afterwards."""
    with tempfile.TemporaryDirectory(prefix=f".{purpose}-", dir=place) as name:
        handle = _open(Path(name))
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield Path(name)
        finally:
            os.close(handle)


def clear_left(place: Path) -> None:
    """Remove the folders that nobody holds any more; one that we may not remove stays."""
    for purpose in PURPOSES:
        for folder in place.glob(f".{purpose}-*"):
            _remove_unless_held(folder)


def _remove_unless_held(folder: Path) -> None:
    try:
        handle = _open(folder)
    except OSError:
        return
    try:
        if os.fstat(handle).st_mtime < time.time() - YOUNG_SECONDS:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(folder, ignore_errors=True)
    except BlockingIOError:
        pass
    finally:
        os.close(handle)


def _open(folder: Path) -> int:
    return os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
