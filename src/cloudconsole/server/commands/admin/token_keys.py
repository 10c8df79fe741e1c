"""`cloudconsole admin token-keys rotate`: a new key for the tokens that are kept, also while the console is served."""

import argparse
from typing import Any

from cloudconsole.cli import output
from cloudconsole.operator.errors import OperatorError
from cloudconsole.server.commands.admin.stores import add_json_argument, add_store_arguments, require_store
from cloudconsole.server.commands.admin.taking import leave_line
from cloudconsole.server.config.settings import Settings


def add_commands(subparsers: Any) -> None:
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
    try:
        from cloudconsole.backends.openstack.token_encryption import read_keys, rotate
    except ModuleNotFoundError as missing:
        raise OperatorError(f"token keys need {missing.name}: pip install 'cloudconsole[openstack]'") from missing
    require_store(settings)
    file = settings.token_key_file
    rotate(file)
    leave_line(settings.store, "token-keys.rotate", file.name)
    if arguments.json:
        output.print_json({"file": str(file), "keys": len(read_keys(file))})
    else:
        output.print_line(f"{file}: a new key encrypts tokens from now on; the one before still opens those it sealed")
