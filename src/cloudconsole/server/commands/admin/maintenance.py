"""`prune`, `end-sessions`, `migrate` and `token-keys`."""

import argparse
import re
from typing import Any, Final

from cloudconsole.cli import output
from cloudconsole.core.clock import format_utc
from cloudconsole.operator.maintenance.repair import end_all_sessions
from cloudconsole.operator.maintenance.retention import LEAST_DAYS, RetentionAges, Rule, count, prune, rules
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
from cloudconsole.server.commands.common import user_name
from cloudconsole.server.config.settings import Settings
from cloudconsole.store.migrations import current_revision

_WHAT: Final = {
    "ended_resources": "resources that ended so long ago",
    "audit": "lines of the operators' trail that are so old; those of prunings stay",
    "access_audit": "lines of the access trail that are so old",
}
_MOST_DAYS: Final = 9999


def add_commands(commands: Any) -> None:
    _add_prune(commands)
    _add_end_sessions(commands)
    _add_migrate(commands)
    _add_token_keys(commands)


def _add_prune(subparsers: Any) -> None:
    parser = subparsers.add_parser(
        "prune",
        help="remove ended resources, old lines of the trails and dead sessions",
        description="Remove what nothing needs any more, also while the console is served: sessions that are over, "
        "failed logins and sightings that no longer count, and, where their age is given, ended resources and lines "
        "of the trails. No figure changes by it.",
        allow_abbrev=False,
    )
    for name, purpose in _WHAT.items():
        flag = f"--{name.replace('_', '-')}"
        parser.add_argument(flag, metavar="DAYS", type=_days, help=f"remove {purpose}, such as 400d (default: none)")
    parser.add_argument("--dry-run", action="store_true", help="show what would be removed, and remove nothing")
    add_store_arguments(parser)
    add_json_argument(parser)
    parser.set_defaults(admin_command=_prune)


def _days(text: str) -> int:
    if not re.fullmatch(r"[0-9]{1,6}d", text) or not LEAST_DAYS <= int(text[:-1]) <= _MOST_DAYS:
        raise argparse.ArgumentTypeError(f"must be a number of days from {LEAST_DAYS}d to {_MOST_DAYS}d, such as 400d")
    return int(text[:-1])


def _prune(arguments: argparse.Namespace, settings: Settings) -> None:
    require_store(settings)
    ages = RetentionAges(**{name: getattr(arguments, name) for name in _WHAT})
    chosen = rules(ages, now=now(), session_idle=settings.session_idle)
    store = settings.store
    if arguments.dry_run:
        store.require_current("cloud")
        store.require_current("activity")
        found = count(store, chosen)
    else:
        store.prepare(user_name())
        try:
            found = prune(store, chosen, actor=user_name(), now=now())
        finally:
            wait_for_replicas(settings)
    _tell(arguments, chosen, found)


def _tell(arguments: argparse.Namespace, chosen: list[Rule], found: dict[str, int]) -> None:
    if arguments.json:
        removed = {
            rule.table.name: {"rows": found[rule.table.name], "before": format_utc(rule.before)} for rule in chosen
        }
        output.print_json({"removed": removed, "dry_run": arguments.dry_run})
        return
    verb = "would be removed" if arguments.dry_run else "removed"
    for rule in chosen:
        name = rule.table.name
        if found[name]:
            output.print_line(f"{name}: {found[name]} {verb}, from before {format_utc(rule.before)}")
    if not any(found.values()):
        output.print_line("nothing to remove")
    elif arguments.dry_run:
        output.print_line("nothing was changed: this was a dry run")


def _add_end_sessions(commands: Any) -> None:
    parser = commands.add_parser(
        "end-sessions",
        help="log everyone out",
        description="Log everyone out, at once, operators too: for after an earlier state of the store was put back, "
        "in which sessions that had ended live again. For one account: cloudconsole admin account end-sessions.",
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
        output.print_line(f"all sessions have ended ({ended}): everyone logs in again")


def _add_migrate(commands: Any) -> None:
    parser = commands.add_parser(
        "migrate",
        help="make the store's tables, or bring them up to date",
        description="Make the store's tables, or bring them up to date. On PostgreSQL nothing else does: run it once "
        "before replicas of a new version are started. Several at once do no harm.",
        allow_abbrev=False,
    )
    add_store_arguments(parser)
    add_json_argument(parser)
    parser.set_defaults(admin_command=_migrate)


def _migrate(arguments: argparse.Namespace, settings: Settings) -> None:
    settings.store.migrate(user_name())
    wait_for_replicas(settings)
    with settings.store.opened("cloud") as engine:
        # A newer one, where this version is the older of two that can serve the store.
        revision = current_revision(engine)
    if arguments.json:
        output.print_json({"store": settings.store.location, "revision": revision})
    else:
        output.print_line(f"the tables of {settings.store} are up to date (revision {revision})")


def _add_token_keys(subparsers: Any) -> None:
    purpose = "the keys that encrypt tokens of a cloud behind the console: rotate"
    parser = subparsers.add_parser("token-keys", help=purpose, description=f"{purpose}.", allow_abbrev=False)
    verbs = parser.add_subparsers(title="commands", metavar="VERB", required=True)
    rotating = verbs.add_parser(
        "rotate",
        help="encrypt tokens with a new key from now on",
        description="Encrypt tokens with a new key from now on; a console that is served notices it within a second. "
        "The key before it is kept and older ones go: whoever logged in before the last rotation logs in again.",
        allow_abbrev=False,
    )
    rotating.set_defaults(admin_command=_rotate)
    add_store_arguments(rotating)
    add_json_argument(rotating)


def _rotate(arguments: argparse.Namespace, settings: Settings) -> None:
    # Loaded only here: no other command needs cryptography.
    from cloudconsole.backends.openstack.token_encryption import read_keys, rotate_keys

    require_store(settings)
    file = settings.token_key_file
    rotate_keys(file)
    record_in_audit_log(settings.store, "token-keys.rotate", file.name)
    if arguments.json:
        output.print_json({"file": str(file), "keys": len(read_keys(file))})
    else:
        output.print_line(f"{file}: a new key encrypts tokens from now on; the one before still opens those it sealed")
