"""What a command prints: tables on a terminal, plain columns with tabs between them elsewhere, JSON where asked."""

import json
import sys
from collections.abc import Iterable, Sequence
from itertools import chain, compress, repeat
from typing import Any, Final

import msgspec

from cloudconsole.cli import output
from cloudconsole.cli.tables import Cell, Column, drawn, terminal, text_of
from cloudconsole.spec.text import cell, visible, visible_json

Record = dict[str, Any]

ON_A_TERMINAL: Final = 100
"""So many lines are listed on a terminal where no limit is given; elsewhere all are."""

_encode: Final = msgspec.json.Encoder(decimal_format="number").encode


def is_terminal() -> bool:
    return sys.stdout.isatty()


def print_line(text: str) -> None:
    """One line for people; what is in it does not control their terminal."""
    output.write(f"{visible(text)}\n")


def print_json(value: Any) -> None:
    output.write(f"{msgspec.json.format(_json(value), indent=2)}\n")


def print_json_lines(records: Iterable[Record]) -> None:
    """One array, a record on each line; of any length, since it is written as it comes."""
    separator = "[\n"
    for record in records:
        output.write(f"{separator}{_json(record)}")
        separator = ",\n"
    output.write("[]\n" if separator == "[\n" else "\n]\n")


def _json(value: Any) -> str:
    """JSON on one line; with escapes of its own for whatever standard output has no code for."""
    text = visible_json(json_text(value))
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
    print_rows(None, ([name, cell(value)] for name, value in record.items()))


def print_records(columns: Sequence[str], records: Iterable[Record]) -> None:
    print_rows(
        [Column(name) for name in columns], ([cell(record.get(column)) for column in columns] for record in records)
    )


def print_rows(
    columns: Sequence[Column] | None, rows: Iterable[Sequence[Cell]], *, is_drawing: bool | None = None
) -> None:
    """Rows below their headings; without columns, each is a name and its value. Drawn on a terminal, unless told."""
    if is_terminal() if is_drawing is None else is_drawing:
        console = terminal()
        for number, table in enumerate(drawn(columns, rows, console.width, ascii_only=not can_show("█"))):
            if number:
                console.print()
            console.print(table)
        return
    heading = [] if columns is None else [[column.heading for column in columns]]
    is_said = repeat(True) if columns is None else [column.kind != "bar" for column in columns]
    for row in chain(heading, rows):
        output.write("\t".join(map(text_of, compress(row, is_said))) + "\n")
