"""`cloudconsole logout`: ends the session at the console, and forgets it here."""

import argparse
from typing import TYPE_CHECKING

from cloudconsole.cli import printing, texts
from cloudconsole.cli.flags import add_call_flags
from cloudconsole.cli.problems import tell
from cloudconsole.cli.running import exit_code_of, run_call, worded
from cloudconsole.cli.speaking import say

if TYPE_CHECKING:
    from cloudconsole.cli.connecting import Call


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_call_flags(parser, with_output=False)


def run(arguments: argparse.Namespace) -> int:
    return run_call(arguments, _log_out)


def _log_out(call: "Call") -> int:
    from cloudconsole.client import ConsoleError

    if call.username is None or call.console.session is None:
        printing.print_line(say(texts.NOT_LOGGED_IN, url=call.url))
        return 0
    try:
        with call.bounded():
            call.console.logout()
    except ConsoleError as error:
        call.forget()
        tell(say(texts.FORGOTTEN_HERE, problem=worded(error)))
        return exit_code_of(error)
    call.forget()
    printing.print_line(say(texts.LOGGED_OUT, username=call.username, url=call.url))
    return 0
