"""`cloudconsole costs` with a period or a forecast: costs over time."""

import argparse
from collections.abc import Callable, Iterable
from datetime import date
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from cloudconsole.cli.errors import EXIT_USAGE, print_error
from cloudconsole.cli.i18n import translate
from cloudconsole.cli.output import Field, OutputView, Table, run_and_print
from cloudconsole.cli.tenant import messages
from cloudconsole.cli.tenant.flavors import with_unit
from cloudconsole.spec.extensions import MAX_DAYS

if TYPE_CHECKING:
    from cloudconsole.client import Console, Forecast, ResourceCost

KINDS: Final = ("instance", "image", "loadbalance", "volume")
_GAP: Final = "gap"
"""`res_type` of hours whose cost is not known."""
GROUPS: Final = ("kind", "node", "resource", "day", "month")


class _Sum(NamedTuple):
    cost: "ResourceCost | None"
    """The last one; None for the total."""
    amount: Decimal


_KEYS: Final[dict[str, "Callable[[ResourceCost], tuple[str, ...]]"]] = {
    "kind": lambda cost: (_order(cost.res_type), cost.res_type),
    "node": lambda cost: (cost.region,),
    "resource": lambda cost: (cost.res_id, cost.name),
    "day": lambda cost: (f"{cost.start:%Y-%m-%d}",),
    "month": lambda cost: (cost.month,),
}


def _order(res_type: str) -> str:
    """Order kinds as the console does; unknown ones are last."""
    return str(KINDS.index(res_type)) if res_type in KINDS else "9"


def day(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise argparse.ArgumentTypeError(translate(messages.MUST_BE_DAY)) from None


def run_period(arguments: argparse.Namespace) -> int:
    by = arguments.by or "kind"
    if arguments.first and arguments.last and not 0 <= (arguments.last - arguments.first).days < MAX_DAYS:
        print_error(translate(messages.PERIOD_TOO_LONG, days=MAX_DAYS))
        return EXIT_USAGE

    def table(console: "Console") -> Table:
        costs = console.costs(
            arguments.first,
            arguments.last,
            res_type=arguments.kind or "",
            region=arguments.node or "",
            by_day=by == "day",
        )
        return period_table(by, costs, console.about().currency)

    def records(console: "Console") -> list[dict[str, Any]]:
        found = table(console)
        return [{field.name: field.value(each) for field in found.fields if field.name} for each in found.records]

    return run_and_print(arguments, OutputView(records, table))


def period_table(by: str, costs: "Iterable[ResourceCost]", currency: str | None) -> Table:
    """Return the sums of each group, and notes on hours without data."""
    sums: dict[tuple[str, ...], _Sum] = {}
    notes = []
    for cost in costs:
        if cost.res_type == _GAP:
            start, end = (f"{moment:%Y-%m-%d %H:%M}" for moment in (cost.start, cost.end))
            notes.append(translate(messages.NO_DATA_BETWEEN).format(start=start, end=end))
            continue
        key = _KEYS[by](cost)
        sums[key] = _Sum(cost, cost.amount + (sums[key].amount if key in sums else 0))
    found = [sums[key] for key in sorted(sums)]
    total = _Sum(None, sum((each.amount for each in found), Decimal()))
    return Table(
        [
            *_group_fields(by),
            Field("amount", None, lambda each: f"{each.amount:f}"),
            Field(None, with_unit(messages.COST, currency), lambda each: f"{each.amount:f}", "amount"),
            Field("currency", None, lambda _: currency),
        ],
        found,
        sums=[total] if found else [],
        notes=notes if found else [translate(messages.NO_COSTS_IN_PERIOD), *notes],
    )


def _group_fields(by: str) -> list[Field]:
    total = translate(messages.TOTAL)
    if by == "resource":
        return [
            Field("res_id", translate(messages.ID), lambda each: each.cost.res_id if each.cost else total),
            Field("name", translate(messages.NAME), lambda each: each.cost.name if each.cost else ""),
            Field("res_type", None, lambda each: each.cost.res_type),
            Field(None, translate(messages.KIND), lambda each: kind_name(each.cost.res_type) if each.cost else ""),
            Field("region", translate(messages.NODE), lambda each: each.cost.region if each.cost else ""),
        ]
    if by == "kind":
        return [
            Field("res_type", None, lambda each: each.cost.res_type),
            Field(None, translate(messages.KIND), lambda each: kind_name(each.cost.res_type) if each.cost else total),
        ]
    name, heading = {
        "node": ("region", messages.NODE),
        "day": ("day", messages.ONE_DAY),
        "month": ("month", messages.ONE_MONTH),
    }[by]
    key = _KEYS[by]
    return [Field(name, translate(heading), lambda each: key(each.cost)[0] if each.cost else total)]


def kind_name(res_type: str) -> str:
    known = messages.KINDS.get(res_type)
    return translate(known) if known else res_type


def run_forecast(arguments: argparse.Namespace) -> int:
    return run_and_print(arguments, OutputView(lambda console: console.call("GetForecast"), _forecast_table))


def _forecast_table(console: "Console") -> Table:
    forecast = console.forecast()
    texts = {"so_far": messages.SO_FAR, "rest": messages.REST_OF_MONTH, "total": messages.TOTAL}
    amounts = [
        Field(name, with_unit(heading, forecast.currency), _amount(name), "amount") for name, heading in texts.items()
    ]
    return Table(
        [
            Field("month", translate(messages.ONE_MONTH), lambda each: each.month),
            *amounts,
            Field("hours_left", translate(messages.HOURS_LEFT), lambda each: each.hours_left, "number"),
            Field("complete", None, lambda each: each.complete),
            Field("currency", None, lambda each: each.currency),
        ],
        [forecast],
        notes=[] if forecast.complete else [translate(messages.INCOMPLETE_MONTH)],
        is_record=True,
    )


def _amount(name: str) -> "Callable[[Forecast], str | None]":
    def text(forecast: "Forecast") -> str | None:
        amount: Decimal | None = getattr(forecast, name)
        return None if amount is None else f"{amount:f}"

    return text
