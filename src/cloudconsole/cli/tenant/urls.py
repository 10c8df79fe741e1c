"""`cloudconsole urls`."""

import argparse
from operator import attrgetter
from typing import TYPE_CHECKING

from cloudconsole.cli import texts
from cloudconsole.cli.flags import add_call_flags
from cloudconsole.cli.showing import Field, Sheet, View, show
from cloudconsole.cli.speaking import say

if TYPE_CHECKING:
    from cloudconsole.client import Console

add_arguments = add_call_flags


def run(arguments: argparse.Namespace) -> int:
    return show(arguments, View(lambda console: console.call("GetUrlList"), _sheet))


def _sheet(console: "Console") -> Sheet:
    names = {"id": texts.ID, "type": texts.TYPE, "url": texts.URL}
    return Sheet([Field(name, say(heading), attrgetter(name)) for name, heading in names.items()], console.urls())
