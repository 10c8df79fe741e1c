"""Showing what an action gives: one description of its columns, for tables, for CSV and for what is piped."""

import argparse
import csv
import re
from collections.abc import Callable, Sequence
from io import StringIO
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from cloudconsole.cli import output, printing
from cloudconsole.cli.running import run_call
from cloudconsole.cli.tables import Bar, Cell, Column, Kind, Styled
from cloudconsole.spec.text import cell, visible

if TYPE_CHECKING:
    from cloudconsole.cli.connecting import Call
    from cloudconsole.client import Console

_FORMULA: Final = re.compile(r"\s*[=+\-@＝＋－＠]|[\t\r\n]")
"""Some spreadsheets pass over blanks before a formula."""
_NUMBER: Final = re.compile(r"-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?")


class Field(NamedTuple):
    """One column."""

    name: str | None
    """In CSV, whatever the language; None where it is not there."""
    heading: str | None
    """In a table; None where it is not there."""
    value: Callable[[Any], Any]
    kind: Kind = "text"


class Sheet(NamedTuple):
    fields: Sequence[Field]
    records: Sequence[Any]
    sums: Sequence[Any] = ()
    """Records that add up the others: they are not in CSV, where programs add up themselves."""
    notes: Sequence[str] = ()
    """Lines for people, at a terminal."""
    is_record: bool = False
    """Whether it is one record, to be shown as names and values."""


class View(NamedTuple):
    data: "Callable[[Console], Any]"
    """As the console sent it, for JSON."""
    sheet: "Callable[[Console], Sheet]"


def show(arguments: argparse.Namespace, view: View) -> int:
    def command(call: "Call") -> None:
        if call.settings.output == "json":
            printing.print_json(call.do(view.data))
        elif call.settings.output == "csv":
            print_csv(call.do(view.sheet))
        else:
            print_sheet(call.do(view.sheet))

    return run_call(arguments, command)


def print_sheet(sheet: Sheet, *, is_drawing: bool | None = None) -> None:
    columns, rows = table_of(sheet)
    if sheet.is_record:
        (row,) = rows
        printing.print_rows(None, [(column.heading, value) for column, value in zip(columns, row, strict=True)])
    else:
        printing.print_rows(columns, rows, is_drawing=is_drawing)
    if is_drawing or printing.is_terminal():
        for note in sheet.notes:
            printing.print_line(note)


def table_of(sheet: Sheet) -> tuple[list[Column], list[list[Cell]]]:
    fields = [field for field in sheet.fields if field.heading is not None]
    columns = [Column(visible(field.heading or ""), field.kind) for field in fields]
    return columns, [[_cell(field.value(record)) for field in fields] for record in (*sheet.records, *sheet.sums)]


def _cell(value: Any) -> Cell:
    if isinstance(value, Bar | Styled):
        return value
    return "" if value in ([], {}) else cell(value)


def print_csv(sheet: Sheet) -> None:
    fields = [field for field in sheet.fields if field.name is not None]
    output.write(csv_line([field.name or "" for field in fields]))
    for record in sheet.records:
        output.write(csv_line([_plain(field.value(record)) for field in fields]))


def csv_line(values: Sequence[str]) -> str:
    text = StringIO()
    # It puts into quotes what would end its lines, so both ways to do so are given.
    csv.writer(text, lineterminator="\r\n").writerow(map(_without_formula, values))
    return text.getvalue().removesuffix("\r\n") + "\n"


def _without_formula(text: str) -> str:
    """Prefix with an apostrophe what a spreadsheet would run as a formula, as OWASP advises; numbers stay numbers."""
    return f"'{text}" if _FORMULA.match(text) and not _NUMBER.fullmatch(text) else text


def _plain(value: Any) -> str:
    """A value for programs; at a terminal it does not control that."""
    if value is None:
        return ""
    text = printing.json_text(value) if isinstance(value, bool | dict | list) else str(value)
    return visible(text) if printing.is_terminal() else text
