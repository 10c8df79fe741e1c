"""Taking a copy of everything out of a store: to which stream where it is not a file, and the trail's line of it."""

import os
import re
import sys
from typing import IO, Final

from cloudconsole.operator.audit import note_copy
from cloudconsole.operator.serializers import Record
from cloudconsole.server.commands.admin.stores import now
from cloudconsole.server.commands.whoami import user_name
from cloudconsole.spec.text import visible
from cloudconsole.store.base import Store

STANDARD_STREAM: Final = "-"
_STANDARD_OUTPUT: Final = (STANDARD_STREAM, "/dev/stdout", "/dev/fd/1")
_OPEN_FILE: Final = re.compile(r"/dev/fd/(\d{1,9})", re.ASCII)


def stream_named(name: str) -> IO[bytes] | None:
    """What is open already under a name: standard output, or what a shell's `>(command)` stands for."""
    if name in _STANDARD_OUTPUT:
        return sys.stdout.buffer
    number = _OPEN_FILE.fullmatch(name)
    return os.fdopen(int(number[1]), "wb", closefd=False) if number else None


def leave_line(store: Store, change: str, subject: str, after: Record | None = None) -> None:
    """Note the copy in the trail; where that cannot be, say so: the copy is there nevertheless."""
    problem = note_copy(store, change, subject, after, actor=user_name(), now=now())
    if problem is not None:
        sys.stderr.write(f"cloudconsole: the {change} is done, but not in the audit trail: {visible(problem)}\n")
