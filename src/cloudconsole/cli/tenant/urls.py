"""`cloudconsole urls`."""

import argparse
from operator import attrgetter
from typing import TYPE_CHECKING

from cloudconsole.cli import messages
from cloudconsole.cli.flags import add_call_flags
from cloudconsole.cli.i18n import say
from cloudconsole.cli.output import Field, Sheet, View, show

if TYPE_CHECKING:
    from cloudconsole.client import Console

add_arguments = add_call_flags


def run(arguments: argparse.Namespace) -> int:
    return show(arguments, View(lambda console: console.call("GetUrlList"), _sheet))


def _sheet(console: "Console") -> Sheet:
    names = {"id": messages.ID, "type": messages.TYPE, "url": messages.URL}
    return Sheet([Field(name, say(heading), attrgetter(name)) for name, heading in names.items()], console.urls())
