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

from cloudconsole.core.clock import SystemClock
from cloudconsole.operator.bulk_import import ImportCounts, RestoredDuringImport, import_resources
from cloudconsole.operator.errors import CloudFileError, FileProblem, OperatorError
from cloudconsole.operator.transaction import os_user_name
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
        help="add resources from a file of JSON lines",
        description="Add resources from a file of JSON lines. Resources that already exist unchanged are skipped, "
        "so after an interruption the same command continues.",
        allow_abbrev=False,
    )
    parser.add_argument("file", metavar="FILE", help="file with one resource per line; - for standard input")
    parser.add_argument("--force", action="store_true", help="let tenants exceed their quotas")
    parser.add_argument(
        "--dry-run",
        action="store_true",
        help=f"import into a copy of the store and list up to {MAX_INVALID_LINES} invalid lines; change nothing",
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
    text = f"resources: {tally.added} added, {tally.passed} already there\n"
    if is_complete:
        return text
    if invalid_lines:
        before = "all lines before it are imported" if tally.lines else "nothing was added"
        return f"{text}stopped at line {invalid_lines[0]}: {before}; fix it and run the command again to continue\n"
    if tally.lines:
        return f"{text}stopped after importing {tally.lines} lines: run the command again to continue\n"
    return f"{text}stopped before anything was added: run the command again\n"


def _dry_run_summary(tally: ImportCounts, invalid_lines: list[int], *, is_complete: bool) -> str:
    text = f"resources: {tally.added} would be added, {tally.passed} already there\n"
    if invalid_lines:
        listed = f"the first {MAX_INVALID_LINES}" if len(invalid_lines) == MAX_INVALID_LINES else len(invalid_lines)
        text += f"invalid lines: {listed}; an import would stop at line {invalid_lines[0]}\n"
    elif not is_complete:
        text += "interrupted\n"
    return f"{text}dry run: nothing was changed\n"


@contextmanager
def _source(file: str) -> Iterator[BinaryIO]:
    if file == STANDARD_INPUT:
        yield sys.stdin.buffer
        return
    try:
        opened_file = Path(file).open("rb")  # noqa: SIM115 - later errors must not be reported as a failure to open
    except OSError as error:
        raise OperatorError(f"{file} cannot be read: {error.strerror}") from error
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
