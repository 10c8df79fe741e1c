"""`cloudconsole usage`: each quota, and what is in use of it."""

import argparse
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from cloudconsole.cli import messages
from cloudconsole.cli.flags import add_call_flags, interval
from cloudconsole.cli.i18n import say
from cloudconsole.cli.output import Field, Sheet, View, show
from cloudconsole.cli.tables import Bar, Cell, Styled
from cloudconsole.cli.tenant.flavors import with_unit

if TYPE_CHECKING:
    from cloudconsole.client import Console

_MUCH: Final = 0.8
_ALL: Final = 1.0
_UNITS: Final = {"ram": "ram", "gigabytes": "volume", "personality_size": "personality"}


class Row(NamedTuple):
    name: str
    unit: str | None
    limit: int | None
    used: int | None = None
    """None where nothing is counted, and neither is there what follows."""
    free: int | None = None
    share: float | None = None


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--watch", metavar="SECONDS", nargs="?", type=interval, const=5.0, default=None, help=say(messages.WATCH_FLAG)
    )
    add_call_flags(parser)


def run(arguments: argparse.Namespace) -> int:
    if arguments.watch is not None:
        from cloudconsole.cli.watch import watch

        return watch(arguments, usage_sheet, arguments.watch)
    return show(arguments, View(lambda console: console.call("GetUsageLimits"), usage_sheet))


def usage_sheet(console: "Console") -> Sheet:
    units, usage = console.about().units, console.usage_limits()

    def unit(name: str) -> str | None:
        return getattr(units, _UNITS[name]) if units and name in _UNITS else None

    counted = [
        Row(name, unit(name), quota.limit, quota.used, quota.free, quota.share)
        for name, quota in usage.quotas().items()
    ]
    only_limits = [Row(name, unit(name), limit) for name, limit in usage.bounds().items()]
    fields = [
        Field("quota", None, attrgetter("name")),
        Field(None, say(messages.QUOTA), lambda row: with_unit(messages.QUOTAS[row.name], row.unit)),
        Field(None, "", _bar, "bar"),
        Field("used", None, attrgetter("used")),
        Field(None, say(messages.USED), _used, "number"),
        Field("limit", None, attrgetter("limit")),
        Field(None, say(messages.LIMIT), lambda row: _or_unlimited(row.limit), "number"),
        Field("free", None, attrgetter("free")),
        Field(None, say(messages.FREE), lambda row: "" if row.used is None else _or_unlimited(row.free), "number"),
        Field("unit", None, attrgetter("unit")),
    ]
    return Sheet(fields, [*counted, *only_limits])


def _bar(row: Any) -> Cell:
    return "" if row.share is None else Bar(row.share, _style(row.share))


def _used(row: Any) -> Cell:
    if row.used is None:
        return ""
    return str(row.used) if row.share is None else Styled(str(row.used), _style(row.share))


def _style(share: float) -> str:
    return "red" if share >= _ALL else "yellow" if share >= _MUCH else "green"


def _or_unlimited(number: int | None) -> str:
    return say(messages.UNLIMITED) if number is None else str(number)
