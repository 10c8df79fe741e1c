"""Output of commands: tables for terminals, tab-separated values for pipes, JSON, YAML, CSV, Markdown."""

import argparse
import json
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain, compress, repeat
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec

from cloudconsole.cli import messages, stdout
from cloudconsole.cli.config import TABLE_OUTPUTS
from cloudconsole.cli.errors import UsageError
from cloudconsole.cli.i18n import translate
from cloudconsole.cli.runner import run_command
from cloudconsole.cli.tables import Bar, Cell, Column, Kind, Styled, render, terminal, text_of
from cloudconsole.cli.yaml_output import yaml_lines
from cloudconsole.spec.csv_lines import csv_line
from cloudconsole.spec.text_escaping import escape, escape_json, format_cell

if TYPE_CHECKING:
    from cloudconsole.cli.config import OutputSettings
    from cloudconsole.cli.connection import ConsoleSession
    from cloudconsole.client import Console

Record = dict[str, Any]

ON_A_TERMINAL: Final = 100
"""Default limit of lists on a terminal; other outputs have none."""

_encode: Final = msgspec.json.Encoder(decimal_format="number").encode


def is_terminal() -> bool:
    return sys.stdout.isatty()


def print_line(text: str) -> None:
    """Print one line, escaped for terminals."""
    stdout.write(f"{escape(text)}\n")


def print_json(value: Any) -> None:
    stdout.write(f"{msgspec.json.format(_json(value), indent=2)}\n")


def print_json_line(settings: "OutputSettings", data: Any) -> None:
    """Print data, or what a query selects of it, as one line of a stream."""
    query = settings.query
    stdout.write(f"{_json(query(data) if query else data)}\n")
    stdout.flush()


def print_json_lines(records: Iterable[Record]) -> None:
    """Stream records as one JSON array, one record per line."""
    separator = "[\n"
    for record in records:
        stdout.write(f"{separator}{_json(record)}")
        separator = ",\n"
    stdout.write("[]\n" if separator == "[\n" else "\n]\n")


def _json(value: Any) -> str:
    """Encode JSON on one line; escape characters that standard output cannot encode."""
    text = escape_json(json_text(value))
    return text if can_show(text) else "".join(each if each.isascii() else json.dumps(each)[1:-1] for each in text)


def can_show(text: str) -> bool:
    """Whether standard output can encode the text."""
    try:
        text.encode(sys.stdout.encoding)
    except UnicodeEncodeError:
        return False
    return True


def json_text(value: Any) -> str:
    """Encode JSON without loss of numeric precision."""
    return _encode(value).decode()


def print_record(record: Record) -> None:
    print_rows(None, ([name, format_cell(value)] for name, value in record.items()))


def print_records(headings: Mapping[str, str], records: Iterable[Record]) -> None:
    """Print the fields that have a heading."""
    print_rows(
        [Column(heading) for heading in headings.values()],
        ([format_cell(record.get(name)) for name in headings] for record in records),
    )


def print_rows(columns: Sequence[Column] | None, rows: Iterable[Sequence[Cell]]) -> None:
    """Print rows under headings, as a table on a terminal; without columns, rows are name-value pairs."""
    if is_terminal():
        console = terminal()
        for number, table in enumerate(render(columns, rows, console.width, ascii_only=not can_show("█"))):
            if number:
                console.print()
            console.print(table)
        return
    heading = [] if columns is None else [[column.heading for column in columns]]
    is_text = repeat(True) if columns is None else [column.kind != "bar" for column in columns]
    for row in chain(heading, rows):
        stdout.write("\t".join(map(text_of, compress(row, is_text))) + "\n")


_MARKDOWN: Final = re.compile(r"[\\`*_\[\]<>|#]")
"""Characters that Markdown may take as markup."""


class Field(NamedTuple):
    name: str | None
    """CSV column name, in any language; None to omit it from CSV."""
    heading: str | None
    """Table heading; None to omit it from tables."""
    value: Callable[[Any], Any]
    kind: Kind = "text"


class Table(NamedTuple):
    fields: Sequence[Field]
    records: Sequence[Any]
    sums: Sequence[Any] = ()
    """Total rows; omitted from CSV."""
    notes: Sequence[str] = ()
    """Lines below the table, on a terminal only."""
    is_record: bool = False
    """Whether it is one record, shown as name-value pairs."""


