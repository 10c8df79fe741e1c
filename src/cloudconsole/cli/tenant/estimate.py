"""`cloudconsole estimate`: what resources would cost, and whether the quotas allow them."""

import argparse
import sys
from collections.abc import Callable
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

from cloudconsole.cli import messages as base_messages
from cloudconsole.cli import output, stdout
from cloudconsole.cli.config import TABLE_OUTPUTS
from cloudconsole.cli.errors import (
    EXIT_FAILED,
    EXIT_OK,
    EXIT_USAGE,
    CommandError,
    UsageError,
    print_error,
    system_error,
)
from cloudconsole.cli.flags import add_connection_flags, whole_number
from cloudconsole.cli.i18n import translate
from cloudconsole.cli.output import Field, Table
from cloudconsole.cli.runner import run_command
from cloudconsole.cli.tables import Styled
from cloudconsole.cli.tenant import messages
from cloudconsole.cli.tenant.flavors import with_unit
from cloudconsole.cli.tenant.usage import quota_unit
from cloudconsole.cli.terraform_plans import Item, Plan, is_plan, read_plan
from cloudconsole.spec.text_escaping import escape_and_truncate

if TYPE_CHECKING:
    from cloudconsole.cli.config import OutputSettings
    from cloudconsole.cli.connection import ConsoleSession
    from cloudconsole.client import Console, Estimate, EstimateItem, Units

MAX_BYTES: Final = 64 * 1024 * 1024
_PERIODS: Final = {"hour": messages.HOUR, "day": messages.DAY, "month": messages.MONTH, "year": messages.YEAR}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", nargs="?", help=translate(messages.ESTIMATE_FILE_ARGUMENT))
    parser.add_argument("--flavor", metavar="ID", help=translate(messages.FLAVOR_FLAG))
    parser.add_argument("--volume", metavar="GB[:TYPE]", type=_volume, help=translate(messages.VOLUME_FLAG))
    parser.add_argument("--count", metavar="N", type=whole_number, default=1, help=translate(messages.COUNT_FLAG))
    parser.add_argument("--node", metavar="NODE", help=translate(messages.NODE_FLAG))
    parser.add_argument("--hours", metavar="N", type=whole_number, help=translate(messages.HOURS_FLAG))
    add_connection_flags(parser)


def run(arguments: argparse.Namespace) -> int:
    try:
        plan = _requested(arguments)
    except UsageError as problem:
        print_error(str(problem))
        return EXIT_USAGE
    if arguments.node:
        for item in plan.items:
            if item.get("res_type") != "floating_ip":
                item["region"] = arguments.node

    def command(call: "ConsoleSession") -> int:
        estimate, units = None, None
        if plan.items:
            estimate = call.do(lambda console: _estimate(console, plan, arguments))
            units = call.do(lambda console: console.about().units)
        _show(estimate, plan, units, call.settings.output)
        if estimate is None:
            return EXIT_FAILED if plan.unknown else EXIT_OK
        return EXIT_OK if estimate.fits and estimate.total is not None and not plan.unknown else EXIT_FAILED

    return run_command(arguments, command)


def _estimate(console: "Console", plan: Plan, arguments: argparse.Namespace) -> "Estimate":
    from cloudconsole.client import ConsoleError

    # The console validates the items of a file.
    items = cast("list[EstimateItem]", plan.items)
    try:
        return console.estimate(items, arguments.hours)
    except ConsoleError as error:
        # The message names a place in the request, which the user has not written.
        if error.error == "node_not_found" and arguments.node:
            known = sorted({price.region for price in console.prices() if price.region})
            text = translate(messages.UNKNOWN_NODE, name=arguments.node, known=", ".join(known) or "-")
        elif error.error == "flavor_not_found" and arguments.flavor:
            text = translate(messages.UNKNOWN_FLAVOR, name=arguments.flavor)
        else:
            raise
        raise CommandError(text) from None


def _requested(arguments: argparse.Namespace) -> Plan:
    items: list[Item] = []
    if arguments.flavor:
        items.append({"res_type": "instance", "flavor": arguments.flavor, "count": arguments.count})
    if arguments.volume:
        items.append({"res_type": "volume", **arguments.volume, "count": arguments.count})
    if bool(items) == bool(arguments.file):
        raise UsageError(translate(messages.ESTIMATE_NEEDS_ONE))
    return Plan(items, []) if items else _read(arguments.file)


def _read(file: str) -> Plan:
    content = _json(file)
    try:
        if is_plan(content):
            return read_plan(content)
    except (ValueError, TypeError, KeyError, AttributeError):
        raise UsageError(translate(messages.INVALID_PLAN, file=file)) from None
    items = content.get("items") if isinstance(content, dict) else content
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        raise UsageError(translate(messages.INVALID_ESTIMATE_FILE, file=file))
    for number, item in enumerate(items):
        _reject_unknown_fields(f"{file}: items[{number}]", item)
    return Plan(items, [])


def _reject_unknown_fields(place: str, item: Item) -> None:
    """Consoles ignore unknown fields, so a misspelled count would be one."""
    from cloudconsole.client import EstimateItem

    known = list(EstimateItem.__annotations__)
    for name in item:
        if name not in known:
            near = get_close_matches(name, known, 1)
            hint = translate(base_messages.DID_YOU_MEAN, near=near[0]) if near else ""
            raise UsageError(translate(messages.UNKNOWN_FIELD, place=place, name=name) + hint)


