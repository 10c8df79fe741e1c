"""Refresh a table on the terminal until Ctrl-C, then restore the screen; or print data as a stream of JSON lines."""

import argparse
import signal
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, NoReturn, TypeVar

from cloudconsole.cli import messages, output
from cloudconsole.cli.errors import CommandError, UsageError, print_error
from cloudconsole.cli.i18n import translate
from cloudconsole.cli.output import OutputView, Table, render_table
from cloudconsole.cli.runner import describe_error, run_command
from cloudconsole.cli.tables import render, terminal
from cloudconsole.spec.text_escaping import escape

if TYPE_CHECKING:
    from cloudconsole.cli.connection import ConsoleSession
    from cloudconsole.client import Console

T = TypeVar("T")

_TERMINATED: Final = 143
_MIN_DEADLINE: Final = 2.0


def watch(arguments: argparse.Namespace, view: OutputView, interval: float) -> int:
    def command(call: "ConsoleSession") -> None:
        form, columns, _ = call.settings.output
        if form in ("json", "value"):
            _stream(call, view.data, interval)
        elif form == "table" and output.is_terminal() and not terminal().is_dumb_terminal:
            _redraw(call, lambda console: output.select_columns(view.table(console), columns), interval)
        else:
            raise UsageError(translate(messages.WATCH_NEEDS_TERMINAL))

    return run_command(arguments, command)


def _first(call: "ConsoleSession", fetch: "Callable[[Console], T]", interval: float) -> T:
    """Fetch once, with a login if needed; later requests show that the console does not respond instead of waiting."""
    first = call.do(fetch)
    call.save_session()
    call.may_ask = False
    call.limit_deadline(max(interval, _MIN_DEADLINE))
    return first


def _fetch_again(call: "ConsoleSession", fetch: "Callable[[Console], T]", interval: float) -> T | str:
    """Wait, then return new data, or in a text why there is none now."""
    from cloudconsole.client import ConnectionFailed, RateLimited, ServerError

    time.sleep(interval)
    try:
        return call.do(fetch)
    except (ConnectionFailed, RateLimited, ServerError) as error:
        return describe_error(error)
    except UsageError:
        # A login would need a password prompt.
        raise CommandError(translate(messages.SESSION_ENDED, username=call.username, url=call.url)) from None


def _stream(call: "ConsoleSession", fetch: "Callable[[Console], Any]", interval: float) -> NoReturn:
    data: Any = _first(call, fetch, interval)
    while True:
        output.print_json_line(call.settings.output, data)
        while isinstance(data := _fetch_again(call, fetch, interval), str):
            print_error(data)


def _redraw(call: "ConsoleSession", fetch: "Callable[[Console], Table]", interval: float) -> NoReturn:
    from rich.live import Live

    table = _first(call, fetch, interval)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(_TERMINATED))
    console, updated = terminal(), _now()
    problem: str | None = None
    with Live(console=console, screen=True, auto_refresh=False, redirect_stdout=False, redirect_stderr=False) as live:
        while True:
            live.update(_render_screen(console, call, table, updated, problem), refresh=True)
            found = _fetch_again(call, fetch, interval)
            if isinstance(found, str):
                problem = found
            else:
                table, problem, updated = found, None, _now()


def _render_screen(console: Any, call: "ConsoleSession", table: Table, updated: str, problem: str | None) -> Any:
    from rich.console import Group
    from rich.text import Text

    heading = translate(messages.WATCH_HEADING, username=call.username, url=call.url, time=updated)
    lines = [Text(escape(heading), "bold"), Text(escape(problem), "red") if problem else Text()]
    columns, rows = render_table(table)
    return Group(*lines, *render(columns, rows, console.width, ascii_only=not output.can_show("█")))


def _now() -> str:
    return time.strftime("%H:%M:%S")
