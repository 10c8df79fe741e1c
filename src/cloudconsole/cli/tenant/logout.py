"""`cloudconsole logout`: ends the session at the console, and forgets it here."""

import argparse
from typing import TYPE_CHECKING

from cloudconsole.cli import messages, output
from cloudconsole.cli.errors import tell
from cloudconsole.cli.flags import add_call_flags
from cloudconsole.cli.i18n import say
from cloudconsole.cli.runner import exit_code_of, run_call, worded

if TYPE_CHECKING:
    from cloudconsole.cli.connection import Call


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_call_flags(parser, with_output=False)


def run(arguments: argparse.Namespace) -> int:
    return run_call(arguments, _log_out)


def _log_out(call: "Call") -> int:
    from cloudconsole.client import ConsoleError

    if call.username is None or call.console.session is None:
        output.print_line(say(messages.NOT_LOGGED_IN, url=call.url))
        return 0
    try:
        with call.bounded():
            call.console.logout()
    except ConsoleError as error:
        call.forget()
        tell(say(messages.FORGOTTEN_HERE, problem=worded(error)))
        return exit_code_of(error)
    call.forget()
    output.print_line(say(messages.LOGGED_OUT, username=call.username, url=call.url))
    return 0
