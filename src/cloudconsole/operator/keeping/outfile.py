"""Putting a file of secrets where an operator wants it and nowhere else: for its owner alone, and whole."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from cloudconsole.operator.errors import OperatorError
from cloudconsole.store.sqlite.permissions import refuse_open_to_all


def refuse_as_outfile(file: Path) -> None:
    """Refuse a name under which no file can be put safely.

    Who can write to the folder may have left a link there, to let another file be overwritten, or a pipe to listen at.
    """
    try:
        is_link, is_there = file.is_symlink(), file.exists()
    except OSError as problem:
        raise _cannot_write(file, problem) from problem
    if is_link:
        raise OperatorError(f"{file} is a symbolic link, and none is followed: give another name, or remove it")
    if is_there and not file.is_file():
        raise OperatorError(f"{file} is not a file: give the name of a file to write")
    if not file.parent.is_dir():
        raise OperatorError(f"{file} cannot be written: there is no folder {file.parent}: make it first")
    refuse_open_to_all(file.parent)


@contextmanager
def replacing(file: Path) -> Iterator["Outfile"]:
    """Makes a file beside where it shall be, and puts it there at the end; until then, what was there stands.

    A link that is put there meanwhile is replaced itself.
    """
    refuse_as_outfile(file)
    try:
        with tempfile.TemporaryDirectory(prefix=".cloudconsole-", dir=file.parent) as nearby:
            outfile = Outfile(Path(nearby))
            yield outfile
            outfile.complete.replace(file)
    except OSError as problem:
        raise _cannot_write(file, problem) from problem


def _cannot_write(file: Path, problem: OSError) -> OperatorError:
    return OperatorError(f"{file} cannot be written: {problem.strerror}")


class Outfile:
    """A file in the making, in a folder that only we can look into."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.complete = folder / "complete"

    @contextmanager
    def opened(self) -> Iterator[IO[bytes]]:
        descriptor = os.open(self.complete, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        with os.fdopen(descriptor, "wb") as target:
            yield target
            target.flush()
            os.fsync(target.fileno())
