"""`cloudconsole login`: a session for the commands that follow."""

import argparse
from typing import TYPE_CHECKING

from cloudconsole.cli import messages, output, stdout
from cloudconsole.cli.errors import tell
from cloudconsole.cli.flags import add_call_flags
from cloudconsole.cli.i18n import say
from cloudconsole.cli.runner import run_call

if TYPE_CHECKING:
    from cloudconsole.cli.connection import Call


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_call_flags(parser, with_output=False)


def run(arguments: argparse.Namespace) -> int:
    return run_call(arguments, _log_in)


def _log_in(call: "Call") -> None:
    from cloudconsole.cli.connection import later_account

    call.log_in()
    call.keep(is_login=True)
    output.print_line(say(messages.LOGGED_IN, username=call.username, url=call.url))
    later = later_account(call.session) if call.session else None
    if later and (later.url, later.username, later.region) != (call.url, call.username, call.region):
        stdout.flush()
        places = ", ".join(dict.fromkeys(later.said_by.values()))
        tell(say(messages.LATER_ANOTHER, username=later.username or "-", url=later.url, places=places))
