"""`cloudconsole admin import`: bulk import of resources from JSON lines."""

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from sqlalchemy import Engine

from cloudconsole.cli.i18n import translate
from cloudconsole.core.clock import SystemClock
from cloudconsole.operator.bulk_import import ImportCounts, RestoredDuringImport, import_resources
from cloudconsole.operator.errors import CloudFileError, FileProblem, OperatorError, cannot_read
from cloudconsole.operator.transaction import os_user_name
from cloudconsole.server.commands.admin import messages, transfer_messages
from cloudconsole.server.commands.admin.progress import show_progress
from cloudconsole.server.commands.admin.store import (
    add_json_argument,
    add_store_arguments,
    add_zone_argument,
    require_store,
    store,
    store_to_read,
)
from cloudconsole.server.config.settings import Settings
from cloudconsole.store.migrations import migrate
from cloudconsole.store.sql import copy_rows
from cloudconsole.store.sqlite.backup import consistent_snapshot, copy_to
from cloudconsole.store.sqlite.engine import database_file, opened
from cloudconsole.store.sqlite.permissions import reject_unsafe_permissions
from cloudconsole.store.sqlite.store import SqliteStore
from cloudconsole.store.sqlite.temporary_directories import remove_stale_directories, temporary_directory
from cloudconsole.store.tables import CLOUD

STANDARD_INPUT = "-"
MAX_INVALID_LINES = 100
"""Number of invalid lines that a dry run lists."""


def add_commands(subparsers: Any) -> None:
    parser = subparsers.add_parser(
        "import",
        help=translate(transfer_messages.IMPORT),
        description=translate(transfer_messages.IMPORT_DESCRIPTION),
        allow_abbrev=False,
    )
    parser.add_argument("file", metavar="FILE", help=translate(transfer_messages.IMPORT_FILE))
    parser.add_argument("--force", action="store_true", help=translate(transfer_messages.IMPORT_FORCE))
    parser.add_argument(
        "--dry-run",
        action="store_true",
        help=translate(transfer_messages.IMPORT_DRY_RUN, limit=MAX_INVALID_LINES),
    )
    add_zone_argument(parser)
    add_store_arguments(parser)
    add_json_argument(parser)
    parser.set_defaults(admin_command=_import)


def _import(arguments: argparse.Namespace, settings: Settings) -> None:
    name = "standard input" if arguments.file == STANDARD_INPUT else arguments.file
    tally: ImportCounts | None = ImportCounts()
    problems, has_begun, is_complete = list[FileProblem](), False, False
    try:
        with _source(arguments.file) as source, _store(settings, dry_run=arguments.dry_run) as engine:
            has_begun = True
            steps = import_resources(
                engine,
                source,
                name,
                actor=os_user_name(),
                clock=SystemClock(),
                zone=settings.zone,
                force=arguments.force,
                max_invalid_lines=MAX_INVALID_LINES if arguments.dry_run else 1,
            )
            for step in show_progress(steps, source):
                tally = step
            is_complete = True
    except CloudFileError as error:
        problems = error.problems
        raise
    except RestoredDuringImport:
        tally = None
        raise
    finally:
        # After the replication wait, so that the counts hold on every replica.
        if has_begun:
            _report(arguments, tally, problems, is_complete=is_complete)


def _report(
    arguments: argparse.Namespace, tally: ImportCounts | None, problems: list[FileProblem], *, is_complete: bool
) -> None:
    """Print the summary; without a tally it is unknown how many of the resources are stored."""
    if arguments.json:
        counted = tally or ImportCounts()
        summary = {"added": counted.added, "existing": counted.passed, "complete": is_complete}
        details = {"dry_run": arguments.dry_run, "problems": [problem._asdict() for problem in problems]}
        sys.stdout.write(json.dumps(summary | details) + "\n")
    elif tally is not None:
        invalid_lines = sorted({problem.line for problem in problems})
        summarise = _dry_run_summary if arguments.dry_run else _summary
        sys.stdout.write(summarise(tally, invalid_lines, is_complete=is_complete))
    sys.stdout.flush()


def _summary(tally: ImportCounts, invalid_lines: list[int], *, is_complete: bool) -> str:
    text = f"{translate(transfer_messages.IMPORTED, added=tally.added, existing=tally.passed)}\n"
    if is_complete:
        return text
    if invalid_lines:
        stopped = transfer_messages.STOPPED_AT_LINE if tally.lines else transfer_messages.STOPPED_AT_FIRST_LINE
        return f"{text}{translate(stopped, line=invalid_lines[0])}\n"
    if tally.lines:
        return f"{text}{translate(transfer_messages.STOPPED_AFTER, lines=tally.lines)}\n"
    return f"{text}{translate(transfer_messages.STOPPED_BEFORE)}\n"


def _dry_run_summary(tally: ImportCounts, invalid_lines: list[int], *, is_complete: bool) -> str:
    lines = [translate(transfer_messages.WOULD_IMPORT, added=tally.added, existing=tally.passed)]
    if invalid_lines:
        are_all = len(invalid_lines) < MAX_INVALID_LINES
        listed = transfer_messages.INVALID_LINES if are_all else transfer_messages.FIRST_INVALID_LINES
        lines.append(translate(listed, count=len(invalid_lines), line=invalid_lines[0]))
    elif not is_complete:
        lines.append(translate(transfer_messages.INTERRUPTED))
    return "".join(f"{line}\n" for line in (*lines, translate(messages.NOT_CHANGED)))


@contextmanager
def _source(file: str) -> Iterator[BinaryIO]:
    if file == STANDARD_INPUT:
        yield sys.stdin.buffer
        return
    try:
        opened_file = Path(file).open("rb")  # noqa: SIM115 - later errors must not be reported as a failure to open
    except OSError as error:
        raise OperatorError(cannot_read(file, error)) from error
    with opened_file:
        yield opened_file


@contextmanager
def _store(settings: Settings, *, dry_run: bool) -> Iterator[Engine]:
    """Open the store; for a dry run, a temporary copy of its cloud database."""
    if not dry_run:
        with store(settings) as engine:
            yield engine
    elif isinstance(settings.store, SqliteStore):
        with _sqlite_copy(settings) as engine:
            yield engine
    else:
        with _postgres_copy(settings) as engine:
            yield engine


@contextmanager
def _sqlite_copy(settings: Settings) -> Iterator[Engine]:
    require_store(settings)
    directory = settings.data
    reject_unsafe_permissions(directory)
    remove_stale_directories(directory)
    with temporary_directory(directory, "dry-run") as copy:
        with consistent_snapshot(directory, ["cloud"]) as connections:
            copy_to(connections["cloud"], database_file(copy, "cloud"))
        with opened(copy, "cloud") as engine:
            migrate(engine, {"cloud"})
            yield engine


@contextmanager
def _postgres_copy(settings: Settings) -> Iterator[Engine]:
    """Copy the cloud tables into a temporary SQLite database."""
    directory = Path(tempfile.gettempdir())
    remove_stale_directories(directory)
    with (
        temporary_directory(directory, "dry-run") as copy,
        store_to_read(settings) as source,
        opened(copy, "cloud") as engine,
    ):
        migrate(engine, {"cloud"})
        copy_rows(source, engine, CLOUD)
        yield engine
