"""`cloudconsole urls`."""

import argparse
from operator import attrgetter
from typing import TYPE_CHECKING

from cloudconsole.cli.flags import add_connection_flags
from cloudconsole.cli.i18n import translate
from cloudconsole.cli.output import Field, OutputView, Table, run_and_print
from cloudconsole.cli.tenant import messages

if TYPE_CHECKING:
    from cloudconsole.client import Console

add_arguments = add_connection_flags


def run(arguments: argparse.Namespace) -> int:
    return run_and_print(arguments, OutputView(lambda console: console.call("GetUrlList"), _table))


def _table(console: "Console") -> Table:
    names = {"id": messages.ID, "type": messages.TYPE, "url": messages.URL}
    return Table([Field(name, translate(heading), attrgetter(name)) for name, heading in names.items()], console.urls())
