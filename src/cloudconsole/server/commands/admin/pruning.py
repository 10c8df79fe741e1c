"""`cloudconsole admin prune`: forget what nothing needs any more, while the console is served or not."""

import argparse
import re
from typing import Any, Final

from cloudconsole.cli import output
from cloudconsole.core.clock import time_text
from cloudconsole.operator.maintenance.retention import LEAST_DAYS, Ages, Rule, count, prune, rules
from cloudconsole.server.commands.admin.stores import (
    add_json_argument,
    add_store_arguments,
    now,
    require_store,
    settle,
)
from cloudconsole.server.commands.whoami import user_name
from cloudconsole.server.config.settings import Settings

_WHAT: Final = {
    "ended_resources": "resources that ended so long ago",
    "audit": "lines of the operators' trail that are so old; those of prunings stay",
    "access_audit": "lines of the access trail that are so old",
}
_MOST_DAYS: Final = 9999


def add_commands(subparsers: Any) -> None:
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
    ages = Ages(**{name: getattr(arguments, name) for name in _WHAT})
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
            settle(settings)
    _tell(arguments, chosen, found)


def _tell(arguments: argparse.Namespace, chosen: list[Rule], found: dict[str, int]) -> None:
    if arguments.json:
        removed = {
            rule.table.name: {"rows": found[rule.table.name], "before": time_text(rule.before)} for rule in chosen
        }
        output.print_json({"removed": removed, "dry_run": arguments.dry_run})
        return
    verb = "would be removed" if arguments.dry_run else "removed"
    for rule in chosen:
        name = rule.table.name
        if found[name]:
            output.print_line(f"{name}: {found[name]} {verb}, from before {time_text(rule.before)}")
    if not any(found.values()):
        output.print_line("nothing to remove")
    elif arguments.dry_run:
        output.print_line("nothing was changed: this was a dry run")
