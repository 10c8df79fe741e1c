"""`cloudconsole login`: a session for the commands that follow."""

import argparse
from typing import TYPE_CHECKING

from cloudconsole.cli import output, printing, texts
from cloudconsole.cli.flags import add_call_flags
from cloudconsole.cli.problems import tell
from cloudconsole.cli.running import run_call
from cloudconsole.cli.speaking import say

if TYPE_CHECKING:
    from cloudconsole.cli.connecting import Call


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_call_flags(parser, with_output=False)


def run(arguments: argparse.Namespace) -> int:
    return run_call(arguments, _log_in)


def _log_in(call: "Call") -> None:
    from cloudconsole.cli.connecting import later_account

    call.log_in()
    call.keep(is_login=True)
    printing.print_line(say(texts.LOGGED_IN, username=call.username, url=call.url))
    later = later_account(call.session) if call.session else None
    if later and (later.url, later.username, later.region) != (call.url, call.username, call.region):
        output.flush()
        places = ", ".join(dict.fromkeys(later.said_by.values()))
        tell(say(texts.LATER_ANOTHER, username=later.username or "-", url=later.url, places=places))
