"""`admin backup` and `restore`; for PostgreSQL, print the commands to run instead."""

import argparse
import os
import re
import shlex
import sys
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final

from cloudconsole.cli import output
from cloudconsole.operator.audit import BACKUP, record_copy
from cloudconsole.operator.errors import OperatorError
from cloudconsole.operator.maintenance.backup import StagedRestore, restore, stage_restore, write_backup
from cloudconsole.operator.rows_and_records import Record
from cloudconsole.operator.transaction import os_user_name
from cloudconsole.server.commands.admin.store import add_json_argument, add_store_arguments, now, require_store
from cloudconsole.server.config.settings import Settings
from cloudconsole.spec.text_escaping import escape
from cloudconsole.store.base import DATABASE_NAMES, Store
from cloudconsole.store.sqlite.engine import database_file

if TYPE_CHECKING:
    from cloudconsole.store.postgres.dsn import Dsn

STANDARD_STREAM: Final = "-"
_STANDARD_OUTPUT: Final = (STANDARD_STREAM, "/dev/stdout", "/dev/fd/1")
_OPEN_FILE: Final = re.compile(r"/dev/fd/(\d{1,9})", re.ASCII)


def parse_stream(name: str) -> IO[bytes] | None:
    """Return the open stream behind a name: standard output, or a shell's `>(command)`; None for a file."""
    if name in _STANDARD_OUTPUT:
        return sys.stdout.buffer
    number = _OPEN_FILE.fullmatch(name)
    return os.fdopen(int(number[1]), "wb", closefd=False) if number else None


def record_in_audit_log(store: Store, change: str, subject: str, after: Record | None = None) -> None:
    """Record a finished copy in the audit log; only warn on failure, since the copy exists."""
    problem = record_copy(store, change, subject, after, actor=os_user_name(), now=now())
    if problem is not None:
        sys.stderr.write(f"cloudconsole: {change} finished but not recorded in the audit log: {escape(problem)}\n")


def how_to_back_up(settings: Settings, file: str) -> str:
    from cloudconsole.store.postgres.dsn import backup_command

    return (
        f"back up {settings.store} with PostgreSQL tools; the file contains secrets: "
        f"umask 077; {backup_command(_address(settings), file)}"
    )


def how_to_restore(settings: Settings, arguments: argparse.Namespace) -> str:
    from cloudconsole.store.postgres.dsn import holds_password, restore_command

    address = _address(settings)
    is_hidden = holds_password(address.given) and address.password_file is None
    hidden = "; pass the password, not shown here, to all three in PGPASSWORD or PGPASSFILE" if is_hidden else ""
    same = _same_store(address, arguments.config)
    return (
        f"restore {settings.store} with PostgreSQL tools while nothing serves it, then migrate the tables and end the "
        f"restored sessions{hidden}: "
        f"{restore_command(address, str(arguments.file))} && "
        f"cloudconsole admin migrate{same} && cloudconsole admin end-sessions{same}"
    )


def _address(settings: Settings) -> "Dsn":
    from cloudconsole.store.postgres.dsn import Dsn

    return Dsn(settings.database or "", settings.database_password_file)


def _same_store(address: "Dsn", config: str | None) -> str:
    """Return flags that select this store however it was configured, so that pasted commands act on no other."""
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
        help="write the store to one file",
        description="Write a consistent snapshot of the store to one file, even while it is being served. "
        "The file contains secrets: keep it private.",
        allow_abbrev=False,
    )
    backing_up.add_argument("file", metavar="FILE", help="file to write")
    backing_up.add_argument("--force", action="store_true", help="overwrite an existing file")
    backing_up.set_defaults(admin_command=_back_up)
    restoring = subparsers.add_parser(
        "restore",
        help="replace the store with a backup",
        description="Replace the store with a backup, even while it is being served. Later data is lost except for "
        "the audit logs, and all sessions end.",
        allow_abbrev=False,
    )
    restoring.add_argument("file", metavar="FILE", type=Path, help="backup to restore")
    restoring.add_argument("--to", metavar="DIR", type=Path, help="create a new store in this empty directory instead")
    restoring.add_argument(
        "--keep-sessions",
        action="store_true",
        help="keep the backup's sessions valid, including those ended since",
    )
    restoring.add_argument("--yes", action="store_true", help="do not ask for confirmation")
    restoring.set_defaults(admin_command=_restore)
    for parser in (backing_up, restoring):
        add_store_arguments(parser)
        add_json_argument(parser)


