"""`cloudconsole logout`: end the session at the console and delete the saved one."""

import argparse
from typing import TYPE_CHECKING

from cloudconsole.cli import output
from cloudconsole.cli.errors import print_error
from cloudconsole.cli.flags import add_connection_flags
from cloudconsole.cli.i18n import translate
from cloudconsole.cli.runner import describe_error, exit_code_for, run_command
from cloudconsole.cli.tenant import messages

if TYPE_CHECKING:
    from cloudconsole.cli.connection import ConsoleSession


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_connection_flags(parser, outputs=())


def run(arguments: argparse.Namespace) -> int:
    return run_command(arguments, _log_out)


def _log_out(call: "ConsoleSession") -> int:
    from cloudconsole.client import ConsoleError

    if call.username is None or call.console.session is None:
        output.print_line(translate(messages.NOT_LOGGED_IN, url=call.url))
        return 0
    try:
        with call.bounded():
            call.console.logout()
    except ConsoleError as error:
        call.delete_session()
        print_error(translate(messages.LOGOUT_FAILED, problem=describe_error(error)))
        return exit_code_for(error)
    call.delete_session()
    output.print_line(translate(messages.LOGGED_OUT, username=call.username, url=call.url))
    return 0
