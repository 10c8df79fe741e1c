"""`admin load` and `admin dump`: make a store match a cloud file, or write a store as one."""

import argparse
import sys
import tempfile
from collections.abc import Container, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from sqlalchemy import Engine

from cloudconsole.cli import output
from cloudconsole.cli.i18n import current_language, translate
from cloudconsole.operator.cloud_file.dumper import dump
from cloudconsole.operator.cloud_file.loader import Summary, apply_cloud_file, read_cloud, read_cloud_file
from cloudconsole.operator.cloud_file.model import CloudFile
from cloudconsole.operator.maintenance.backup import atomic_output, reject_output_file
from cloudconsole.operator.new_and_existing_names import stored_names
from cloudconsole.operator.transaction import os_user_name
from cloudconsole.server.admin_ui.labels import label_of
from cloudconsole.server.admin_ui.names import NOTHING_TO_CHANGE
from cloudconsole.server.commands.admin import messages, transfer_messages
from cloudconsole.server.commands.admin.backup import STANDARD_STREAM, parse_stream, record_in_audit_log
from cloudconsole.server.commands.admin.store import (
    add_json_argument,
    add_store_arguments,
    add_zone_argument,
    now,
    store_to_read,
    wait_for_replicas,
)
from cloudconsole.server.commands.i18n import localized
from cloudconsole.server.config.settings import Settings
from cloudconsole.store.sqlite.store import SqliteStore

_STANDARD_INPUT: Final = (STANDARD_STREAM, "/dev/stdin")


def add_commands(commands: Any) -> None:
    loading = commands.add_parser(
        "load",
        help=translate(transfer_messages.LOAD),
        description=translate(transfer_messages.LOAD_DESCRIPTION),
        allow_abbrev=False,
    )
    loading.add_argument("file", metavar="FILE", help=translate(transfer_messages.LOAD_FILE))
    loading.add_argument("--dry-run", action="store_true", help=translate(messages.DRY_RUN_FLAG))
    loading.add_argument("--force", action="store_true", help=translate(transfer_messages.LOAD_FORCE))
    add_zone_argument(loading)
    add_json_argument(loading)
    loading.set_defaults(admin_command=_load)
    dumping = commands.add_parser(
        "dump",
        help=translate(transfer_messages.DUMP),
        description=translate(transfer_messages.DUMP_DESCRIPTION),
        allow_abbrev=False,
    )
    dumping.add_argument(
        "file", metavar="FILE", nargs="?", default=STANDARD_STREAM, help=translate(transfer_messages.DUMP_FILE)
    )
    dumping.set_defaults(admin_command=_dump)
    for command in (loading, dumping):
        add_store_arguments(command)


def _load(arguments: argparse.Namespace, settings: Settings) -> None:
    # Read first: an invalid file must not leave an empty store behind.
    with stored_names(settings.store) as existing_names:
        name, file, passwords = _read(arguments.file, settings, existing_names)
    is_new = not settings.store.exists()
    if is_new and not arguments.dry_run:
        # Nor must a file that breaks a rule.
        _apply(arguments, settings, name, file, passwords, dry_run=True)
    summary = _apply(arguments, settings, name, file, passwords, dry_run=arguments.dry_run)
    created = settings.store.location if is_new and not arguments.dry_run else None
    if arguments.json:
        changes = {table: counts._asdict() for table, counts in summary.counts.items()}
        output.print_json({"changes": changes, "dry_run": arguments.dry_run, "new_store": created})
    else:
        for line in _lines(summary, created, dry_run=arguments.dry_run):
            output.print_line(line)


def _read(source: str, settings: Settings, existing_names: Container[str]) -> tuple[str, CloudFile, dict[str, str]]:
    """Return the display name and the content of the source."""
    if source in _STANDARD_INPUT:
        name = "standard input"
        return name, *read_cloud(
            sys.stdin.buffer.read(), name, settings.zone, existing_names, settings.password_policy, beside=Path()
        )
    return Path(source).name, *read_cloud_file(Path(source), settings.zone, existing_names, settings.password_policy)


def _apply(
    arguments: argparse.Namespace,
    settings: Settings,
    name: str,
    file: CloudFile,
    passwords: dict[str, str],
    *,
    dry_run: bool,
) -> Summary:
    with _open_store(settings, dry_run=dry_run) as engine:
        return apply_cloud_file(
            engine,
            file,
            passwords,
            name=name,
            now=now(),
            actor=os_user_name(),
            zone=settings.zone,
            dry_run=dry_run,
            force=arguments.force,
        )


def _lines(summary: Summary, created: str | None, *, dry_run: bool) -> Iterator[str]:
    for table, counts in summary.counts.items():
        changes = [
            translate(transfer_messages.COUNTS[word], count=count) for word, count in counts._asdict().items() if count
        ]
        label = localized(label_of(f"load.{table}")) if current_language() == "zh" else table
        yield translate(messages.PROBLEM, field=label, problem=translate(messages.COMMA).join(changes))
    if not summary.changed:
        yield translate(NOTHING_TO_CHANGE)
    if dry_run and summary.changed:
        yield translate(messages.NOT_CHANGED)
    elif created is not None:
        yield translate(transfer_messages.NEW_STORE, location=created)


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
        # Recorded even if the pipe broke: the reader has part of the data.
        record_in_audit_log(settings.store, "dump", "standard output")


@contextmanager
def _open_store(settings: Settings, *, dry_run: bool) -> Iterator[Engine]:
    """Open the store, created if missing; a dry run creates it in a temporary directory."""
    with tempfile.TemporaryDirectory() as temporary:
        store = settings.store
        is_new = isinstance(store, SqliteStore) and not store.exists()
        if dry_run and is_new:
            store = SqliteStore(Path(temporary))
        if dry_run and not is_new:
            store.require_current("cloud")
        else:
            store.prepare(os_user_name())
        try:
            with store.opened("cloud") as engine:
                yield engine
        finally:
            if not dry_run:
                wait_for_replicas(settings)
