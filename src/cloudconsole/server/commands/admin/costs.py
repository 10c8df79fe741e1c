"""`admin costs export`: the costs of a month, as FOCUS or CSV."""

import argparse
import asyncio
import re
from collections.abc import Callable
from typing import Any, Final

from cloudconsole.backends.costs.export import ExportedRow, export_month, recorded_tenants
from cloudconsole.cli import stdout
from cloudconsole.cli.output import csv_line
from cloudconsole.core.clock import format_utc
from cloudconsole.core.pricing import format_amount
from cloudconsole.operator.errors import OperatorError
from cloudconsole.server.commands.admin.store import add_store_arguments, now, require_store
from cloudconsole.server.config.settings import Settings
from cloudconsole.spec.focus import VERSIONS

_FOCUS_VERSION: Final = "1.2"
_DEFAULT_PROVIDER: Final = "Cloud Console"

_CSV: Final[dict[str, Callable[[ExportedRow], str]]] = {
    "tenant": lambda each: each.tenant,
    "month": lambda each: each.month.label,
    "res_type": lambda each: each.row.segment.key.kind,
    "res_id": lambda each: each.row.id.resource_id,
    "name": lambda each: each.row.name,
    "region": lambda each: each.row.region,
    "vcpus": lambda each: str(each.row.segment.amounts.vcpus),
    "memory_gb": lambda each: str(each.row.segment.amounts.ram_gb),
    "size_gb": lambda each: str(each.row.segment.amounts.size_gb),
    "start": lambda each: format_utc(each.row.segment.start),
    "end": lambda each: format_utc(each.row.segment.end),
    "hours": lambda each: str(each.row.segment.hours),
    "unit_price": lambda each: format_amount(each.row.segment.hourly),
    "amount": lambda each: format_amount(each.row.cost),
    "correction": lambda each: each.row.event,
}


def add_commands(commands: Any) -> None:
    costs = commands.add_parser("costs", help="export the costs of a month", allow_abbrev=False)
    verbs = costs.add_subparsers(title="commands", metavar="COMMAND", required=True)
    parser = verbs.add_parser(
        "export",
        help="print the costs of a month",
        description="Print what each resource has cost in a month, up to now, as FOCUS 1.2 (FinOps Open Cost and Usage "
        "Specification) or as CSV.",
        allow_abbrev=False,
    )
    parser.add_argument("--month", metavar="YYYY-MM", type=_month, required=True, help="the month, such as 2026-10")
    parser.add_argument("--tenant", metavar="NAME", help="only this tenant (default: all, including removed tenants)")
    parser.add_argument("--format", choices=["focus", "csv"], default="focus", help="columns (default: focus)")
    parser.add_argument(
        "--provider",
        metavar="NAME",
        default=_DEFAULT_PROVIDER,
        help=f"provider, publisher and issuer of invoices in FOCUS (default: {_DEFAULT_PROVIDER})",
    )
    add_store_arguments(parser)
    parser.set_defaults(admin_command=_export)


def _month(text: str) -> tuple[int, int]:
    if not re.fullmatch("(19[7-9][0-9]|[2-9][0-9]{3})-(0[1-9]|1[0-2])", text):
        raise argparse.ArgumentTypeError("must be a month such as 2026-10")
    return int(text[:4]), int(text[5:])


def _export(arguments: argparse.Namespace, settings: Settings) -> None:
    require_store(settings)
    columns = VERSIONS[_FOCUS_VERSION]

    def values(each: ExportedRow) -> list[str]:
        if arguments.format == "csv":
            return [value(each) for value in _CSV.values()]
        charge = each.charge(arguments.provider, settings.currency)
        return [value(charge) for value in columns.values()]

    async def export() -> None:
        reader = settings.store.reader()
        try:
            async with reader.snapshot() as snapshot:
                tenants = await recorded_tenants(snapshot, arguments.tenant)
                if arguments.tenant is not None and not tenants:
                    raise OperatorError(f"there is no tenant {arguments.tenant}")
                stdout.write(csv_line(list(_CSV if arguments.format == "csv" else columns)))
                async for each in export_month(snapshot, arguments.month, tenants, now(), settings.zone):
                    stdout.write(csv_line(values(each)))
        finally:
            await reader.leave()
            reader.close()

    asyncio.run(export())
