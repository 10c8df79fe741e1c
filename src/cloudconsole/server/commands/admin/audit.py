"""`admin audit`: print the audit log, or the access audit with `--access`."""

import argparse
from datetime import tzinfo
from typing import Any, Final

from cloudconsole.operator.audit import (
    ACCESS_COLUMNS,
    CHANGE_COLUMNS,
    AuditQuery,
    all_entries,
    describe_change,
    find_accesses,
    find_changes,
)
from cloudconsole.operator.errors import OperatorError
from cloudconsole.operator.fields import seconds_of
from cloudconsole.server.commands.admin.entities import add_limit_argument, print_some
from cloudconsole.server.commands.admin.store import (
    add_json_argument,
    add_store_arguments,
    add_zone_argument,
    reading_transaction,
    store_to_read,
)
from cloudconsole.server.config.settings import Settings

_PAGE: Final = 1000


def add_commands(commands: Any) -> None:
    parser = commands.add_parser(
        "audit",
        help="show who changed what, and who logged in",
        description="Show changes by operators, newest first; with --access, logins, logouts and rejected logins.",
        allow_abbrev=False,
    )
    parser.add_argument("--access", action="store_true", help="show the access audit (logins and logouts) instead")
    parser.add_argument("--actor", metavar="NAME", help="only by this operator; with --access, of this account")
    parser.add_argument("--change", metavar="PREFIX", help="only changes or events with this prefix, such as account.")
    parser.add_argument("--subject", metavar="KEY", help="only changes to the entity with this key")
    parser.add_argument("--since", metavar="TIME", help="only from this time")
    parser.add_argument("--until", metavar="TIME", help="only before this time")
    parser.add_argument("--after", metavar="ID", type=_entry_id, help="continue after this entry")
    add_limit_argument(parser)
    add_zone_argument(parser)
    add_store_arguments(parser)
    add_json_argument(parser)
    parser.set_defaults(admin_command=_audit, parser=parser)


def _audit(arguments: argparse.Namespace, settings: Settings) -> None:
    if arguments.access and arguments.subject is not None:
        arguments.parser.error("--subject: access audit entries have no subject; use --actor")
    query = AuditQuery(
        actor=arguments.actor,
        change=arguments.change,
        subject=arguments.subject,
        since=_moment("--since", arguments.since, settings.zone),
        until=_moment("--until", arguments.until, settings.zone),
        after=arguments.after,
        limit=_PAGE,
    )
    read = find_accesses if arguments.access else find_changes
    with (
        store_to_read(settings, "activity" if arguments.access else "cloud") as engine,
        reading_transaction(engine, settings) as tx,
    ):
        entries = all_entries(read, tx.connection, query)
        if not (arguments.access or arguments.json):
            entries = ({**entry, "what": describe_change(entry["before"], entry["after"])} for entry in entries)
        columns = ACCESS_COLUMNS if arguments.access else CHANGE_COLUMNS
        print_some(entries, list(columns), arguments, lambda entry: entry["id"])


def _moment(flag: str, text: str | None, zone: tzinfo) -> int | None:
    if text is None:
        return None
    try:
        return seconds_of(text, zone)
    except ValueError as problem:
        raise OperatorError(f"{flag}: {problem}") from None


def _entry_id(text: str) -> int:
    if not text.isascii() or not text.isdecimal() or len(text) > 18:
        raise argparse.ArgumentTypeError("must be the id of an entry")
    return int(text)
