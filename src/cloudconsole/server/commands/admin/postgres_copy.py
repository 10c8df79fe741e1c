"""`cloudconsole admin copy-to`: move an embedded store to PostgreSQL."""

import argparse
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cloudconsole.cli import output
from cloudconsole.server.commands.admin.backup import record_in_audit_log
from cloudconsole.server.commands.admin.progress import showing_rows
from cloudconsole.server.commands.admin.store import add_json_argument, now
from cloudconsole.server.commands.common import user_name
from cloudconsole.server.commands.passwords import warn_password_in_arguments
from cloudconsole.server.config.docs import add_config_flag
from cloudconsole.server.config.settings import Settings
from cloudconsole.server.config.types import DATABASE
from cloudconsole.store.base import StoreError
from cloudconsole.store.sqlite.store import SqliteStore

if TYPE_CHECKING:
    from cloudconsole.operator.maintenance.postgres_copy import CopyResult


def add_commands(subparsers: Any) -> None:
    parser = subparsers.add_parser(
        "copy-to",
        help="copy the embedded store to a PostgreSQL database",
        description="Copy the whole embedded store, sessions included, to an empty PostgreSQL database, and compare "
        "the two row by row: all of it, or nothing. Stop cloudconsole serve first; afterwards serve the database.",
        allow_abbrev=False,
    )
    parser.add_argument("address", metavar="ADDRESS", type=_address, help=f"where to: {DATABASE.wanted}")
    parser.add_argument("--password-file", metavar="FILE", type=Path, help="file with the password for the database")
    parser.add_argument(
        "--while-served",
        action="store_true",
        help="copy the store as it is now although it is being served: later changes are not in the copy",
    )
    add_config_flag(parser)
    parser.add_argument("--data", metavar="DIR", help="folder of the store (default: as the settings say, else data)")
    add_json_argument(parser)
    parser.set_defaults(admin_command=_copy_to)


def _address(text: str) -> str:
    try:
        return str(DATABASE.from_text(text))
    except ValueError as problem:
        raise argparse.ArgumentTypeError(str(problem)) from None


def _copy_to(arguments: argparse.Namespace, settings: Settings) -> None:
    # Only now: most commands need no PostgreSQL.
    from cloudconsole.operator.maintenance.postgres_copy import COPY_TO, copy_to_postgres
    from cloudconsole.store.postgres.dsn import Dsn
    from cloudconsole.store.postgres.store import PostgresStore

    warn_password_in_arguments(arguments.address)
    store = SqliteStore(settings.data)
    if not store.exists():
        raise StoreError(f"there is no store in {settings.data}: give its folder with --data")
    target = PostgresStore(Dsn(arguments.address, arguments.password_file))
    with showing_rows() as tell:
        moved = copy_to_postgres(
            store, target.address, actor=user_name(), now=now(), while_served=arguments.while_served, tell=tell
        )
    time.sleep(target.replication_wait_seconds)
    record_in_audit_log(store, COPY_TO, str(target), {"moment": moved.moment})
    _tell(arguments, store, target.location, moved)


def _tell(arguments: argparse.Namespace, store: SqliteStore, place: str, moved: "CopyResult") -> None:
    if moved.is_behind:
        sys.stderr.write(
            f"cloudconsole: {store} was written to since {moved.moment}: what came later is not in the copy\n"
        )
    if arguments.json:
        output.print_json(
            {"store": place, "moment": moved.moment, "rows": moved.rows, "written_since": moved.is_behind}
        )
        return
    for table, count in moved.rows.items():
        if count:
            output.print_line(f"{table}: {count}")
    output.print_line(f"{store} as of {moved.moment} is now in {place}, compared row by row")
    output.print_line("serve it with the setting database")
