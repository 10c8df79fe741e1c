"""`admin costs export`: the costs of a month, as FOCUS or CSV."""

import argparse
import asyncio
import re
from typing import Any, get_args

from cloudconsole.backends.costs.export import ExportColumns, export_month, recorded_tenants
from cloudconsole.cli import stdout
from cloudconsole.cli.i18n import translate
from cloudconsole.cli.messages import COMMAND, COMMANDS
from cloudconsole.operator.entities.references import not_found
from cloudconsole.operator.errors import OperatorError
from cloudconsole.server.commands.admin import transfer_messages
from cloudconsole.server.commands.admin.store import add_store_arguments, now, require_store
from cloudconsole.server.commands.i18n import argument_error
from cloudconsole.server.config.settings import SETTINGS, Settings
from cloudconsole.spec.csv_lines import csv_line
from cloudconsole.spec.extensions import MONTH, ExportFormat


def add_commands(commands: Any) -> None:
    costs = commands.add_parser("costs", help=translate(transfer_messages.COSTS), allow_abbrev=False)
    verbs = costs.add_subparsers(title=translate(COMMANDS), metavar=translate(COMMAND), required=True)
    parser = verbs.add_parser(
        "export",
        help=translate(transfer_messages.EXPORT),
        description=translate(transfer_messages.EXPORT_DESCRIPTION),
        allow_abbrev=False,
    )
    parser.add_argument(
        "--month", metavar="YYYY-MM", type=_month, required=True, help=translate(transfer_messages.MONTH_FLAG)
    )
    parser.add_argument("--tenant", metavar="NAME", help=translate(transfer_messages.TENANT_FLAG))
    parser.add_argument(
        "--format", choices=get_args(ExportFormat), default="focus", help=translate(transfer_messages.FORMAT_FLAG)
    )
    parser.add_argument(
        "--provider",
        metavar="NAME",
        type=_provider,
        help=translate(transfer_messages.PROVIDER_FLAG, default=SETTINGS["provider"].default),
    )
    add_store_arguments(parser)
    parser.set_defaults(admin_command=_export)


def _month(text: str) -> tuple[int, int]:
    if not re.search(MONTH, text):
        raise argparse.ArgumentTypeError(translate(transfer_messages.MUST_BE_MONTH))
    return int(text[:4]), int(text[5:])


def _provider(text: str) -> str:
    try:
        return str(SETTINGS["provider"].kind.from_text(text))
    except ValueError as problem:
        raise argument_error(problem) from None


def _export(arguments: argparse.Namespace, settings: Settings) -> None:
    require_store(settings)
    issuer = settings.issuer._replace(provider=arguments.provider or settings.provider)
    columns = ExportColumns(arguments.format, issuer)

    async def export() -> None:
        reader = settings.store.reader()
        try:
            async with reader.snapshot() as snapshot:
                tenants = await recorded_tenants(snapshot, arguments.tenant)
                if arguments.tenant is not None and not tenants:
                    raise OperatorError(not_found("tenant", arguments.tenant))
                stdout.write(csv_line(columns.names))
                async for row in export_month(snapshot, arguments.month, tenants, now(), settings.zone):
                    stdout.write(csv_line(columns.values(row)))
        finally:
            await reader.leave()
            reader.close()

    asyncio.run(export())
