"""`cloudconsole news`."""

import argparse
from datetime import datetime
from operator import attrgetter
from typing import TYPE_CHECKING

from cloudconsole.cli.flags import add_connection_flags
from cloudconsole.cli.i18n import translate
from cloudconsole.cli.output import Field, OutputView, Table, run_and_print
from cloudconsole.cli.tenant import messages
from cloudconsole.cli.tenant.flavors import with_unit

if TYPE_CHECKING:
    from cloudconsole.client import Console

add_arguments = add_connection_flags


def run(arguments: argparse.Namespace) -> int:
    return run_and_print(arguments, OutputView(lambda console: console.call("GetNews"), _table))


def _table(console: "Console") -> Table:
    return Table(
        [
            Field(None, with_unit(messages.DATE, console.about().time_zone), lambda item: _moment(item.date)),
            Field("date", None, lambda item: item.date.isoformat()),
            Field("url", translate(messages.URL), attrgetter("url")),
            # Last, because only the last column wraps.
            Field("title", translate(messages.TITLE), attrgetter("title")),
        ],
        console.news(),
    )


def _moment(date: datetime) -> str:
    return f"{date:%Y-%m-%d %H:%M:%S}"
