"""`admin recount`, `prune`, `end-sessions`, `migrate` and `token-keys`."""

import argparse
import re
from typing import Any, Final

from cloudconsole.cli import output
from cloudconsole.cli.i18n import sentence
from cloudconsole.core.clock import format_utc
from cloudconsole.operator.entities.accounts import end_all_sessions
from cloudconsole.operator.entities.resources import recount
from cloudconsole.operator.maintenance.retention import MIN_DAYS, RetentionAges, Rule, count, prune, rules
from cloudconsole.operator.transaction import os_user_name
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
from cloudconsole.server.config.settings import Settings
from cloudconsole.store.migrations import current_revision

_PRUNABLE: Final = {
    "ended_resources": "resources that ended more than DAYS ago",
    "audit": "audit log entries older than DAYS, except those of prune itself",
    "access_audit": "access audit entries older than DAYS",
}
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
        help="recompute all totals from the resources",
        description="Recompute all totals from the resources. Run it when doctor reports wrong totals.",
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
        output.print_line(
            f"{corrected} counter{'' if corrected == 1 else 's'} corrected" if corrected else "nothing to change"
        )


def _add_prune(subparsers: Any) -> None:
    parser = subparsers.add_parser(
        "prune",
        help="remove ended resources, old log entries and expired sessions",
        description="Remove data that is no longer needed, even while the console is being served: expired sessions, "
        "outdated failed logins and observed resources and, if an age is given, ended resources and log entries. "
        "No reported figure changes.",
        allow_abbrev=False,
    )
    for name, purpose in _PRUNABLE.items():
        flag = f"--{name.replace('_', '-')}"
        parser.add_argument(flag, metavar="DAYS", type=_days, help=f"remove {purpose}, such as 400d (default: none)")
    parser.add_argument("--dry-run", action="store_true", help="show what would be removed; remove nothing")
    add_store_arguments(parser)
    add_json_argument(parser)
    parser.set_defaults(admin_command=_prune)


def _days(text: str) -> int:
    if not re.fullmatch(r"[0-9]{1,6}d", text) or not MIN_DAYS <= int(text[:-1]) <= _MAX_DAYS:
        raise argparse.ArgumentTypeError(f"must be a number of days from {MIN_DAYS}d to {_MAX_DAYS}d, such as 400d")
    return int(text[:-1])


def _prune(arguments: argparse.Namespace, settings: Settings) -> None:
    require_store(settings)
    ages = RetentionAges(**{name: getattr(arguments, name) for name in _PRUNABLE})
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
    verb = "would be removed" if arguments.dry_run else "removed"
    for rule in chosen:
        name = rule.table.name
        if counts[name]:
            output.print_line(f"{name}: {counts[name]} {verb}, from before {format_utc(rule.before)}")
    if not any(counts.values()):
        output.print_line("nothing to remove")
    elif arguments.dry_run:
        output.print_line("dry run: nothing was changed")


def _add_end_sessions(commands: Any) -> None:
    parser = commands.add_parser(
        "end-sessions",
        help="log everyone out",
        description="End all sessions, including those of operators. Run it after restoring an earlier state of the "
        "database, which makes ended sessions valid again. For one account: cloudconsole admin account end-sessions.",
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
        output.print_line(f"all sessions ended ({ended}): everyone has to log in again")


def _add_migrate(commands: Any) -> None:
    parser = commands.add_parser(
        "migrate",
        help="create or migrate the store's tables",
        description="Create or migrate the store's tables. PostgreSQL stores are migrated only by this command: run "
        "it once before starting replicas of a new version. Concurrent runs are safe.",
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
        output.print_line(f"the tables of {settings.store} are up to date (revision {revision})")


def _add_token_keys(subparsers: Any) -> None:
    purpose = "keys that encrypt stored Keystone tokens: rotate"
    parser = subparsers.add_parser("token-keys", help=purpose, description=sentence(purpose), allow_abbrev=False)
    verbs = parser.add_subparsers(title="commands", metavar="VERB", required=True)
    rotating = verbs.add_parser(
        "rotate",
        help="encrypt tokens with a new key from now on",
        description="Encrypt tokens with a new key from now on; running consoles pick it up within a second. "
        "The previous key remains valid, older ones are removed: users who logged in before the previous rotation "
        "have to log in again.",
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
        output.print_line(f"{file}: tokens are now encrypted with a new key; the previous key stays valid")
