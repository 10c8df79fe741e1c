"""Output of commands: tables for terminals, tab-separated values for pipes, JSON and CSV."""

import argparse
import csv
import json
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from io import StringIO
from itertools import chain, compress, repeat
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec

from cloudconsole.cli import stdout
from cloudconsole.cli.runner import run_command
from cloudconsole.cli.tables import Bar, Cell, Column, Kind, Styled, render, terminal, text_of
from cloudconsole.spec.text import escape, escape_json, format_cell

if TYPE_CHECKING:
    from cloudconsole.cli.connection import Connection
    from cloudconsole.client import Console

Record = dict[str, Any]

ON_A_TERMINAL: Final = 100
"""So many lines are listed on a terminal where no limit is given; elsewhere all are."""

_encode: Final = msgspec.json.Encoder(decimal_format="number").encode


def is_terminal() -> bool:
    return sys.stdout.isatty()


def print_line(text: str) -> None:
    """One line for people; what is in it does not control their terminal."""
    stdout.write(f"{escape(text)}\n")


def print_json(value: Any) -> None:
    stdout.write(f"{msgspec.json.format(_json(value), indent=2)}\n")


def print_json_lines(records: Iterable[Record]) -> None:
    """One array, a record on each line; of any length, since it is written as it comes."""
    separator = "[\n"
    for record in records:
        stdout.write(f"{separator}{_json(record)}")
        separator = ",\n"
    stdout.write("[]\n" if separator == "[\n" else "\n]\n")


def _json(value: Any) -> str:
    """JSON on one line; with escapes of its own for whatever standard output has no code for."""
    text = escape_json(json_text(value))
    return text if can_show(text) else "".join(each if each.isascii() else json.dumps(each)[1:-1] for each in text)


def can_show(text: str) -> bool:
    """Whether standard output has a code for each character."""
    try:
        text.encode(sys.stdout.encoding)
    except UnicodeEncodeError:
        return False
    return True


def json_text(value: Any) -> str:
    """JSON in which every number is as exact as it was given."""
    return _encode(value).decode()


def print_record(record: Record) -> None:
    print_rows(None, ([name, format_cell(value)] for name, value in record.items()))


def print_records(columns: Sequence[str], records: Iterable[Record]) -> None:
    print_rows(
        [Column(name) for name in columns],
        ([format_cell(record.get(column)) for column in columns] for record in records),
    )


def print_rows(
    columns: Sequence[Column] | None, rows: Iterable[Sequence[Cell]], *, is_drawing: bool | None = None
) -> None:
    """Rows below their headings; without columns, each is a name and its value. Drawn on a terminal, unless told."""
    if is_terminal() if is_drawing is None else is_drawing:
        console = terminal()
        for number, table in enumerate(render(columns, rows, console.width, ascii_only=not can_show("█"))):
            if number:
                console.print()
            console.print(table)
        return
    heading = [] if columns is None else [[column.heading for column in columns]]
    is_said = repeat(True) if columns is None else [column.kind != "bar" for column in columns]
    for row in chain(heading, rows):
        stdout.write("\t".join(map(text_of, compress(row, is_said))) + "\n")


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


class Table(NamedTuple):
    fields: Sequence[Field]
    records: Sequence[Any]
    sums: Sequence[Any] = ()
    """Records that add up the others: they are not in CSV, where programs add up themselves."""
    notes: Sequence[str] = ()
    """Lines for people, at a terminal."""
    is_record: bool = False
    """Whether it is one record, to be shown as names and values."""


class OutputView(NamedTuple):
    data: "Callable[[Console], Any]"
    """As the console sent it, for JSON."""
    sheet: "Callable[[Console], Table]"


def run_and_print(arguments: argparse.Namespace, view: OutputView) -> int:
    def command(call: "Connection") -> None:
        if call.settings.output == "json":
            print_json(call.do(view.data))
        elif call.settings.output == "csv":
            print_csv(call.do(view.sheet))
        else:
            print_table(call.do(view.sheet))

    return run_command(arguments, command)


def print_table(sheet: Table, *, is_drawing: bool | None = None) -> None:
    columns, rows = render_table(sheet)
    if sheet.is_record:
        (row,) = rows
        print_rows(None, [(column.heading, value) for column, value in zip(columns, row, strict=True)])
    else:
        print_rows(columns, rows, is_drawing=is_drawing)
    if is_drawing or is_terminal():
        for note in sheet.notes:
            print_line(note)


def render_table(sheet: Table) -> tuple[list[Column], list[list[Cell]]]:
    fields = [field for field in sheet.fields if field.heading is not None]
    columns = [Column(escape(field.heading or ""), field.kind) for field in fields]
    return columns, [[_cell(field.value(record)) for field in fields] for record in (*sheet.records, *sheet.sums)]


def _cell(value: Any) -> Cell:
    if isinstance(value, Bar | Styled):
        return value
    return "" if value in ([], {}) else format_cell(value)


def print_csv(sheet: Table) -> None:
    fields = [field for field in sheet.fields if field.name is not None]
    stdout.write(csv_line([field.name or "" for field in fields]))
    for record in sheet.records:
        stdout.write(csv_line([_plain(field.value(record)) for field in fields]))


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
    text = json_text(value) if isinstance(value, bool | dict | list) else str(value)
    return escape(text) if is_terminal() else text
