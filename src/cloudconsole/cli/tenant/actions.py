"""`cloudconsole actions`: what the console can be asked for, without a login."""

import argparse
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple

from cloudconsole.cli.errors import CommandError
from cloudconsole.cli.flags import add_connection_flags
from cloudconsole.cli.i18n import translate
from cloudconsole.cli.output import Field, Table, show
from cloudconsole.cli.runner import run_command
from cloudconsole.cli.tenant import messages
from cloudconsole.spec.actions import ACTIONS
from cloudconsole.spec.extensions import EXTENSIONS

if TYPE_CHECKING:
    from cloudconsole.cli.connection import ConsoleSession

add_arguments = add_connection_flags


class _Listed(NamedTuple):
    action: str
    extension: bool
    purpose: str
    """Empty if this version does not know the action."""


def run(arguments: argparse.Namespace) -> int:
    return run_command(arguments, _list)


def _list(call: "ConsoleSession") -> None:
    with call.bounded():
        about = call.without_password().about()
    purposes = {action.name: translate(action.purpose) for action in (*ACTIONS, *EXTENSIONS)}
    names = [*((name, False) for name in about.actions), *((name, True) for name in about.extensions)]
    if not names:
        raise CommandError(translate(messages.NO_ACTIONS, url=call.url))
    listed = [_Listed(name, extension, purposes.get(name, "")) for name, extension in names]
    fields = [
        Field("action", translate(messages.ACTION), attrgetter("action")),
        Field("extension", None, attrgetter("extension")),
        Field(
            None,
            translate(messages.EXTENSION),
            lambda each: translate(messages.YES if each.extension else messages.NO),
        ),
        Field("purpose", translate(messages.PURPOSE), attrgetter("purpose")),
    ]
    show(call.settings.output, lambda: [each._asdict() for each in listed], lambda: Table(fields, listed))
