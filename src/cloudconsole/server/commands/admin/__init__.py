"""`cloudconsole admin`: everything an operator does to a store, each as a command."""

import argparse
from typing import Final

from cloudconsole.server.commands.admin import (
    audit,
    backup,
    bulk_import,
    cloud_file,
    entities,
    maintenance,
    postgres_copy,
)
from cloudconsole.server.commands.admin.store import run_with_settings

MODULES: Final = (entities, audit, bulk_import, cloud_file, backup, maintenance, postgres_copy)
"""Where the commands are, in the order of the help; each module has `add_commands(commands)`, which makes parsers and
sets as their default `admin_command` a function of the arguments and the settings."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for module in MODULES:
        module.add_commands(commands)


def run(arguments: argparse.Namespace) -> int:
    return run_with_settings(arguments, arguments.admin_command)
