"""`cloudconsole prices`."""

import argparse
from datetime import datetime
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from cloudconsole.cli.flags import add_connection_flags
from cloudconsole.cli.i18n import translate
from cloudconsole.cli.output import Field, OutputView, Table, run_and_print
from cloudconsole.cli.tenant import messages
from cloudconsole.cli.tenant.flavors import with_unit

if TYPE_CHECKING:
    from cloudconsole.client import Console, Price

add_arguments = add_connection_flags


def run(arguments: argparse.Namespace) -> int:
    return run_and_print(arguments, OutputView(lambda console: console.call("GetPrices"), _table))


def _table(console: "Console") -> Table:
    about = console.about()
    return Table(
        [
            Field("res_type", None, attrgetter("res_type")),
            Field(None, translate(messages.KIND), lambda price: _known(messages.KINDS, price.res_type)),
            Field("unit", None, attrgetter("unit")),
            Field(None, translate(messages.PRICED_UNIT), lambda price: _known(messages.PRICED_UNITS, price.unit)),
            Field("region", None, attrgetter("region")),
            Field(None, translate(messages.NODE), lambda price: price.region or translate(messages.ALL)),
            Field("type", None, attrgetter("type")),
            Field(None, translate(messages.TYPE), lambda price: price.type or translate(messages.ALL)),
            Field("price", with_unit(messages.PRICE_PER_HOUR, about.currency), _amount, "amount"),
            Field("currency", None, lambda _: about.currency),
            Field("start_at", None, lambda price: price.start.isoformat()),
            Field(None, with_unit(messages.IN_FORCE_FROM, about.time_zone), lambda price: _moment(price.start)),
            Field("end_at", None, lambda price: price.end.isoformat() if price.end else None),
            Field(None, translate(messages.VALID_UNTIL), lambda price: _moment(price.end)),
            Field("in_force", None, attrgetter("in_force")),
        ],
        console.prices(),
    )


def _known(texts: dict[str, Any], name: str) -> str:
    return translate(texts[name]) if name in texts else name


def _amount(price: "Price") -> str:
    return f"{price.price:f}"


def _moment(time: datetime | None) -> str:
    return f"{time:%Y-%m-%d %H:%M:%S}" if time else ""
