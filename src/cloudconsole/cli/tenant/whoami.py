"""`cloudconsole whoami`: who is meant by the next call, and whether that is logged in."""

import argparse
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple

from cloudconsole.cli import messages, output
from cloudconsole.cli.errors import EXIT_FAILED, EXIT_OK
from cloudconsole.cli.flags import add_connection_flags
from cloudconsole.cli.i18n import translate
from cloudconsole.cli.output import Field, Table, print_csv, print_table
from cloudconsole.cli.runner import report_error, run_command
from cloudconsole.spec.i18n import Text

if TYPE_CHECKING:
    from cloudconsole.cli.connection import Connection

add_arguments = add_connection_flags


class Fact(NamedTuple):
    name: str
    heading: Text
    value: str | None
    source: str


def run(arguments: argparse.Namespace) -> int:
    def command(call: "Connection") -> int:
        from cloudconsole.client import ConsoleError

        try:
            state = _state(call)
        except ConsoleError as error:
            _print(call, "unknown")
            return report_error(error, call.url, is_verbose=arguments.verbose)
        _print(call, state)
        return EXIT_OK if state == "live" else EXIT_FAILED

    return run_command(arguments, command)


def _state(call: "Connection") -> str:
    """Whether the kept session is live, which only a call can tell. Nobody is logged in for that."""
    from cloudconsole.client import LoginRequired

    if call.username is None:
        return "none"
    console = call.without_password()
    if console.session is None:
        return "none"
    try:
        with call.bounded():
            console.urls()
    except LoginRequired:
        return "ended"
    return "live"


def _print(call: "Connection", state: str) -> None:
    settings = call.settings
    said_by = settings.account.said_by
    facts = [
        Fact("profile", messages.PROFILE, settings.profile, ""),
        Fact("url", messages.ADDRESS, call.url, said_by["url"]),
        Fact("username", messages.USERNAME, call.username, said_by.get("username", "")),
        Fact("region", messages.REGION, call.region, said_by.get("region", "")),
        Fact("session", messages.SESSION, state, ""),
    ]
    if settings.output == "json":
        output.print_json({fact.name: fact.value for fact in facts})
        return
    if settings.output == "csv":
        print_csv(Table([Field("name", None, attrgetter("name")), Field("value", None, attrgetter("value"))], facts))
        return
    fields = [
        Field(None, translate(messages.SETTING), lambda fact: translate(fact.heading)),
        Field(
            None,
            translate(messages.VALUE),
            lambda fact: translate(messages.STATES[state]) if fact.name == "session" else fact.value,
        ),
        Field(None, translate(messages.SAID_BY), attrgetter("source")),
    ]
    print_table(Table(fields, facts))
