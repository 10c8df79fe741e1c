"""`cloudconsole news`."""

import argparse
from datetime import datetime
from operator import attrgetter
from typing import TYPE_CHECKING

from cloudconsole.cli import texts
from cloudconsole.cli.flags import add_call_flags
from cloudconsole.cli.showing import Field, Sheet, View, show
from cloudconsole.cli.speaking import say
from cloudconsole.cli.tenant.flavors import with_unit

if TYPE_CHECKING:
    from cloudconsole.client import Console

add_arguments = add_call_flags


def run(arguments: argparse.Namespace) -> int:
    return show(arguments, View(lambda console: console.call("GetNews"), _sheet))


def _sheet(console: "Console") -> Sheet:
    return Sheet(
        [
            Field(None, with_unit(texts.DATE, console.about().time_zone), lambda item: _moment(item.date)),
            Field("date", None, lambda item: item.date.isoformat()),
            Field("url", say(texts.URL), attrgetter("url")),
            # At the end of a line a text may be folded.
            Field("title", say(texts.TITLE), attrgetter("title")),
        ],
        console.news(),
    )


def _moment(date: datetime) -> str:
    return f"{date:%Y-%m-%d %H:%M:%S}"