def _json(file: str) -> Any:
    import msgspec

    try:
        if file == "-":
            text = sys.stdin.buffer.read(MAX_BYTES)
        else:
            with Path(file).open("rb") as opened:
                text = opened.read(MAX_BYTES)
        return msgspec.json.decode(text)
    except OSError as problem:
        raise UsageError(f"{file}: {system_error(problem)}") from None
    except (ValueError, RecursionError):
        raise UsageError(f"{file}: {translate(messages.NOT_JSON)}") from None


def _show(estimate: "Estimate | None", plan: Plan, units: "Units | None", settings: "OutputSettings") -> None:
    form, columns, _ = settings
    if form not in TABLE_OUTPUTS:
        output.print_data(settings, (estimate.raw if estimate else {"items": []}) | {"unknown": plan.unknown})
        return
    if estimate is None:
        output.print_line(translate(messages.NOTHING_TO_ESTIMATE))
    else:
        tables = [_costs(estimate, plan.items), _quotas(estimate, units)]
        is_piped = form == "table" and not output.is_terminal()
        if form == "csv" or columns or is_piped:
            output.show(settings, dict, lambda: tables[0])
            if is_piped and not columns:
                # Of tables, a pipe has one, with one header line.
                stdout.flush()
                print_error("\n".join([_verdict(estimate, units), *plan.unknown]))
            return
        show: Callable[[Table], None] = output.print_markdown if form == "markdown" else output.print_table
        show(tables[0])
        output.print_line("")
        show(tables[1])
        output.print_line("")
        output.print_line(_verdict(estimate, units))
    for problem in plan.unknown:
        output.print_line(problem)


def _costs(estimate: "Estimate", items: list[Item]) -> Table:
    rows = list(zip(items, estimate.items, strict=True))
    total = ({"res_type": "total", "count": ""}, estimate.total)
    amounts = [
        field
        for period, heading in _PERIODS.items()
        for field in (
            Field(period, None, _amount(period)),
            Field(None, with_unit(heading, estimate.currency), _amount(period, missing="?"), "amount"),
        )
    ]
    return Table(
        [
            Field("res_type", None, lambda row: row[0].get("res_type")),
            Field(None, translate(messages.KIND), lambda row: _kind(row[0])),
            Field("what", translate(messages.ITEM), lambda row: _what(row[0])),
            Field("region", translate(messages.NODE), lambda row: row[0].get("region", "")),
            Field("count", translate(messages.COUNT), lambda row: row[0].get("count", 1), "number"),
            *amounts,
            Field("currency", None, lambda _: estimate.currency),
        ],
        rows,
        sums=[total],
    )


def _quotas(estimate: "Estimate", units: "Units | None") -> Table:
    def name(need: Any) -> str:
        return with_unit(messages.QUOTAS[need.quota], quota_unit(need.quota, units))

    return Table(
        [
            Field("quota", translate(messages.QUOTA), name),
            Field("free", translate(messages.FREE), _free, "number"),
            Field("needed", translate(messages.NEEDED), lambda need: need.needed, "number"),
            Field(
                "lacking",
                translate(messages.LACKING),
                lambda need: Styled(str(need.lacking), "red") if need.lacking else "0",
                "number",
            ),
        ],
        estimate.quotas,
    )


def _verdict(estimate: "Estimate", units: "Units | None") -> str:
    lacking = [
        translate(messages.LACKS, quota=translate(messages.QUOTAS[need.quota]), amount=_amount_lacking(need, units))
        for need in estimate.quotas
        if need.lacking
    ]
    lines = [
        translate(
            messages.FITS if estimate.fits else messages.DOES_NOT_FIT, lacking=translate(messages.COMMA).join(lacking)
        )
    ]
    if estimate.total is None:
        lines.append(translate(messages.PRICE_MISSING))
    if estimate.cost is not None:
        cost = f"{estimate.cost:f} {estimate.currency or ''}".rstrip()
        text = messages.COST_OF_ONE_HOUR if estimate.hours == 1 else messages.COST_OF_HOURS
        lines.append(translate(text, hours=estimate.hours, cost=cost))
    return " ".join(lines)


def _amount_lacking(need: Any, units: "Units | None") -> str:
    unit = quota_unit(need.quota, units)
    return f"{need.lacking} {escape_and_truncate(unit)}" if unit else str(need.lacking)


def _kind(item: Item) -> str:
    known = {**messages.KINDS, "floating_ip": messages.QUOTAS["floating_ips"]}.get(item.get("res_type", ""))
    return translate(known) if known else str(item.get("res_type"))


def _what(item: Item) -> str:
    size = f"{item['size']} GB" if "size" in item else ""
    return " ".join(str(part) for part in (item.get("flavor"), size, item.get("type")) if part)


def _amount(period: str, missing: str | None = None) -> Callable[[Any], str | None]:
    return lambda row: missing if row[1] is None else f"{getattr(row[1], period):f}"


def _free(need: Any) -> Any:
    return translate(messages.UNLIMITED) if need.free is None else need.free


def _volume(text: str) -> Item:
    size, _, volume_type = text.partition(":")
    return {"size": whole_number(size), **({"type": volume_type} if volume_type else {})}
