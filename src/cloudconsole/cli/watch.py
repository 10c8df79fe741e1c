"""Refresh a table on the terminal until Ctrl-C, then restore the screen."""

import argparse
import signal
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, NoReturn

from cloudconsole.cli import messages, output
from cloudconsole.cli.errors import CommandError, UsageError
from cloudconsole.cli.i18n import translate
from cloudconsole.cli.output import Table, render_table
from cloudconsole.cli.runner import describe_error, run_command
from cloudconsole.cli.tables import render, terminal
from cloudconsole.spec.text_escaping import escape

if TYPE_CHECKING:
    from cloudconsole.cli.connection import ConsoleSession
    from cloudconsole.client import Console

_TERMINATED: Final = 143
_MIN_DEADLINE: Final = 2.0


def watch(arguments: argparse.Namespace, fetch: "Callable[[Console], Table]", interval: float) -> int:
    def command(call: "ConsoleSession") -> None:
        if not output.is_terminal() or terminal().is_dumb_terminal or call.settings.output != "table":
            raise UsageError(translate(messages.WATCH_NEEDS_TERMINAL))
        table = call.do(fetch)
        call.save_session()
        call.may_ask = False
        # From now on show that the console does not respond instead of waiting for it.
        call.limit_deadline(max(interval, _MIN_DEADLINE))
        _watch(call, fetch, table, interval)

    return run_command(arguments, command)


def _watch(call: "ConsoleSession", fetch: "Callable[[Console], Table]", table: Table, interval: float) -> NoReturn:
    from rich.live import Live

    from cloudconsole.client import ConnectionFailed, RateLimited, ServerError

    signal.signal(signal.SIGTERM, lambda *_: sys.exit(_TERMINATED))
    console, problem, updated = terminal(), None, _now()
    with Live(console=console, screen=True, auto_refresh=False, redirect_stdout=False, redirect_stderr=False) as live:
        while True:
            live.update(_render_screen(console, call, table, updated, problem), refresh=True)
            time.sleep(interval)
            try:
                table, problem, updated = call.do(fetch), None, _now()
            except (ConnectionFailed, RateLimited, ServerError) as error:
                problem = describe_error(error)
            except UsageError:
                # A login would need a password prompt.
                raise CommandError(translate(messages.SESSION_ENDED, username=call.username, url=call.url)) from None


def _render_screen(console: Any, call: "ConsoleSession", table: Table, updated: str, problem: str | None) -> Any:
    from rich.console import Group
    from rich.text import Text

    heading = translate(messages.WATCH_HEADING, username=call.username, url=call.url, time=updated)
    lines = [Text(escape(heading), "bold"), Text(escape(problem), "red") if problem else Text()]
    columns, rows = render_table(table)
    return Group(*lines, *render(columns, rows, console.width, ascii_only=not output.can_show("█")))


def _now() -> str:
    return time.strftime("%H:%M:%S")
