"""`admin recount`, `prune`, `end-sessions`, `migrate` and `token-keys`."""

import argparse
import re
from typing import Any, Final

from cloudconsole.cli import output
from cloudconsole.cli.i18n import sentence, translate
from cloudconsole.cli.messages import COMMANDS
from cloudconsole.core.clock import format_utc
from cloudconsole.operator.entities.accounts import end_all_sessions
from cloudconsole.operator.entities.resources import recount
from cloudconsole.operator.maintenance.retention import MIN_DAYS, RetentionAges, Rule, count, prune, rules
from cloudconsole.operator.transaction import os_user_name
from cloudconsole.server.admin_ui.names import NOTHING_TO_CHANGE
from cloudconsole.server.commands.admin import messages
from cloudconsole.server.commands.admin.backup import record_in_audit_log
from cloudconsole.server.commands.admin.store import (
    add_json_argument,
    add_store_arguments,
    now,
    require_store,
    store,
    wait_for_replicas,
    writing_transaction,
)
from cloudconsole.server.commands.i18n import localized
from cloudconsole.server.config.settings import Settings
from cloudconsole.store.migrations import current_revision

_MAX_DAYS: Final = 9999


def add_commands(commands: Any) -> None:
    _add_recount(commands)
    _add_prune(commands)
    _add_end_sessions(commands)
    _add_migrate(commands)
    _add_token_keys(commands)


def _add_recount(subparsers: Any) -> None:
    parser = subparsers.add_parser(
        "recount",
        help=translate(messages.RECOUNT),
        description=translate(messages.RECOUNT_DESCRIPTION),
        allow_abbrev=False,
    )
    parser.set_defaults(admin_command=_recount)
    add_store_arguments(parser)
    add_json_argument(parser)


def _recount(arguments: argparse.Namespace, settings: Settings) -> None:
    with store(settings) as engine:
        corrected = recount(engine, actor=os_user_name(), now=now(), zone=settings.zone)
    if arguments.json:
        output.print_json({"corrected": corrected})
    else:
        done = messages.COUNTER_CORRECTED if corrected == 1 else messages.COUNTERS_CORRECTED
        output.print_line(translate(done, count=corrected) if corrected else translate(NOTHING_TO_CHANGE))


def _add_prune(subparsers: Any) -> None:
    parser = subparsers.add_parser(
        "prune",
        help=translate(messages.PRUNE),
        description=translate(messages.PRUNE_DESCRIPTION),
        allow_abbrev=False,
    )
    for name, purpose in messages.PRUNABLE.items():
        parser.add_argument(f"--{name.replace('_', '-')}", metavar="DAYS", type=_days, help=translate(purpose))
    parser.add_argument("--dry-run", action="store_true", help=translate(messages.PRUNE_DRY_RUN))
    add_store_arguments(parser)
    add_json_argument(parser)
    parser.set_defaults(admin_command=_prune)


def _days(text: str) -> int:
    if not re.fullmatch(r"[0-9]{1,6}d", text) or not MIN_DAYS <= int(text[:-1]) <= _MAX_DAYS:
        raise argparse.ArgumentTypeError(translate(messages.MUST_BE_DAYS, least=MIN_DAYS, most=_MAX_DAYS))
    return int(text[:-1])


def _prune(arguments: argparse.Namespace, settings: Settings) -> None:
    require_store(settings)
    ages = RetentionAges(**{name: getattr(arguments, name) for name in messages.PRUNABLE})
    chosen = rules(ages, now=now(), session_idle=settings.session_idle)
    store = settings.store
    if arguments.dry_run:
        store.require_current("cloud")
        store.require_current("activity")
        counts = count(store, chosen)
    else:
        store.prepare(os_user_name())
        try:
            counts = prune(store, chosen, actor=os_user_name(), now=now())
        finally:
            wait_for_replicas(settings)
    _report(arguments, chosen, counts)


def _report(arguments: argparse.Namespace, chosen: list[Rule], counts: dict[str, int]) -> None:
    if arguments.json:
        removed = {
            rule.table.name: {"rows": counts[rule.table.name], "before": format_utc(rule.before)} for rule in chosen
        }
        output.print_json({"removed": removed, "dry_run": arguments.dry_run})
        return
    line = messages.WOULD_PRUNE if arguments.dry_run else messages.PRUNED
    for rule in chosen:
        name = rule.table.name
        if counts[name]:
            output.print_line(translate(line, table=name, count=counts[name], time=format_utc(rule.before)))
    if not any(counts.values()):
        output.print_line(translate(messages.NOTHING_TO_REMOVE))
    elif arguments.dry_run:
        output.print_line(translate(messages.NOT_CHANGED))


def _add_end_sessions(commands: Any) -> None:
    parser = commands.add_parser(
        "end-sessions",
        help=translate(messages.END_SESSIONS),
        description=translate(messages.END_SESSIONS_DESCRIPTION),
        allow_abbrev=False,
    )
    add_store_arguments(parser)
    add_json_argument(parser)
    parser.set_defaults(admin_command=_end_sessions)


def _end_sessions(arguments: argparse.Namespace, settings: Settings) -> None:
    with (
        store(settings) as engine,
        store(settings, "activity") as activity,
        activity.begin() as sessions,
        writing_transaction(engine, settings) as tx,
    ):
        ended = end_all_sessions(tx, sessions)
    if arguments.json:
        output.print_json({"sessions": ended})
    else:
        output.print_line(translate(messages.ALL_SESSIONS_ENDED, count=ended))


def _add_migrate(commands: Any) -> None:
    parser = commands.add_parser(
        "migrate",
        help=translate(messages.MIGRATE),
        description=translate(messages.MIGRATE_DESCRIPTION),
        allow_abbrev=False,
    )
    add_store_arguments(parser)
    add_json_argument(parser)
    parser.set_defaults(admin_command=_migrate)


def _migrate(arguments: argparse.Namespace, settings: Settings) -> None:
    settings.store.migrate(os_user_name())
    wait_for_replicas(settings)
    with settings.store.opened("cloud") as engine:
        # May be newer than this version's, if a newer version migrated a store that this one can still serve.
        revision = current_revision(engine)
    if arguments.json:
        output.print_json({"store": settings.store.location, "revision": revision})
    else:
        output.print_line(translate(messages.MIGRATED, store=localized(settings.store), revision=revision))


def _add_token_keys(subparsers: Any) -> None:
    purpose = translate(messages.TOKEN_KEYS)
    parser = subparsers.add_parser("token-keys", help=purpose, description=sentence(purpose), allow_abbrev=False)
    verbs = parser.add_subparsers(title=translate(COMMANDS), metavar=translate(messages.VERB), required=True)
    rotating = verbs.add_parser(
        "rotate",
        help=translate(messages.ROTATE),
        description=translate(messages.ROTATE_DESCRIPTION),
        allow_abbrev=False,
    )
    rotating.set_defaults(admin_command=_rotate)
    add_store_arguments(rotating)
    add_json_argument(rotating)


def _rotate(arguments: argparse.Namespace, settings: Settings) -> None:
    # Loaded only here: no other command needs cryptography.
    from cloudconsole.backends.openstack.token_encryption_and_keys import read_keys, rotate_keys

    require_store(settings)
    file = settings.token_key_file
    rotate_keys(file)
    record_in_audit_log(settings.store, "token-keys.rotate", file.name)
    if arguments.json:
        output.print_json({"file": str(file), "keys": len(read_keys(file))})
    else:
        output.print_line(translate(messages.ROTATED, file=file))
