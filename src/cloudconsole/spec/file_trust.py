"""Who can change a file that decides whom a program trusts."""

import os
import stat
from typing import Final, Literal

_ROOT: Final = 0


def distrust(status: os.stat_result, *, trusts_group: bool) -> Literal["owner", "mode"] | None:
    """Return what lets a user other than this one and root change a regular file, or None.

    Pipes and terminals pass: they come from the command line of the call itself.
    """
    if not stat.S_ISREG(status.st_mode):
        return None
    if status.st_uid not in (_ROOT, os.geteuid()):
        return "owner"
    return "mode" if status.st_mode & (stat.S_IWOTH | (0 if trusts_group else stat.S_IWGRP)) else None
