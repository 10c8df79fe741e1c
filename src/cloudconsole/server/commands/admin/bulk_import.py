"""`cloudconsole admin import`: very many resources from a file of JSON lines."""

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
from cloudconsole.operator.cloud_file.errors import CloudFileError, Problem
from cloudconsole.operator.errors import OperatorError
from cloudconsole.server.commands.admin.progress import show_progress
from cloudconsole.server.commands.admin.store import (
    add_json_argument,
    add_store_arguments,
    add_zone_argument,
    require_store,
    store,
    store_to_read,
)
from cloudconsole.server.commands.common import user_name
from cloudconsole.server.config.settings import Settings
from cloudconsole.store.migrations import migrate
from cloudconsole.store.sql import copy_rows
from cloudconsole.store.sqlite.backup import consistent_snapshot, copy_to, remove_stale_directories, temporary_directory
from cloudconsole.store.sqlite.engine import database_file, opened
from cloudconsole.store.sqlite.permissions import reject_unsafe_permissions
from cloudconsole.store.sqlite.store import SqliteStore
from cloudconsole.store.tables import CLOUD

STANDARD_INPUT = "-"
MOST_REFUSED_LINES = 100
"""That a dry run lists."""


def add_commands(subparsers: Any) -> None:
    parser = subparsers.add_parser(
        "import",
        help="add resources from a file of JSON lines",
        description="Add resources from a file of JSON lines. What is there already and equal is passed over, "
        "so after any interruption the same command goes on where it stopped.",
        allow_abbrev=False,
    )
    parser.add_argument("file", metavar="FILE", help="one resource a line; - for standard input")
    parser.add_argument("--force", action="store_true", help="let tenants exceed their quotas")
    parser.add_argument(
        "--dry-run",
        action="store_true",
        help="try it on a copy of the store, list up to 100 invalid lines, and change nothing",
    )
    add_zone_argument(parser)
    add_store_arguments(parser)
    add_json_argument(parser)
    parser.set_defaults(admin_command=_import)


def _import(arguments: argparse.Namespace, settings: Settings) -> None:
    name = "standard input" if arguments.file == STANDARD_INPUT else arguments.file
    tally: ImportCounts | None = ImportCounts()
    problems, has_begun, is_complete = list[Problem](), False, False
    try:
        with _source(arguments.file) as source, _store(settings, for_trial=arguments.dry_run) as engine:
            has_begun = True
            steps = import_resources(
                engine,
                source,
                name,
                actor=user_name(),
                clock=SystemClock(),
                zone=settings.zone,
                force=arguments.force,
                refused_lines=MOST_REFUSED_LINES if arguments.dry_run else 1,
            )
            for step in show_progress(steps, source):
                tally = step
            is_complete = True
    except CloudFileError as refused:
        problems = refused.problems
        raise
    except RestoredDuringImport:
        tally = None
        raise
    finally:
        # Only now: what is said to be in has settled.
        if has_begun:
            _tell(arguments, tally, problems, is_complete=is_complete)


def _tell(
    arguments: argparse.Namespace, tally: ImportCounts | None, problems: list[Problem], *, is_complete: bool
) -> None:
    """Print the summary; without a tally nothing that was counted is surely in."""
    if arguments.json:
        counted = tally or ImportCounts()
        summary = {"added": counted.added, "already_there": counted.passed, "complete": is_complete}
        told = {"dry_run": arguments.dry_run, "problems": [problem._asdict() for problem in problems]}
        sys.stdout.write(json.dumps(summary | told) + "\n")
    elif tally is not None:
        refused_lines = sorted({problem.line for problem in problems})
        summarise = _trial_summary if arguments.dry_run else _summary
        sys.stdout.write(summarise(tally, refused_lines, is_complete=is_complete))
    sys.stdout.flush()


def _summary(tally: ImportCounts, refused_lines: list[int], *, is_complete: bool) -> str:
    text = f"resources: {tally.added} added, {tally.passed} already there\n"
    if is_complete:
        return text
    if refused_lines:
        before = "all lines before it are in" if tally.lines else "nothing was added"
        return f"{text}stopped at line {refused_lines[0]}: {before}; correct it and run the command again to continue\n"
    if tally.lines:
        return f"{text}stopped after {tally.lines} lines, which are in: the same command goes on from there\n"
    return f"{text}stopped before anything was added: give the same command again\n"


def _trial_summary(tally: ImportCounts, refused_lines: list[int], *, is_complete: bool) -> str:
    text = f"resources: {tally.added} would be added, {tally.passed} already there\n"
    if refused_lines:
        listed = f"the first {MOST_REFUSED_LINES}" if len(refused_lines) == MOST_REFUSED_LINES else len(refused_lines)
        text += f"invalid lines: {listed}; an import would stop at line {refused_lines[0]}\n"
    elif not is_complete:
        text += "it was interrupted\n"
    return f"{text}nothing was changed: this was a dry run\n"


@contextmanager
def _source(file: str) -> Iterator[BinaryIO]:
    if file == STANDARD_INPUT:
        yield sys.stdin.buffer
        return
    try:
        opened_file = Path(file).open("rb")  # noqa: SIM115 - what goes wrong later is not about opening it
    except OSError as error:
        raise OperatorError(f"{file} cannot be read: {error.strerror}") from error
    with opened_file:
        yield opened_file


@contextmanager
def _store(settings: Settings, *, for_trial: bool) -> Iterator[Engine]:
    """The store; for a trial a copy of its cloud, which is thrown away."""
    if not for_trial:
        with store(settings) as engine:
            yield engine
    elif isinstance(settings.store, SqliteStore):
        with _copied_folder(settings) as engine:
            yield engine
    else:
        with _copied_database(settings) as engine:
            yield engine


@contextmanager
def _copied_folder(settings: Settings) -> Iterator[Engine]:
    require_store(settings)
    folder = settings.data
    reject_unsafe_permissions(folder)
    remove_stale_directories(folder)
    with temporary_directory(folder, "dry-run") as copy:
        with consistent_snapshot(folder, ["cloud"]) as connections:
            copy_to(connections["cloud"], database_file(copy, "cloud"))
        with opened(copy, "cloud") as engine:
            migrate(engine, {"cloud"})
            yield engine


@contextmanager
def _copied_database(settings: Settings) -> Iterator[Engine]:
    """A copy of a database's cloud as an embedded one, among this machine's temporary files."""
    place = Path(tempfile.gettempdir())
    remove_stale_directories(place)
    with (
        temporary_directory(place, "dry-run") as copy,
        store_to_read(settings) as source,
        opened(copy, "cloud") as engine,
    ):
        migrate(engine, {"cloud"})
        copy_rows(source, engine, CLOUD)
        yield engine
