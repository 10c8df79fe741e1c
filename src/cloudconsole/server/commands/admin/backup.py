"""`admin backup` and `restore`; for PostgreSQL, print the commands to run instead."""

import argparse
import os
import re
import shlex
import sys
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final

from cloudconsole.cli import output
from cloudconsole.cli.i18n import translate
from cloudconsole.operator.audit import BACKUP, record_copy
from cloudconsole.operator.errors import OperatorError
from cloudconsole.operator.maintenance.backup import StagedRestore, restore, stage_restore, write_backup
from cloudconsole.operator.rows_and_records import Record
from cloudconsole.operator.transaction import os_user_name
from cloudconsole.server.commands.admin import messages, transfer_messages
from cloudconsole.server.commands.admin.store import add_json_argument, add_store_arguments, now, require_store
from cloudconsole.server.commands.i18n import localized
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
        text = translate(transfer_messages.NOT_RECORDED, change=change, problem=escape(localized(problem)))
        sys.stderr.write(f"cloudconsole: {text}\n")


def how_to_back_up(settings: Settings, file: str) -> str:
    from cloudconsole.store.postgres.dsn import backup_command

    return translate(
        transfer_messages.HOW_TO_BACK_UP,
        store=localized(settings.store),
        command=backup_command(_address(settings), file),
    )


def how_to_restore(settings: Settings, arguments: argparse.Namespace) -> str:
    from cloudconsole.store.postgres.dsn import holds_password, restore_command

    address = _address(settings)
    is_hidden = holds_password(address.given) and address.password_file is None
    hidden = translate(transfer_messages.HIDDEN_PASSWORD) if is_hidden else ""
    same = _same_store(address, arguments.config)
    command = (
        f"{restore_command(address, str(arguments.file))} && "
        f"cloudconsole admin migrate{same} && cloudconsole admin end-sessions{same}"
    )
    return translate(transfer_messages.HOW_TO_RESTORE, store=localized(settings.store), hidden=hidden, command=command)


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
        help=translate(transfer_messages.BACKUP),
        description=translate(transfer_messages.BACKUP_DESCRIPTION),
        allow_abbrev=False,
    )
    backing_up.add_argument("file", metavar="FILE", help=translate(transfer_messages.BACKUP_FILE))
    backing_up.add_argument("--force", action="store_true", help=translate(transfer_messages.BACKUP_FORCE))
    backing_up.set_defaults(admin_command=_back_up)
    restoring = subparsers.add_parser(
        "restore",
        help=translate(transfer_messages.RESTORE),
        description=translate(transfer_messages.RESTORE_DESCRIPTION),
        allow_abbrev=False,
    )
    restoring.add_argument("file", metavar="FILE", type=Path, help=translate(transfer_messages.RESTORE_FILE))
    restoring.add_argument("--to", metavar="DIR", type=Path, help=translate(transfer_messages.TO_FLAG))
    restoring.add_argument(
        "--keep-sessions",
        action="store_true",
        help=translate(transfer_messages.KEEP_SESSIONS_FLAG),
    )
    restoring.add_argument("--yes", action="store_true", help=translate(transfer_messages.YES_FLAG))
    restoring.set_defaults(admin_command=_restore)
    for parser in (backing_up, restoring):
        add_store_arguments(parser)
        add_json_argument(parser)


def _back_up(arguments: argparse.Namespace, settings: Settings) -> None:
    if parse_stream(arguments.file) is not None:
        raise OperatorError(translate(transfer_messages.BACKUP_TO_STREAM, file=arguments.file))
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
    output.print_line(translate(transfer_messages.BACKED_UP, file=file, time=manifest.made_at, size=size))
    output.print_line(translate(transfer_messages.BACKUP_IS_SECRET))


def _restore(arguments: argparse.Namespace, settings: Settings) -> None:
    if settings.database is not None and arguments.to is None:
        raise OperatorError(how_to_restore(settings, arguments))
    directory: Path = arguments.to or settings.data
    if arguments.to and directory.exists() and (not directory.is_dir() or any(directory.iterdir())):
        raise OperatorError(translate(transfer_messages.NOT_EMPTY, directory=directory))
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
    output.print_line(
        translate(transfer_messages.RESTORED, directory=directory.resolve(), time=made_at, contents=_contents(backup))
    )
    if audit_entries_retained:
        output.print_line(translate(transfer_messages.ENTRIES_RETAINED, count=audit_entries_retained))
    if sessions_ended:
        output.print_line(translate(transfer_messages.SESSIONS_ENDED))


def _confirm(backup: StagedRestore, directory: Path, *, keep_sessions: bool) -> None:
    if not sys.stdin.isatty():
        raise OperatorError(translate(transfer_messages.MUST_CONFIRM, directory=directory))
    sessions = translate(transfer_messages.SESSIONS_KEPT if keep_sessions else transfer_messages.SESSIONS_END)
    # Not on standard output, which may be JSON.
    question = {"time": backup.manifest.made_at, "contents": _contents(backup), "directory": directory.resolve()}
    sys.stderr.write(translate(transfer_messages.CONFIRM, **question, sessions=sessions))
    sys.stderr.flush()
    if sys.stdin.readline().strip().lower() != "yes":
        raise OperatorError(translate(transfer_messages.NOTHING_CHANGED))


def _contents(backup: StagedRestore) -> str:
    counted = backup.row_counts.items()
    return translate(messages.COMMA).join(
        translate(transfer_messages.CONTENTS[table], count=count) for table, count in counted
    )
