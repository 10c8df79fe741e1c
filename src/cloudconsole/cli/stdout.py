"""Standard output: what cannot be written there is told in one line, whichever command it was."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from io import TextIOBase, TextIOWrapper

_closed: set[str] = set()


class OutputError(Exception):
    """Not all that was to be printed has been; the text says why."""

    def __init__(self, reason: OSError) -> None:
        super().__init__(reason.strerror)
        self.has_reader = not isinstance(reason, BrokenPipeError)
        """False where whoever read it has left, so that nobody is to be told."""


def reopen_closed_streams() -> None:
    """Let each standard stream be one: Python has none for those that the caller has closed."""
    for number, name, flags in ((0, "stdin", os.O_RDONLY), (1, "stdout", os.O_RDONLY), (2, "stderr", os.O_WRONLY)):
        if getattr(sys, name) is None:
            # The free place, so that no file of ours gets it. Standard output is not to be written to: that is told.
            os.open(os.devnull, flags)
            setattr(sys, name, os.fdopen(number, "w" if number else "r", encoding="utf-8", closefd=False))
            _closed.add(name)


def is_closed() -> bool:
    """Whether whoever called has closed standard output."""
    return "stdout" in _closed


def write(text: str) -> None:
    with _told():
        sys.stdout.write(text)


class BufferedStdout(TextIOBase):
    """Standard output for those who write by themselves: that it cannot be written to is told all the same."""

    encoding = property(lambda _: sys.stdout.encoding)

    def write(self, text: str) -> int:
        write(text)
        return len(text)

    def flush(self) -> None:
        flush()

    def isatty(self) -> bool:
        return sys.stdout.isatty()

    def fileno(self) -> int:
        return sys.stdout.fileno()


@contextmanager
def buffered_stdout() -> Iterator[None]:
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


def discard_output() -> None:
    """Leave what was not written: Python would complain of it once more at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@contextmanager
def _told() -> Iterator[None]:
    try:
        yield
    except OSError as problem:
        raise OutputError(problem) from problem
