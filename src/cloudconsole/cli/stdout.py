"""Standard output whose write errors are reported in one line, for every command."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from io import TextIOBase, TextIOWrapper

_closed: set[str] = set()


class OutputError(Exception):
    """Output could not be written completely."""

    def __init__(self, reason: OSError) -> None:
        super().__init__(reason.strerror)
        self.has_reader = not isinstance(reason, BrokenPipeError)
        """False if the reader closed the pipe: then no error is reported."""


def reopen_closed_streams() -> None:
    """Reopen standard streams that the parent process closed, which Python sets to None."""
    for number, name, flags in ((0, "stdin", os.O_RDONLY), (1, "stdout", os.O_RDONLY), (2, "stderr", os.O_WRONLY)):
        if getattr(sys, name) is None:
            # Occupy the descriptor, so that no other file gets it. Standard output is read-only: writes must fail.
            os.open(os.devnull, flags)
            setattr(sys, name, os.fdopen(number, "w" if number else "r", encoding="utf-8", closefd=False))
            _closed.add(name)


def is_closed() -> bool:
    """Whether the parent process closed standard output."""
    return "stdout" in _closed


def write(text: str) -> None:
    with _output_errors():
        sys.stdout.write(text)


class BufferedStdout(TextIOBase):
    """File object for libraries that write themselves; raises OutputError like `write`."""

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
    """Escape characters that standard output cannot encode, and flush at the end."""
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        yield
    finally:
        flush()


def flush() -> None:
    with _output_errors():
        sys.stdout.flush()


def discard_output() -> None:
    """Drop unwritten output, which Python would report again at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@contextmanager
def _output_errors() -> Iterator[None]:
    try:
        yield
    except OSError as problem:
        raise OutputError(problem) from problem