def _back_up(arguments: argparse.Namespace, settings: Settings) -> None:
    if parse_stream(arguments.file) is not None:
        raise OperatorError(f"{arguments.file}: a backup can only be written to a file: pass a file name")
    if settings.database is not None:
        raise OperatorError(how_to_back_up(settings, arguments.file))
    require_store(settings)
    file = Path(arguments.file)
    manifest = write_backup(settings.data, file, now=now(), force=arguments.force)
    size = sum(entry.bytes for entry in manifest.files.values())
    record_in_audit_log(settings.store, BACKUP, file.name, {"made_at": manifest.made_at, "bytes": size})
    if arguments.json:
        output.print_json({"file": str(file), "made_at": manifest.made_at, "bytes": size})
        return
    output.print_line(f"wrote {file}: the store as of {manifest.made_at}, {size} bytes, verified")
    output.print_line("it contains password hashes and keys: protect it like the store itself")


def _restore(arguments: argparse.Namespace, settings: Settings) -> None:
    if settings.database is not None and arguments.to is None:
        raise OperatorError(how_to_restore(settings, arguments))
    directory: Path = arguments.to or settings.data
    if arguments.to and directory.exists() and (not directory.is_dir() or any(directory.iterdir())):
        raise OperatorError(f"--to: {directory} is not an empty directory: choose an empty or new one")
    store_exists = any(database_file(directory, part).exists() for part in DATABASE_NAMES)
    with stage_restore(arguments.file, directory) as backup:
        if store_exists and not arguments.yes:
            _confirm(backup, directory, keep_sessions=arguments.keep_sessions)
        audit_entries_retained = restore(
            backup,
            directory,
            actor=os_user_name(),
            now=now(),
            zone=settings.zone,
            keep_sessions=arguments.keep_sessions,
        )
    made_at, sessions_ended = backup.manifest.made_at, not arguments.keep_sessions
    if arguments.json:
        about = {"store": str(directory.resolve()), "made_at": made_at, **backup.row_counts}
        output.print_json({**about, "sessions_ended": sessions_ended, "audit_entries_retained": audit_entries_retained})
        return
    output.print_line(f"restored {directory.resolve()} to the store as of {made_at}: {_contents(backup)}")
    if audit_entries_retained:
        output.print_line(f"audit log entries retained that are not in the backup: {audit_entries_retained}")
    if sessions_ended:
        output.print_line("all sessions ended: everyone has to log in again")


def _confirm(backup: StagedRestore, directory: Path, *, keep_sessions: bool) -> None:
    if not sys.stdin.isatty():
        raise OperatorError(f"this replaces all data in {directory}: pass --yes or run on a terminal")
    sessions = "the backup's sessions become valid again" if keep_sessions else "all sessions end"
    # Not on standard output, which may be JSON.
    sys.stderr.write(
        f"Backup of {backup.manifest.made_at}: {_contents(backup)}.\n"
        f"It replaces all data in {directory.resolve()}; {sessions}.\n"
        "Type yes to continue: "
    )
    sys.stderr.flush()
    if sys.stdin.readline().strip().lower() != "yes":
        raise OperatorError("nothing was changed")


def _contents(backup: StagedRestore) -> str:
    return ", ".join(f"{count} {table}" for table, count in backup.row_counts.items())
