"""`cloudconsole login`: open a session for later commands."""

import argparse
from typing import TYPE_CHECKING

from cloudconsole.cli import output, stdout
from cloudconsole.cli.errors import print_error
from cloudconsole.cli.flags import add_connection_flags
from cloudconsole.cli.i18n import translate
from cloudconsole.cli.runner import run_command
from cloudconsole.cli.tenant import messages

if TYPE_CHECKING:
    from cloudconsole.cli.connection import ConsoleSession


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_connection_flags(parser, outputs=())
    parser.set_defaults(may_ask_url=True)


def run(arguments: argparse.Namespace) -> int:
    return run_command(arguments, _log_in)


def _log_in(call: "ConsoleSession") -> None:
    from cloudconsole.cli.connection import default_account

    call.login()
    call.save_session(is_login=True)
    output.print_line(translate(messages.LOGGED_IN, username=call.username, url=call.url))
    default = default_account(call.session) if call.session else None
    account = call.url, call.username, call.region, call.project
    if default and (default.url, default.username, default.region, default.project) != account:
        stdout.flush()
        places = ", ".join(dict.fromkeys(default.source_names.values()))
        print_error(
            translate(messages.OTHER_DEFAULT_ACCOUNT, username=default.username or "-", url=default.url, places=places)
        )
