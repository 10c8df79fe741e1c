"""Validation that no other user can change a file that decides where credentials go."""

import os
import shlex
import stat
from pathlib import Path
from typing import Final

from cloudconsole.cli import texts
from cloudconsole.cli.problems import UsageProblem
from cloudconsole.cli.speaking import say

_WRITABLE_BY_OTHERS: Final = stat.S_IWGRP | stat.S_IWOTH
_ROOT: Final = 0


def reject_untrusted(file: Path, descriptor: int) -> None:
    """Reject a regular file that a user other than this one and root can write.

    Pipes and terminals pass: they come from the command line of the call itself.
    """
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        return
    name = shlex.quote(str(file))
    if status.st_uid not in (_ROOT, os.geteuid()):
        raise UsageProblem(say(texts.OWNED_BY_ANOTHER, file=file, command=f"chown {os.geteuid()} {name}"))
    if status.st_mode & _WRITABLE_BY_OTHERS:
        raise UsageProblem(say(texts.WRITABLE_BY_OTHERS, file=file, command=f"chmod go-w {name}"))
