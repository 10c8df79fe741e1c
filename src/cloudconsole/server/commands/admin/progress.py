"""Progress bars of long commands, shown on a terminal only."""

import stat
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from os import fstat
from typing import BinaryIO, Protocol

from cloudconsole.cli.i18n import translate
from cloudconsole.operator.bulk_import import ImportCounts
from cloudconsole.server.commands.admin import transfer_messages


def show_progress(steps: Iterable[ImportCounts], source: BinaryIO) -> Iterator[ImportCounts]:
    """Yield the steps and show progress in bytes of the source and lines per second."""
    if not sys.stderr.isatty():
        yield from steps
        return
    # Imported here: scripts do not need it.
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    columns = (
        BarColumn(),
        TaskProgressColumn(),
        DownloadColumn(),
        TextColumn(translate(transfer_messages.PROGRESS_LINES, lines="{task.fields[lines]}")),
        TextColumn(translate(transfer_messages.PROGRESS_RATE, rate="{task.fields[rate]}")),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(translate(transfer_messages.PROGRESS_IMPORT), total=_size(source), lines=0, rate=0)
        for tally in steps:
            elapsed = progress.tasks[task].elapsed or 1
            rate = round(tally.lines / elapsed)
            progress.update(task, completed=tally.position, lines=tally.lines, rate=rate)
            yield tally


class Rows(Protocol):
    """Progress of a copy: the current step, rows done and rows in total."""

    @property
    def doing(self) -> str: ...
    @property
    def rows(self) -> int: ...
    @property
    def of(self) -> int: ...


@contextmanager
def showing_rows() -> Iterator[Callable[[Rows], None]]:
    """Provide a function that shows the progress of a copy."""
    if not sys.stderr.isatty():
        yield lambda _rows: None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TaskProgressColumn,
        TextColumn,
        TimeRemainingColumn,
    )

    columns = (
        BarColumn(),
        TaskProgressColumn(),
        MofNCompleteColumn(),
        TextColumn(translate(transfer_messages.PROGRESS_ROWS, step="{task.description}")),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(translate(transfer_messages.PROGRESS_STARTING), total=None)
        yield lambda step: progress.update(task, description=step.doing, completed=step.rows, total=step.of)


def _size(source: BinaryIO) -> int | None:
    """Return the size of a regular file, None for a pipe."""
    status = fstat(source.fileno())
    return status.st_size if stat.S_ISREG(status.st_mode) else None
