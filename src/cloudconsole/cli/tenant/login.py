"""`cloudconsole login`: a session for the commands that follow."""

import argparse
from typing import TYPE_CHECKING

from cloudconsole.cli import messages, output, stdout
from cloudconsole.cli.errors import print_error
from cloudconsole.cli.flags import add_connection_flags
from cloudconsole.cli.i18n import translate
from cloudconsole.cli.runner import run_command

if TYPE_CHECKING:
    from cloudconsole.cli.connection import Connection


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_connection_flags(parser, with_output=False)


def run(arguments: argparse.Namespace) -> int:
    return run_command(arguments, _log_in)


def _log_in(call: "Connection") -> None:
    from cloudconsole.cli.connection import later_account

    call.login()
    call.save_session(is_login=True)
    output.print_line(translate(messages.LOGGED_IN, username=call.username, url=call.url))
    later = later_account(call.session) if call.session else None
    if later and (later.url, later.username, later.region) != (call.url, call.username, call.region):
        stdout.flush()
        places = ", ".join(dict.fromkeys(later.said_by.values()))
        print_error(translate(messages.LATER_ANOTHER, username=later.username or "-", url=later.url, places=places))
