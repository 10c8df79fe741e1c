"""`cloudconsole admin copy-to`: move an embedded store to PostgreSQL."""

import argparse
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cloudconsole.cli import output
from cloudconsole.cli.i18n import translate
from cloudconsole.operator.transaction import os_user_name
from cloudconsole.server.commands.admin import messages, transfer_messages
from cloudconsole.server.commands.admin.backup import record_in_audit_log
from cloudconsole.server.commands.admin.progress import showing_rows
from cloudconsole.server.commands.admin.store import add_directory_arguments, add_json_argument, now
from cloudconsole.server.commands.i18n import argument_error, localized
from cloudconsole.server.commands.passwords import warn_password_in_arguments
from cloudconsole.server.config.settings import Settings
from cloudconsole.server.config.types import DATABASE
from cloudconsole.store.base import StoreError
from cloudconsole.store.sqlite.store import SqliteStore

if TYPE_CHECKING:
    from cloudconsole.operator.maintenance.postgres_copy import CopyResult
    from cloudconsole.store.postgres.store import PostgresStore


def add_commands(subparsers: Any) -> None:
    parser = subparsers.add_parser(
        "copy-to",
        help=translate(transfer_messages.COPY_TO),
        description=translate(transfer_messages.COPY_TO_DESCRIPTION),
        allow_abbrev=False,
    )
    target = translate(transfer_messages.TARGET_ARGUMENT, example=DATABASE.example)
    parser.add_argument("address", metavar="ADDRESS", type=_address, help=target)
    parser.add_argument("--password-file", metavar="FILE", type=Path, help=translate(messages.DATABASE_PASSWORD_FLAG))
    parser.add_argument(
        "--while-served",
        action="store_true",
        help=translate(transfer_messages.WHILE_SERVED_FLAG),
    )
    add_directory_arguments(parser)
    add_json_argument(parser)
    parser.set_defaults(admin_command=_copy_to)


def _address(text: str) -> str:
    try:
        return str(DATABASE.from_text(text))
    except ValueError as problem:
        raise argument_error(problem) from None


def _copy_to(arguments: argparse.Namespace, settings: Settings) -> None:
    # Imported here: other commands must work without the postgres extra.
    from cloudconsole.operator.maintenance.postgres_copy import COPY_TO, copy_to_postgres
    from cloudconsole.store.postgres.dsn import Dsn
    from cloudconsole.store.postgres.store import PostgresStore

    warn_password_in_arguments(arguments.address)
    store = SqliteStore(settings.data)
    if not store.exists():
        raise StoreError(translate(messages.NO_STORE, directory=settings.data))
    target = PostgresStore(Dsn(arguments.address, arguments.password_file))
    with showing_rows() as show_rows:
        result = copy_to_postgres(
            store,
            target.address,
            actor=os_user_name(),
            now=now(),
            while_served=arguments.while_served,
            on_progress=show_rows,
        )
    time.sleep(target.replication_wait_seconds)
    record_in_audit_log(store, COPY_TO, str(target), {"moment": result.moment})
    _report(arguments, store, target, result)


def _report(arguments: argparse.Namespace, store: SqliteStore, target: "PostgresStore", result: "CopyResult") -> None:
    if result.is_behind:
        behind = translate(transfer_messages.COPY_BEHIND, store=localized(store), time=result.moment)
        sys.stderr.write(f"cloudconsole: {behind}\n")
    if arguments.json:
        output.print_json(
            {"store": target.location, "moment": result.moment, "rows": result.rows, "written_since": result.is_behind}
        )
        return
    for table, count in result.rows.items():
        if count:
            output.print_line(f"{table}: {count}")
    output.print_line(
        translate(transfer_messages.COPIED, store=localized(store), time=result.moment, location=localized(target))
    )
    output.print_line(translate(transfer_messages.SERVE_COPY))