def show(settings: "OutputSettings", data: Callable[[], Any], table: Callable[[], Table]) -> None:
    """Print a command's data or table, as its options ask for."""
    form, columns, _ = settings
    if form not in TABLE_OUTPUTS:
        print_data(settings, data())
        return
    printers = {"csv": print_csv, "markdown": print_markdown, "table": print_table}
    printers[form](select_columns(table(), columns))


def print_data(settings: "OutputSettings", data: Any) -> None:
    """Print data, or what a query selects of it, in a format for data."""
    form, _, query = settings
    value = query(data) if query else data
    if form == "yaml":
        stdout.write("".join(f"{line}\n" for line in yaml_lines(value, _json)))
    elif form == "value" and isinstance(value, str):
        print_line(value)
    else:
        print_json(value)


def select_columns(table: Table, columns: Sequence[str]) -> Table:
    """Return the table with these columns only, if any, and without totals; columns have two names."""
    if not columns:
        return table
    shown = {_without_unit(field.heading): field for field in table.fields if field.heading and field.kind != "bar"}
    in_csv = {field.name: field for field in table.fields if field.name is not None}
    fields = shown | in_csv
    unknown = [name for name in columns if name not in fields]
    if unknown:
        known = ", ".join(in_csv) or "-"
        raise UsageError(translate(messages.UNKNOWN_COLUMN, name=unknown[0], known=known))
    return Table(
        [fields[name]._replace(name=name, heading=name) for name in columns], table.records, is_record=table.is_record
    )


def _without_unit(heading: str) -> str:
    return heading.partition(" (")[0]


class OutputView(NamedTuple):
    data: "Callable[[Console], Any]"
    """Fetch the data as the console sent it, for JSON."""
    table: "Callable[[Console], Table]"


def run_and_print(arguments: argparse.Namespace, view: OutputView) -> int:
    def command(call: "ConsoleSession") -> None:
        show(call.settings.output, lambda: call.do(view.data), lambda: call.do(view.table))

    return run_command(arguments, command)


def print_table(table: Table) -> None:
    columns, rows = render_table(table)
    if table.is_record and is_terminal():
        (row,) = rows
        print_rows(None, [(column.heading, value) for column, value in zip(columns, row, strict=True)])
    else:
        print_rows(columns, rows)
    if is_terminal():
        for note in table.notes:
            print_line(note)


def render_table(table: Table) -> tuple[list[Column], list[list[Cell]]]:
    fields = [field for field in table.fields if field.heading is not None]
    columns = [Column(escape(field.heading or ""), field.kind) for field in fields]
    return columns, [[_cell(field.value(record)) for field in fields] for record in (*table.records, *table.sums)]


def _cell(value: Any) -> Cell:
    if isinstance(value, Bar | Styled):
        return value
    return "" if value in ([], {}) else format_cell(value)


def print_markdown(table: Table) -> None:
    columns, rows = render_table(table)
    if table.is_record:
        (row,) = rows
        pairs = zip(columns, row, strict=True)
        columns, rows = [Column(""), Column("")], [[column.heading, value] for column, value in pairs]
    shown = [number for number, column in enumerate(columns) if column.kind != "bar"]
    marks = ["---:" if columns[number].kind in ("number", "amount") else "---" for number in shown]
    lines: list[Sequence[Cell]] = [[column.heading for column in columns], *rows]
    cells = [[_MARKDOWN.sub(r"\\\g<0>", text_of(line[number])) for number in shown] for line in lines]
    cells.insert(1, marks)
    stdout.write("".join(f"| {' | '.join(line)} |\n" for line in cells))


def print_csv(table: Table) -> None:
    fields = [field for field in table.fields if field.name is not None]
    stdout.write(csv_line([field.name or "" for field in fields]))
    for record in table.records:
        print_csv_row([field.value(record) for field in fields])


def print_csv_row(values: Sequence[Any]) -> None:
    stdout.write(csv_line([_plain(value) for value in values]))


def _plain(value: Any) -> str:
    """Format a value for programs; escape it on a terminal."""
    if value is None:
        return ""
    text = json_text(value) if isinstance(value, bool | dict | list) else str(value)
    return escape(text) if is_terminal() else text
