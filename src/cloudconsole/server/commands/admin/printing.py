"""What a command prints: tables on a terminal, plain columns with tabs between them elsewhere, JSON where asked."""

import sys
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any, Final

import msgspec

from cloudconsole.operator.records import Record, json_text
from cloudconsole.server.visible import visible, visible_json

ON_A_TERMINAL: Final = 100
"""So many lines are listed on a terminal where no limit is given; elsewhere all are."""


def is_terminal() -> bool:
    return sys.stdout.isatty()


def print_line(text: str) -> None:
    """One line for people; what is in it does not control their terminal."""
    sys.stdout.write(f"{visible(text)}\n")


def print_json(value: Any) -> None:
    sys.stdout.write(f"{msgspec.json.format(visible_json(json_text(value)), indent=2)}\n")


def print_json_lines(records: Iterable[Record]) -> None:
    """One array, a record on each line; of any length, since it is written as it comes."""
    separator = "[\n"
    for record in records:
        sys.stdout.write(f"{separator}{visible_json(json_text(record))}")
        separator = ",\n"
    sys.stdout.write("[]\n" if separator == "[\n" else "\n]\n")


def print_record(record: Record) -> None:
    _print_rows(None, ([name, cell(value)] for name, value in record.items()))


def print_records(columns: Sequence[str], records: Iterable[Record]) -> None:
    _print_rows(columns, ([cell(record.get(column)) for column in columns] for record in records))


def cell(value: Any) -> str:
    """A value as people read it; like a line, it does not control their terminal."""
    if value is None or value is False:
        return "" if value is None else "no"
    if value is True:
        return "yes"
    return visible(json_text(value) if isinstance(value, dict | list) else str(value))


def _print_rows(heading: Sequence[str] | None, rows: Iterable[Sequence[str]]) -> None:
    if is_terminal():
        _print_table(heading, rows)
        return
    for row in rows if heading is None else chain([heading], rows):
        sys.stdout.write("\t".join(row) + "\n")


def _print_table(heading: Sequence[str] | None, rows: Iterable[Sequence[str]]) -> None:
    # Loaded only where it is needed: most commands are called by scripts.
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    lines = list(rows)
    # A terminal is narrow: columns in which nothing stands are left out.
    shown = [place for place in range(len(lines[0]) if lines else 0) if any(line[place] for line in lines)]
    table = Table(box=None, pad_edge=False, show_header=heading is not None, header_style="bold")
    for place in shown:
        name = "" if heading is None else heading[place]
        table.add_column(Text(name), overflow="fold", style="bold" if heading is None and place == 0 else None)
    for line in lines:
        table.add_row(*(Text(line[place]) for place in shown))
    if lines:
        Console(file=sys.stdout, highlight=False).print(table)
