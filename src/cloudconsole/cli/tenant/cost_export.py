"""`cloudconsole costs export`: the costs of a month as CSV."""

import argparse
import re
from functools import partial
from typing import TYPE_CHECKING

from cloudconsole.cli import stdout
from cloudconsole.cli.errors import UsageError
from cloudconsole.cli.i18n import translate
from cloudconsole.cli.output import print_csv_row
from cloudconsole.cli.runner import run_command
from cloudconsole.cli.tenant import messages
from cloudconsole.spec.extensions import GET_COST_EXPORT, MONTH

if TYPE_CHECKING:
    from cloudconsole.cli.connection import ConsoleSession
    from cloudconsole.client import Console, CostExport


def month(text: str) -> str:
    if not re.search(MONTH, text):
        raise argparse.ArgumentTypeError(translate(messages.MUST_BE_MONTH))
    return text


def run_export(arguments: argparse.Namespace) -> int:
    """Print page by page: an export may be long, and each page has the time of a call."""

    def export(call: "ConsoleSession") -> None:
        if arguments.output not in (None, "csv") or arguments.query or arguments.columns:
            raise UsageError(translate(messages.EXPORT_IS_CSV))
        page = call.do(partial(_page, arguments, None))
        print_csv_row(page.columns)
        while True:
            for row in page:
                print_csv_row(row)
            stdout.flush()
            if page.raw["next_marker"] is None:
                break
            page = call.do(partial(_page, arguments, page))

    return run_command(arguments, export)


def _page(arguments: argparse.Namespace, previous: "CostExport | None", console: "Console") -> "CostExport":
    from cloudconsole.client.actions import export_fields
    from cloudconsole.client.extension_decoding import cost_export

    fields = export_fields(arguments.month, arguments.format or "focus", previous)
    return cost_export(console.call(GET_COST_EXPORT.name, **fields), previous)
