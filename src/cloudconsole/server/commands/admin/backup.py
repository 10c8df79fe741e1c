"""`backup`, `restore` and `recount`; on PostgreSQL, the commands that do it there."""

import argparse
import os
import re
import shlex
import sys
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final

from cloudconsole.cli import output
from cloudconsole.operator.audit import record_copy
from cloudconsole.operator.errors import OperatorError
from cloudconsole.operator.maintenance.backup import StagedRestore, restore, stage_restore, write_backup
from cloudconsole.operator.maintenance.repair import recount
from cloudconsole.operator.serializers import Record
from cloudconsole.server.commands.admin.store import add_json_argument, add_store_arguments, now, require_store, store
from cloudconsole.server.commands.common import user_name
from cloudconsole.server.config.settings import Settings
from cloudconsole.spec.text import escape
from cloudconsole.store.base import DATABASE_NAMES, Store
from cloudconsole.store.sqlite.engine import database_file

if TYPE_CHECKING:
    from cloudconsole.store.postgres.dsn import Dsn

STANDARD_STREAM: Final = "-"
_STANDARD_OUTPUT: Final = (STANDARD_STREAM, "/dev/stdout", "/dev/fd/1")
_OPEN_FILE: Final = re.compile(r"/dev/fd/(\d{1,9})", re.ASCII)


def parse_stream(name: str) -> IO[bytes] | None:
    """What is open already under a name: standard output, or what a shell's `>(command)` stands for."""
    if name in _STANDARD_OUTPUT:
        return sys.stdout.buffer
    number = _OPEN_FILE.fullmatch(name)
    return os.fdopen(int(number[1]), "wb", closefd=False) if number else None


def record_in_audit_log(store: Store, change: str, subject: str, after: Record | None = None) -> None:
    """Note the copy in the trail; where that cannot be, say so: the copy is there nevertheless."""
    problem = record_copy(store, change, subject, after, actor=user_name(), now=now())
    if problem is not None:
        sys.stderr.write(f"cloudconsole: the {change} is done, but not in the audit trail: {escape(problem)}\n")


def how_to_back_up(settings: Settings, file: str) -> str:
    from cloudconsole.store.postgres.dsn import backup_command

    return (
        f"{settings.store} is backed up by PostgreSQL's own program; the file will hold secrets: "
        f"umask 077; {backup_command(_address(settings), file)}"
    )


def how_to_restore(settings: Settings, arguments: argparse.Namespace) -> str:
    from cloudconsole.store.postgres.dsn import holds_password, restore_command

    address = _address(settings)
    is_hidden = holds_password(address.given) and address.password_file is None
    hidden = "; all three need its password, which is not shown, by PGPASSWORD or PGPASSFILE" if is_hidden else ""
    same = _same_store(address, arguments.config)
    return (
        f"{settings.store} is restored by PostgreSQL's own program, while nothing serves it; then its tables are "
        f"brought up to date, and the sessions ended that live again{hidden}: "
        f"{restore_command(address, str(arguments.file))} && "
        f"cloudconsole admin migrate{same} && cloudconsole admin end-sessions{same}"
    )


def _address(settings: Settings) -> "Dsn":
    from cloudconsole.store.postgres.dsn import Dsn

    return Dsn(settings.database or "", settings.database_password_file)


def _same_store(address: "Dsn", config: str | None) -> str:
    """Flags that name this store, wherever it was named: what is pasted must act on no other."""
    from cloudconsole.store.postgres.dsn import without_password

    given = {
        "--config": config,
        "--database": without_password(address.given),
        "--database-password-file": address.password_file,
    }
    return "".join(f" {shlex.join((flag, str(value)))}" for flag, value in given.items() if value is not None)


