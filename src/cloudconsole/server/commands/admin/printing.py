"""What a command prints: tables on a terminal, plain columns with tabs between them elsewhere, JSON where asked."""

import json
import sys
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any, Final

import msgspec

from cloudconsole.cli import output
from cloudconsole.operator.records import Record, json_text
from cloudconsole.server.visible import visible, visible_json

ON_A_TERMINAL: Final = 100
"""So many lines are listed on a terminal where no limit is given; elsewhere all are."""

_BETWEEN: Final = 2
"""Spaces between two columns."""
_LEAST_TEXT: Final = 30
"""So wide must be what is left for a text that is folded."""


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
    try:
        text.encode(sys.stdout.encoding)
    except UnicodeEncodeError:
        return "".join(each if each.isascii() else json.dumps(each)[1:-1] for each in text)
    return text


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
        output.write("\t".join(row) + "\n")


def _print_table(heading: Sequence[str] | None, rows: Iterable[Sequence[str]]) -> None:
    # Loaded only where it is needed: most commands are called by scripts.
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(file=sys.stdout, highlight=False)

    def show(names: Sequence[str] | None, lines: Iterable[Sequence[str]]) -> None:
        table = Table(box=None, pad_edge=False, show_header=names is not None, header_style="bold")
        for place, name in enumerate(names or ("", "")):
            style = "bold" if names is None and place == 0 else None
            is_whole = names is not None and place < len(names) - 1
            table.add_column(Text(name), overflow="fold", no_wrap=is_whole, style=style)
        for line in lines:
            table.add_row(*map(Text, line))
        console.print(table)

    lines = list(rows)
    if heading is None or not lines:
        show(None, lines)
        return
    # A terminal is narrow: columns in which nothing stands are left out.
    shown = [place for place in range(len(heading)) if any(line[place] for line in lines)]
    names = [heading[place] for place in shown]
    lines = [[line[place] for place in shown] for line in lines]
    if _fits(names, lines, console.width):
        show(names, lines)
        return
    # Rather than cutting values, each record is shown by itself.
    for number, line in enumerate(lines):
        if number:
            console.print()
        show(None, [(name, value) for name, value in zip(names, line, strict=True) if value])


def _fits(names: Sequence[str], lines: Sequence[Sequence[str]], width: int) -> bool:
    """Whether every value can stand whole beside the others; a text at the end of a line may be folded."""
    from rich.cells import cell_len

    *widths, last = (max(map(cell_len, column)) for column in zip(names, *lines, strict=True))
    is_text = any(" " in line[-1] for line in lines)
    return sum(widths) + _BETWEEN * len(widths) + (min(last, _LEAST_TEXT) if is_text else last) <= width
