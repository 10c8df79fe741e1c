"""`cloudconsole usage`: quotas and their usage."""

import argparse
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from cloudconsole.cli.flags import add_connection_flags, interval
from cloudconsole.cli.i18n import translate
from cloudconsole.cli.output import Field, OutputView, Table, run_and_print
from cloudconsole.cli.tables import Bar, Cell, Styled
from cloudconsole.cli.tenant import messages
from cloudconsole.cli.tenant.flavors import with_unit

if TYPE_CHECKING:
    from cloudconsole.client import Console, Units

_NEARLY_FULL: Final = 0.8
_FULL: Final = 1.0
_UNITS: Final = {"ram": "ram", "gigabytes": "volume", "personality_size": "personality"}


class Row(NamedTuple):
    name: str
    unit: str | None
    limit: int | None
    used: int | None = None
    """None, like `free` and `share`, for quotas without usage counts."""
    free: int | None = None
    share: float | None = None


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--watch",
        metavar="SECONDS",
        nargs="?",
        type=interval,
        const=5.0,
        default=None,
        help=translate(messages.WATCH_FLAG),
    )
    add_connection_flags(parser)


def run(arguments: argparse.Namespace) -> int:
    view = OutputView(lambda console: console.call("GetUsageLimits"), usage_table)
    if arguments.watch is not None:
        from cloudconsole.cli.watch import watch

        return watch(arguments, view, arguments.watch)
    return run_and_print(arguments, view)


def quota_unit(name: str, units: "Units | None") -> str | None:
    return getattr(units, _UNITS[name]) if units and name in _UNITS else None


def usage_table(console: "Console") -> Table:
    units, usage = console.about().units, console.usage_limits()
    counted = [
        Row(name, quota_unit(name, units), quota.limit, quota.used, quota.free, quota.share)
        for name, quota in usage.quotas().items()
    ]
    only_limits = [Row(name, quota_unit(name, units), limit) for name, limit in usage.bounds().items()]
    fields = [
        Field("quota", None, attrgetter("name")),
        Field(None, translate(messages.QUOTA), lambda row: with_unit(messages.QUOTAS[row.name], row.unit)),
        Field(None, "", _bar, "bar"),
        Field("used", None, attrgetter("used")),
        Field(None, translate(messages.USED), _used, "number"),
        Field("limit", None, attrgetter("limit")),
        Field(None, translate(messages.LIMIT), lambda row: _or_unlimited(row.limit), "number"),
        Field("free", None, attrgetter("free")),
        Field(
            None, translate(messages.FREE), lambda row: "" if row.used is None else _or_unlimited(row.free), "number"
        ),
        Field("unit", None, attrgetter("unit")),
    ]
    return Table(fields, [*counted, *only_limits])


def _bar(row: Any) -> Cell:
    return "" if row.share is None else Bar(row.share, _style(row.share))


def _used(row: Any) -> Cell:
    if row.used is None:
        return ""
    return str(row.used) if row.share is None else Styled(str(row.used), _style(row.share))


def _style(share: float) -> str:
    return "red" if share >= _FULL else "yellow" if share >= _NEARLY_FULL else "green"


def _or_unlimited(number: int | None) -> str:
    return translate(messages.UNLIMITED) if number is None else str(number)
