"""`cloudconsole admin migrate`: make a store's tables, or bring them up to date."""

import argparse
from typing import Any

from cloudconsole.cli import output
from cloudconsole.server.commands.admin.stores import add_json_argument, add_store_arguments, settle
from cloudconsole.server.commands.whoami import user_name
from cloudconsole.server.config.settings import Settings
from cloudconsole.store.migrations import current_revision


def add_commands(commands: Any) -> None:
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
    settle(settings)
    with settings.store.opened("cloud") as engine:
        # A newer one, where this version is the older of two that can serve the store.
        revision = current_revision(engine)
    if arguments.json:
        output.print_json({"store": settings.store.place, "revision": revision})
    else:
        output.print_line(f"the tables of {settings.store} are up to date (revision {revision})")
