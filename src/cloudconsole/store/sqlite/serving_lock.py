"""The lock that tells other processes that a folder is being served: shared, on the folder itself, without a file."""

import errno
import fcntl
import logging
import os
from pathlib import Path
from typing import Final

log = logging.getLogger(__name__)

_UNSUPPORTED: Final = (errno.ENOLCK, errno.EOPNOTSUPP, errno.EBADF, errno.EINVAL)
"""What file systems say that have no such locks."""


def hold_serving_lock(folder: Path) -> None:
    """Hold it until this process and all its workers have ended, however they end."""
    try:
        fcntl.flock(os.open(folder, os.O_RDONLY | os.O_DIRECTORY), fcntl.LOCK_SH)
    except OSError as problem:
        if problem.errno not in _UNSUPPORTED:
            raise
        log.warning("copy-to cannot tell that %s is served: its file system has no locks", folder)


def is_served(folder: Path) -> bool:
    """Return whether a process serves the store in a folder, or may do so unseen."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as problem:
        if isinstance(problem, BlockingIOError) or problem.errno in _UNSUPPORTED:
            return True
        raise
    finally:
        os.close(handle)
    return False