def add_commands(subparsers: Any) -> None:
    backing_up = subparsers.add_parser(
        "backup",
        help="write the whole store to one file",
        description="Write the whole store to one file, as it is at one moment, also while it is being served. "
        "The file holds secrets: keep it where nobody else can read it.",
        allow_abbrev=False,
    )
    backing_up.add_argument("file", metavar="FILE", help="where to")
    backing_up.add_argument("--force", action="store_true", help="replace a file that is there already")
    backing_up.set_defaults(admin_command=_back_up)
    restoring = subparsers.add_parser(
        "restore",
        help="make the store what a backup holds",
        description="Make the store what a backup holds, also while it is being served. All that came since is gone "
        "but the audit trails, and all sessions end.",
        allow_abbrev=False,
    )
    restoring.add_argument("file", metavar="FILE", type=Path, help="a backup")
    restoring.add_argument("--to", metavar="DIR", type=Path, help="make a new store in this empty folder instead")
    restoring.add_argument(
        "--keep-sessions",
        action="store_true",
        help="let the backup's sessions live again, those that were ended since, too",
    )
    restoring.add_argument("--yes", action="store_true", help="do not ask")
    restoring.set_defaults(admin_command=_restore)
    recounting = subparsers.add_parser(
        "recount",
        help="set all totals anew from the resources",
        description="Set all totals anew from the resources: what doctor asks for where it finds them wrong.",
        allow_abbrev=False,
    )
    recounting.set_defaults(admin_command=_recount)
    for parser in (backing_up, restoring, recounting):
        add_store_arguments(parser)
        add_json_argument(parser)


def _back_up(arguments: argparse.Namespace, settings: Settings) -> None:
    if parse_stream(arguments.file) is not None:
        raise OperatorError(f"{arguments.file}: a backup is written to a file only: give its name")
    if settings.database is not None:
        raise OperatorError(how_to_back_up(settings, arguments.file))
    require_store(settings)
    file = Path(arguments.file)
    manifest = write_backup(settings.data, file, now=now(), force=arguments.force)
    size = sum(entry.bytes for entry in manifest.files.values())
    record_in_audit_log(settings.store, "backup", file.name, {"made_at": manifest.made_at, "bytes": size})
    if arguments.json:
        output.print_json({"file": str(file), "made_at": manifest.made_at, "bytes": size})
        return
    output.print_line(f"wrote {file}: the store as of {manifest.made_at}, {size} bytes, checked")
    output.print_line("it holds password hashes and keys: keep it as safe as the store itself")


def _restore(arguments: argparse.Namespace, settings: Settings) -> None:
    if settings.database is not None and arguments.to is None:
        raise OperatorError(how_to_restore(settings, arguments))
    folder: Path = arguments.to or settings.data
    if arguments.to and folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise OperatorError(f"--to: {folder} is not an empty folder: give one that is, or that is not there yet")
    is_there = any(database_file(folder, part).exists() for part in DATABASE_NAMES)
    with stage_restore(arguments.file, folder) as backup:
        if is_there and not arguments.yes:
            _ask(backup, folder, keep_sessions=arguments.keep_sessions)
        lines_kept = restore(
            backup,
            folder,
            actor=user_name(),
            now=now(),
            zone=settings.zone,
            keep_sessions=arguments.keep_sessions,
        )
    made_at, sessions_ended = backup.manifest.made_at, not arguments.keep_sessions
    if arguments.json:
        about = {"store": str(folder.resolve()), "made_at": made_at, **backup.holds}
        output.print_json({**about, "sessions_ended": sessions_ended, "lines_kept": lines_kept})
        return
    output.print_line(f"{folder.resolve()} is now the store as of {made_at}: {_contents(backup)}")
    if lines_kept:
        output.print_line(f"lines of the audit trail that the backup does not have, and that were kept: {lines_kept}")
    if sessions_ended:
        output.print_line("all sessions have ended: everyone logs in again")


def _ask(backup: StagedRestore, folder: Path, *, keep_sessions: bool) -> None:
    if not sys.stdin.isatty():
        raise OperatorError(f"this replaces all that is in {folder}: give --yes, or run it on a terminal")
    sessions = "the backup's sessions live again" if keep_sessions else "all sessions end"
    # Not among what the command gives, which may be JSON.
    sys.stderr.write(
        f"The backup is of {backup.manifest.made_at}: {_contents(backup)}.\n"
        f"It replaces all that is in {folder.resolve()}; {sessions}.\n"
        "Type yes to go on: "
    )
    sys.stderr.flush()
    if sys.stdin.readline().strip().lower() != "yes":
        raise OperatorError("nothing was changed")


def _recount(arguments: argparse.Namespace, settings: Settings) -> None:
    with store(settings) as engine:
        corrected = recount(engine, actor=user_name(), now=now(), zone=settings.zone)
    if arguments.json:
        output.print_json({"corrected": corrected})
    else:
        output.print_line(f"{corrected} counters corrected" if corrected else "nothing to change")


def _contents(backup: StagedRestore) -> str:
    return ", ".join(f"{count} {table}" for table, count in backup.holds.items())
