"""`cloudconsole admin`: make a store equal to a file, or write a store out as one."""

import argparse
import getpass
import os
import sqlite3
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from sqlalchemy import Engine
from sqlalchemy.exc import DBAPIError

from cloudconsole.core.clock import SystemClock
from cloudconsole.operator.cloudfile.dump import dump
from cloudconsole.operator.cloudfile.load import make_equal, read_cloud_file
from cloudconsole.operator.cloudfile.problems import CloudFileError
from cloudconsole.operator.errors import OperatorError
from cloudconsole.server.settings import SettingError, Settings, load_settings
from cloudconsole.store.engine import StoreError, database_file, open_engine
from cloudconsole.store.preparing import prepare

DONE: Final = 0
REFUSED: Final = 1


def add_arguments(parser: argparse.ArgumentParser) -> None:
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    loading = commands.add_parser(
        "load",
        help="make the store equal to a file",
        description="Make the store equal to a file: what is not in the file is removed. All of it, or nothing.",
        allow_abbrev=False,
    )
    loading.add_argument("file", metavar="FILE", type=Path, help="the cloud as YAML")
    loading.add_argument("--dry-run", action="store_true", help="show what would change, and change nothing")
    loading.add_argument(
        "--time-zone",
        metavar="ZONE",
        help="time zone of times without an offset (default: CLOUDCONSOLE_TIME_ZONE, else UTC)",
    )
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
        command.add_argument(
            "--data",
            metavar="DIR",
            help="folder of the store (default: CLOUDCONSOLE_DATA, else data)",
        )


def run(arguments: argparse.Namespace) -> int:
    try:
        settings = load_settings(flags={"data": arguments.data, "time_zone": getattr(arguments, "time_zone", None)})
    except SettingError as problem:
        return _refuse(str(problem))
    try:
        arguments.admin_command(arguments, settings)
        sys.stdout.flush()
    except BrokenPipeError:
        # Whoever read our output has left. Python would complain once more when it closes it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return REFUSED
    except CloudFileError as refused:
        sys.stderr.write(f"{refused}\n")
        return REFUSED
    except (OperatorError, StoreError) as refused:
        return _refuse(str(refused))
    except (DBAPIError, sqlite3.Error) as problem:
        reason = problem.orig if isinstance(problem, DBAPIError) else problem
        return _refuse(f"the store in {settings.data} cannot be used: {reason}")
    except OSError as problem:
        return _refuse(f"{problem.filename or 'output'}: {problem.strerror}")
    return DONE


def _load(arguments: argparse.Namespace, settings: Settings) -> None:
    # Read first: a file with problems must not leave an empty store behind.
    file, passwords = read_cloud_file(arguments.file, settings.zone)
    is_new = not database_file(settings.data, "cloud").exists()
    with _store(settings.data, for_trial=arguments.dry_run) as engine:
        now = int(SystemClock().now())
        summary = make_equal(engine, file, passwords, now=now, actor=_user(), dry_run=arguments.dry_run)
    lines = [str(summary)]
    if arguments.dry_run and summary.changed:
        lines.append("nothing was changed: this was a dry run")
    elif is_new and not arguments.dry_run:
        lines.append(f"made a new store in {settings.data.resolve()}")
    sys.stdout.write("\n".join(lines) + "\n")


def _dump(arguments: argparse.Namespace, settings: Settings) -> None:
    if not database_file(settings.data, "cloud").exists():
        raise StoreError(f"there is no store in {settings.data}: give its folder with --data")
    with _store(settings.data) as engine:
        content = dump(engine).encode()
    if arguments.file is None:
        sys.stdout.buffer.write(content)
    else:
        _write_whole(arguments.file, content)


@contextmanager
def _store(folder: Path, *, for_trial: bool = False) -> Iterator[Engine]:
    """The store in a folder. A trial where there is none yet has an empty one that is thrown away."""
    with tempfile.TemporaryDirectory() as nowhere:
        is_new = not database_file(folder, "cloud").exists()
        place = Path(nowhere) if for_trial and is_new else folder
        prepare(place)
        engine = open_engine(place, "cloud")
        try:
            yield engine
        finally:
            engine.dispose()


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


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError, ImportError):
        return f"user {os.getuid()}"


def _refuse(problem: str) -> int:
    sys.stderr.write(f"cloudconsole: {problem}\n")
    return REFUSED
