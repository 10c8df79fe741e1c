"""`cloudconsole whoami`: the account that commands use, and the state of its session."""

import argparse
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple

from cloudconsole.cli.errors import EXIT_FAILED, EXIT_OK
from cloudconsole.cli.flags import add_connection_flags
from cloudconsole.cli.i18n import translate
from cloudconsole.cli.output import Field, Table, show
from cloudconsole.cli.runner import report_error, run_command
from cloudconsole.cli.tenant import messages
from cloudconsole.spec.i18n import Text

if TYPE_CHECKING:
    from cloudconsole.cli.connection import ConsoleSession

add_arguments = add_connection_flags


class Fact(NamedTuple):
    name: str
    heading: Text
    value: str | None
    source: str


def run(arguments: argparse.Namespace) -> int:
    def command(call: "ConsoleSession") -> int:
        from cloudconsole.client import ConsoleError

        try:
            state = _state(call)
            region = _discovered_region(call) if state == "live" else None
        except ConsoleError as error:
            _print(call, "unknown")
            return report_error(error, call.url, is_verbose=arguments.verbose)
        _print(call, state, region)
        return EXIT_OK if state == "live" else EXIT_FAILED

    return run_command(arguments, command)


def _state(call: "ConsoleSession") -> str:
    """Return the state of the saved session, which takes a call to find out, without logging in."""
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


def _discovered_region(call: "ConsoleSession") -> "Fact | None":
    """Return the region in which a session without one is: the only one that the console offers."""
    region = call.discover_region() if call.region is None else None
    return Fact("region", messages.REGION, region, translate(messages.DISCOVERED)) if region else None


def _print(call: "ConsoleSession", state: str, region: "Fact | None" = None) -> None:
    settings = call.settings
    source_names = settings.account.source_names
    facts = [
        Fact("profile", messages.PROFILE, settings.profile, ""),
        Fact("url", messages.ADDRESS, call.url, source_names["url"]),
        Fact("username", messages.USERNAME, call.username, source_names.get("username", "")),
        region or Fact("region", messages.REGION, call.region, source_names.get("region", "")),
        Fact("project", messages.PROJECT, call.project, source_names.get("project", "")),
        Fact("ca_file", messages.CA_FILE, str(call.ca_file) if call.ca_file else None, ""),
        Fact("session", messages.SESSION, state, ""),
    ]
    fields = [
        Field("name", None, attrgetter("name")),
        Field("value", None, attrgetter("value")),
        Field(None, translate(messages.SETTING), lambda fact: translate(fact.heading)),
        Field(
            None,
            translate(messages.VALUE),
            lambda fact: translate(messages.STATES[state]) if fact.name == "session" else fact.value,
        ),
        Field(None, translate(messages.SOURCE), attrgetter("source")),
    ]
    show(settings.output, lambda: {fact.name: fact.value for fact in facts}, lambda: Table(fields, facts))
