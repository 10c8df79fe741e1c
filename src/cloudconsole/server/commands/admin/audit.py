"""`admin audit`: print the audit log, or the access audit with `--access`."""

import argparse
from datetime import tzinfo
from typing import Any, Final

from cloudconsole.cli.i18n import translate
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
from cloudconsole.server.commands.admin import messages
from cloudconsole.server.commands.admin.entities import add_limit_argument, print_some
from cloudconsole.server.commands.admin.store import (
    add_json_argument,
    add_store_arguments,
    add_zone_argument,
    reading_transaction,
    store_to_read,
)
from cloudconsole.server.commands.i18n import localized
from cloudconsole.server.config.settings import Settings

_PAGE: Final = 1000


def add_commands(commands: Any) -> None:
    parser = commands.add_parser(
        "audit",
        help=translate(messages.AUDIT),
        description=translate(messages.AUDIT_DESCRIPTION),
        allow_abbrev=False,
    )
    parser.add_argument("--access", action="store_true", help=translate(messages.ACCESS_FLAG))
    parser.add_argument("--actor", metavar="NAME", help=translate(messages.ACTOR_FLAG))
    parser.add_argument("--change", metavar="PREFIX", help=translate(messages.CHANGE_FLAG))
    parser.add_argument("--subject", metavar="KEY", help=translate(messages.SUBJECT_FLAG))
    parser.add_argument("--since", metavar="TIME", help=translate(messages.SINCE_FLAG))
    parser.add_argument("--until", metavar="TIME", help=translate(messages.UNTIL_FLAG))
    parser.add_argument("--after", metavar="ID", type=_entry_id, help=translate(messages.AFTER_ENTRY_FLAG))
    add_limit_argument(parser)
    add_zone_argument(parser)
    add_store_arguments(parser)
    add_json_argument(parser)
    parser.set_defaults(admin_command=_audit, parser=parser)


def _audit(arguments: argparse.Namespace, settings: Settings) -> None:
    if arguments.access and arguments.subject is not None:
        arguments.parser.error(translate(messages.NO_SUBJECT))
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
            nothing = translate(messages.NOTHING)
            entries = (
                {**entry, "what": describe_change(entry["before"], entry["after"], nothing)} for entry in entries
            )
        columns = ACCESS_COLUMNS if arguments.access else CHANGE_COLUMNS
        print_some(
            entries,
            {name: translate(messages.AUDIT_COLUMNS[name]) for name in columns},
            arguments,
            lambda entry: entry["id"],
        )


def _moment(flag: str, text: str | None, zone: tzinfo) -> int | None:
    if text is None:
        return None
    try:
        return seconds_of(text, zone)
    except ValueError as problem:
        reason = localized(problem.args[0])
        raise OperatorError(translate(messages.PROBLEM, field=flag, problem=reason)) from None


def _entry_id(text: str) -> int:
    if not text.isascii() or not text.isdecimal() or len(text) > 18:
        raise argparse.ArgumentTypeError(translate(messages.ENTRY_ID))
    return int(text)
