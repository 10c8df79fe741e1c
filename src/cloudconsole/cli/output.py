"""Standard output: what cannot be written there is told in one line, whichever command it was."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from io import TextIOWrapper


class OutputError(Exception):
    """Not all that was to be printed has been; the text says why."""

    def __init__(self, reason: OSError) -> None:
        super().__init__(reason.strerror)
        self.has_reader = not isinstance(reason, BrokenPipeError)
        """False where whoever read it has left, so that nobody is to be told."""


def write(text: str) -> None:
    with _told():
        sys.stdout.write(text)


@contextmanager
def whole_output() -> Iterator[None]:
    """Within, characters that standard output has no code for are written out; at its end, everything has arrived."""
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        yield
    finally:
        flush()


def flush() -> None:
    with _told():
        sys.stdout.flush()


def give_up() -> None:
    """Leave what was not written: Python would complain of it once more at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@contextmanager
def _told() -> Iterator[None]:
    try:
        yield
    except OSError as problem:
        raise OutputError(problem) from problem
