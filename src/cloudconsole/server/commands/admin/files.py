"""`admin load` and `admin dump`: make a store equal to a file, or write a store out as one."""

import argparse
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from sqlalchemy import Engine

from cloudconsole.operator.cloudfile.dump import dump
from cloudconsole.operator.cloudfile.load import Summary, make_equal, read_cloud_file
from cloudconsole.operator.cloudfile.model import CloudFile
from cloudconsole.server.commands.admin import printing
from cloudconsole.server.commands.admin.stores import (
    add_json_argument,
    add_store_arguments,
    add_zone_argument,
    now,
    store,
)
from cloudconsole.server.commands.whoami import user_name
from cloudconsole.server.settings import Settings
from cloudconsole.store.engine import database_file, opened
from cloudconsole.store.preparing import prepare


def add_commands(commands: Any) -> None:
    loading = commands.add_parser(
        "load",
        help="make the store equal to a file",
        description="Make the store equal to a file: what is not in the file is removed. All of it, or nothing.",
        allow_abbrev=False,
    )
    loading.add_argument("file", metavar="FILE", type=Path, help="the cloud as YAML")
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
    dumping.add_argument("file", metavar="FILE", type=Path, nargs="?", help="where to (default: standard output)")
    dumping.set_defaults(admin_command=_dump)
    for command in (loading, dumping):
        add_store_arguments(command)


def _load(arguments: argparse.Namespace, settings: Settings) -> None:
    # Read first: a file with problems must not leave an empty store behind.
    file, passwords = read_cloud_file(arguments.file, settings.zone)
    is_new = not database_file(settings.data, "cloud").exists()
    if is_new and not arguments.dry_run:
        # Nor must one that a rule refuses: tried first.
        _make_equal(arguments, settings, file, passwords, dry_run=True)
    summary = _make_equal(arguments, settings, file, passwords, dry_run=arguments.dry_run)
    made = settings.data.resolve() if is_new and not arguments.dry_run else None
    if arguments.json:
        changes = {table: counts._asdict() for table, counts in summary.counts.items()}
        printing.print_json(
            {"changes": changes, "dry_run": arguments.dry_run, "new_store": None if made is None else str(made)}
        )
    else:
        printing.print_line("\n".join(_lines(summary, made, dry_run=arguments.dry_run)))


def _make_equal(
    arguments: argparse.Namespace, settings: Settings, file: CloudFile, passwords: dict[str, str], *, dry_run: bool
) -> Summary:
    with _made_store(settings.data, for_trial=dry_run) as engine:
        return make_equal(
            engine,
            file,
            passwords,
            name=arguments.file.name,
            now=now(),
            actor=user_name(),
            dry_run=dry_run,
            force=arguments.force,
        )


def _lines(summary: Summary, made: Path | None, *, dry_run: bool) -> Iterator[str]:
    yield str(summary)
    if dry_run and summary.changed:
        yield "nothing was changed: this was a dry run"
    elif made is not None:
        yield f"made a new store in {made}"


def _dump(arguments: argparse.Namespace, settings: Settings) -> None:
    with store(settings) as engine:
        content = dump(engine).encode()
    if arguments.file is None:
        sys.stdout.buffer.write(content)
    else:
        _write_whole(arguments.file, content)


@contextmanager
def _made_store(folder: Path, *, for_trial: bool) -> Iterator[Engine]:
    """The store in a folder, made where there is none; for a trial, an empty one that is thrown away."""
    with tempfile.TemporaryDirectory() as nowhere:
        is_new = not database_file(folder, "cloud").exists()
        place = Path(nowhere) if for_trial and is_new else folder
        prepare(place)
        with opened(place, "cloud") as engine:
            yield engine


def _write_whole(file: Path, content: bytes) -> None:
    """Put a file there for its owner alone: the old one stands until the new one is complete."""
    if file.exists() and not file.is_file():
        # A pipe or a device is written to, not replaced.
        file.write_bytes(content)
        return
    file = file.resolve()
    descriptor, name = tempfile.mkstemp(prefix=f".{file.name}.", dir=file.parent)
    try:
        with os.fdopen(descriptor, "wb") as temporary:
            temporary.write(content)
            temporary.flush()
            os.fsync(temporary.fileno())
        Path(name).replace(file)
    except BaseException:
        with suppress(OSError):
            Path(name).unlink()
        raise
