"""`cloudconsole admin`: commands with which operators manage a store."""

import argparse
from typing import Final

from cloudconsole.cli.config import use_profile_language
from cloudconsole.cli.i18n import translate
from cloudconsole.cli.messages import COMMAND, COMMANDS
from cloudconsole.server.commands.admin import (
    audit,
    backup,
    bulk_import,
    cloud_file,
    costs,
    entities,
    maintenance,
    postgres_copy,
)
from cloudconsole.server.commands.admin.store import add_language_argument, run_with_settings

MODULES: Final = (entities, audit, bulk_import, cloud_file, costs, backup, maintenance, postgres_copy)
"""Modules with commands, in the order of the help. Each has `add_commands(commands)`, which adds parsers whose default
`admin_command` is a function of the arguments and the settings."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_language_argument(parser)
    commands = parser.add_subparsers(title=translate(COMMANDS), metavar=translate(COMMAND), required=True)
    for module in MODULES:
        module.add_commands(commands)


def run(arguments: argparse.Namespace) -> int:
    use_profile_language(arguments)
    return run_with_settings(arguments, arguments.admin_command)
