"""`cloudconsole admin end-sessions`: log everyone out."""

import argparse
from typing import Any

from cloudconsole.cli import output
from cloudconsole.operator.maintenance.repair import end_all_sessions
from cloudconsole.server.commands.admin.stores import add_json_argument, add_store_arguments, store, writing
from cloudconsole.server.config.settings import Settings


def add_commands(commands: Any) -> None:
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
        writing(engine, settings) as desk,
    ):
        ended = end_all_sessions(desk, sessions)
    if arguments.json:
        output.print_json({"sessions": ended})
    else:
        output.print_line(f"all sessions have ended ({ended}): everyone logs in again")
