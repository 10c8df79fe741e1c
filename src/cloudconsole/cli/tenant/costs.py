"""`cloudconsole costs`: estimated costs as numbers or bars, costs over time, and their export."""

import argparse
from collections.abc import Callable
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final, get_args

from cloudconsole.cli.errors import EXIT_USAGE, UsageError, print_error
from cloudconsole.cli.flags import add_connection_flags
from cloudconsole.cli.i18n import translate
from cloudconsole.cli.output import Field, OutputView, Table, print_table, run_and_print
from cloudconsole.cli.runner import run_command
from cloudconsole.cli.tables import Bar
from cloudconsole.cli.tenant import messages
from cloudconsole.cli.tenant.cost_export import month, run_export
from cloudconsole.cli.tenant.cost_history import GROUPS, KINDS, day, kind_name, run_forecast, run_period
from cloudconsole.cli.tenant.flavors import with_unit
from cloudconsole.spec.extensions import ExportFormat
from cloudconsole.spec.i18n import Text
from cloudconsole.spec.text_escaping import escape_and_truncate

if TYPE_CHECKING:
    from cloudconsole.cli.connection import ConsoleSession
    from cloudconsole.client import Console

_PERIODS: Final = {"hour": messages.HOUR, "day": messages.DAY, "month": messages.MONTH, "year": messages.YEAR}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("what", nargs="?", choices=["forecast", "export"], help=translate(messages.COSTS_ARGUMENT))
    parser.add_argument("--plot", action="store_true", help=translate(messages.PLOT_FLAG))
    parser.add_argument("--from", dest="first", metavar="DAY", type=day, help=translate(messages.FROM_DAY_FLAG))
    parser.add_argument("--to", dest="last", metavar="DAY", type=day, help=translate(messages.TO_DAY_FLAG))
    parser.add_argument("--by", choices=GROUPS, help=translate(messages.BY_FLAG))
    parser.add_argument("--kind", choices=KINDS, help=translate(messages.ONLY_KIND_FLAG))
    parser.add_argument("--node", metavar="NODE", help=translate(messages.ONLY_NODE_FLAG))
    parser.add_argument("--month", metavar="MONTH", type=month, help=translate(messages.MONTH_FLAG))
    parser.add_argument("--format", choices=get_args(ExportFormat), help=translate(messages.EXPORT_FORMAT_FLAG))
    add_connection_flags(parser)


def run(arguments: argparse.Namespace) -> int:
    period = [arguments.first, arguments.last, arguments.by, arguments.kind, arguments.node]
    problem = _usage_problem(arguments, has_period=any(period))
    if problem:
        print_error(translate(problem))
        return EXIT_USAGE
    if arguments.what:
        return run_export(arguments) if arguments.what == "export" else run_forecast(arguments)
    if any(period):
        return run_period(arguments)
    if not arguments.plot:
        return run_and_print(arguments, OutputView(lambda console: console.call("GetConsumptionsEstimated"), _table))

    def plot(call: "ConsoleSession") -> None:
        if arguments.output not in (None, "table") or arguments.query or arguments.columns:
            raise UsageError(translate(messages.PLOT_NEEDS_TABLE))
        print_table(call.do(_plot))

    return run_command(arguments, plot)


def _usage_problem(arguments: argparse.Namespace, *, has_period: bool) -> Text | None:
    if sum([bool(arguments.what), arguments.plot, has_period]) > 1:
        return messages.ONE_VIEW_OF_COSTS
    if arguments.what == "export":
        return None if arguments.month else messages.EXPORT_NEEDS_MONTH
    return messages.ONLY_WITH_EXPORT if arguments.month or arguments.format else None


def _table(console: "Console") -> Table:
    costs = console.consumption()
    periods = [
        field
        for period, heading in _PERIODS.items()
        for field in (
            Field(period, None, _amount(period)),
            Field(None, with_unit(heading, costs.currency), _amount(period), "amount"),
        )
    ]
    return Table(
        [
            Field("res_type", None, lambda cost: cost.res_type),
            Field(None, translate(messages.KIND), _kind),
            *periods,
            Field("currency", None, lambda _: costs.currency),
        ],
        costs.items,
        sums=[costs.total] if costs.items else [],
        notes=[] if costs.items else [translate(messages.NO_COSTS)],
    )


def _plot(console: "Console") -> Table:
    costs = console.consumption()
    largest = max((cost.hour for cost in costs), default=Decimal(0))
    fields = [
        Field(None, translate(messages.KIND), _kind),
        Field(None, "", lambda cost: Bar(float(cost.hour / largest) if largest else 0.0, "cyan"), "bar"),
        Field(None, with_unit(messages.HOUR, costs.currency), _amount("hour"), "amount"),
        Field(None, "%", lambda cost: _percent(cost.hour, costs.total.hour), "number"),
    ]
    if not costs.items:
        return Table(fields, [], notes=[translate(messages.NO_COSTS)])
    currency = escape_and_truncate(costs.currency or "")
    totals = [
        translate(
            messages.TOTAL_PER_PERIOD,
            period=translate(heading),
            amount=f"{_text(getattr(costs.total, period))} {currency}".rstrip(),
        )
        for period, heading in _PERIODS.items()
    ]
    month_days = console.about().month_days
    rule = (
        translate(messages.ESTIMATE_RULE, month_days=month_days) if month_days else translate(messages.NO_ESTIMATE_RULE)
    )
    return Table(fields, costs.items, notes=["", *totals, rule])


def _kind(cost: Any) -> str:
    return kind_name(cost.res_type)


def _amount(period: str) -> Callable[[Any], str]:
    return lambda cost: _text(getattr(cost, period))


def _text(amount: Decimal) -> str:
    """Format an amount exactly, without an exponent."""
    return f"{amount:f}"


def _percent(part: Decimal, whole: Decimal) -> str:
    return f"{100 * part / whole:.1f}" if whole else ""
