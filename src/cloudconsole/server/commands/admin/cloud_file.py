"""`admin load` and `admin dump`: make a store equal to a file, or write a store out as one."""

import argparse
import sys
import tempfile
from collections.abc import Container, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from sqlalchemy import Engine

from cloudconsole.cli import output
from cloudconsole.operator.cloud_file.dumper import dump
from cloudconsole.operator.cloud_file.loader import Summary, apply_cloud_file, read_cloud, read_cloud_file
from cloudconsole.operator.cloud_file.model import CloudFile
from cloudconsole.operator.maintenance.backup import atomic_output, reject_output_file
from cloudconsole.operator.names import stored_names
from cloudconsole.server.commands.admin.backup import STANDARD_STREAM, parse_stream, record_in_audit_log
from cloudconsole.server.commands.admin.store import (
    add_json_argument,
    add_store_arguments,
    add_zone_argument,
    now,
    store_to_read,
    wait_for_replicas,
)
from cloudconsole.server.commands.common import user_name
from cloudconsole.server.config.settings import Settings
from cloudconsole.store.sqlite.store import SqliteStore

_STANDARD_INPUT: Final = (STANDARD_STREAM, "/dev/stdin")


def add_commands(commands: Any) -> None:
    loading = commands.add_parser(
        "load",
        help="make the store equal to a file",
        description="Make the store equal to a file: what is not in the file is removed. All of it, or nothing.",
        allow_abbrev=False,
    )
    loading.add_argument("file", metavar="FILE", help="the cloud as YAML; - for standard input")
    loading.add_argument("--dry-run", action="store_true", help="show what would change, and change nothing")
    loading.add_argument(
        "--force", action="store_true", help="let tenants exceed their quotas, and no operator be left who can log in"
    )
    add_zone_argument(loading)
    add_json_argument(loading)
    loading.set_defaults(admin_command=_load)
    dumping = commands.add_parser(
        "dump",
        help="write the store out as a file",
        description="Write the whole store, password hashes included, as a file that load takes.",
        allow_abbrev=False,
    )
    dumping.add_argument(
        "file", metavar="FILE", nargs="?", default=STANDARD_STREAM, help="where to (default: -, standard output)"
    )
    dumping.set_defaults(admin_command=_dump)
    for command in (loading, dumping):
        add_store_arguments(command)


def _load(arguments: argparse.Namespace, settings: Settings) -> None:
    # Read first: a file with problems must not leave an empty store behind.
    with stored_names(settings.store) as kept:
        name, file, passwords = _read(arguments.file, settings, kept)
    is_new = not settings.store.exists()
    if is_new and not arguments.dry_run:
        # Nor must one that a rule refuses: tried first.
        _make_equal(arguments, settings, name, file, passwords, dry_run=True)
    summary = _make_equal(arguments, settings, name, file, passwords, dry_run=arguments.dry_run)
    made = settings.store.location if is_new and not arguments.dry_run else None
    if arguments.json:
        changes = {table: counts._asdict() for table, counts in summary.counts.items()}
        output.print_json({"changes": changes, "dry_run": arguments.dry_run, "new_store": made})
    else:
        for line in _lines(summary, made, dry_run=arguments.dry_run):
            output.print_line(line)


def _read(source: str, settings: Settings, kept: Container[str]) -> tuple[str, CloudFile, dict[str, str]]:
    """What the source is called, and what it holds."""
    if source in _STANDARD_INPUT:
        name = "standard input"
        return name, *read_cloud(
            sys.stdin.buffer.read(), name, settings.zone, kept, settings.password_policy, beside=Path()
        )
    return Path(source).name, *read_cloud_file(Path(source), settings.zone, kept, settings.password_policy)


def _make_equal(
    arguments: argparse.Namespace,
    settings: Settings,
    name: str,
    file: CloudFile,
    passwords: dict[str, str],
    *,
    dry_run: bool,
) -> Summary:
    with _made_store(settings, for_trial=dry_run) as engine:
        return apply_cloud_file(
            engine,
            file,
            passwords,
            name=name,
            now=now(),
            actor=user_name(),
            dry_run=dry_run,
            force=arguments.force,
        )


def _lines(summary: Summary, made: str | None, *, dry_run: bool) -> Iterator[str]:
    yield from str(summary).splitlines()
    if dry_run and summary.changed:
        yield "nothing was changed: this was a dry run"
    elif made is not None:
        yield f"made a new store in {made}"


def _dump(arguments: argparse.Namespace, settings: Settings) -> None:
    stream, file = parse_stream(arguments.file), Path(arguments.file)
    if stream is None:
        reject_output_file(file)
    with store_to_read(settings) as engine:
        content = dump(engine).encode()
    if stream is None:
        with atomic_output(file) as outfile, outfile.opened() as target:
            target.write(content)
        record_in_audit_log(settings.store, "dump", file.name)
        return
    try:
        stream.write(content)
        stream.flush()
    finally:
        # A reader that left early has read something all the same.
        record_in_audit_log(settings.store, "dump", "standard output")


@contextmanager
def _made_store(settings: Settings, *, for_trial: bool) -> Iterator[Engine]:
    """The store, made where there is none; for a trial, an empty one that is thrown away."""
    with tempfile.TemporaryDirectory() as nowhere:
        store = settings.store
        is_new = isinstance(store, SqliteStore) and not store.exists()
        if for_trial and is_new:
            store = SqliteStore(Path(nowhere))
        if for_trial and not is_new:
            store.require_current("cloud")
        else:
            store.prepare(user_name())
        try:
            with store.opened("cloud") as engine:
                yield engine
        finally:
            if not for_trial:
                wait_for_replicas(settings)
