"""Tables on a terminal; values are never truncated or interpreted as markup."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import compress
from typing import IO, TYPE_CHECKING, Final, Literal, NamedTuple, cast

from cloudconsole.cli import stdout

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

_COLUMN_GAP: Final = 2
"""Spaces between two columns."""
_MIN_TEXT: Final = 30
"""Minimum width of a wrapped last column."""
_DEFAULT_WIDTH: Final = 80
_MIN_VALUE: Final = 8
"""Minimum width of a record's values beside their names."""
_MIN_BAR: Final = 8
_MAX_BAR: Final = 30


class Column(NamedTuple):
    heading: str
    kind: "Kind" = "text"


Kind = Literal["text", "number", "amount", "bar"]
"""Numbers are right-aligned, amounts aligned at the decimal point; bars take the remaining width."""


class Styled(NamedTuple):
    """Text with a rich style."""

    text: str
    style: str


class Bar(NamedTuple):
    """A share drawn as a bar; omitted if the terminal is too narrow."""

    share: float
    """1.0 or more is the full width."""
    style: str = ""


Cell = str | Styled | Bar


def terminal() -> "Console":
    """Return a rich console on standard output."""
    # Imported late: most commands are called by scripts.
    from rich.console import Console

    console = Console(file=cast("IO[str]", stdout.BufferedStdout()), highlight=False)
    if not console.width:
        # Such a terminal does not report its width.
        console.width = _DEFAULT_WIDTH
    return console


def render(
    columns: Sequence[Column] | None, rows: Iterable[Sequence[Cell]], width: int, *, ascii_only: bool = False
) -> "Iterator[Table | Text]":
    """Yield one table, or one per row if it would be too wide. Without columns, rows are name-value pairs."""
    lines = list(rows)
    if columns is None:
        yield _record([(text_of(name), value) for name, value in lines], width)
        return
    if not lines:
        yield _table(columns, [], _TableRenderer(0, ascii_only))
        return
    # Terminals are narrow: omit empty columns.
    columns, lines = _select_columns(
        columns, lines, [any(map(_is_filled, values)) for values in zip(*lines, strict=True)]
    )
    aligned = _with_aligned_points(columns, lines)
    bar_width = _remaining_width(columns, aligned, width)
    if bar_width < _MIN_BAR:
        without_bars = [column.kind != "bar" for column in columns]
        _, aligned = _select_columns(columns, aligned, without_bars)
        columns, lines = _select_columns(columns, lines, without_bars)
        bar_width = _remaining_width(columns, aligned, width)
    if bar_width >= 0:
        yield _table(columns, aligned, _TableRenderer(min(bar_width, _MAX_BAR), ascii_only))
        return
    # Show each record separately rather than truncate values.
    names = [column.heading for column in columns]
    for line in lines:
        yield _record([(name, value) for name, value in zip(names, line, strict=True) if _is_filled(value)], width)


class _TableRenderer(NamedTuple):
    width: int
    ascii_only: bool

    def draw(self, bar: Bar) -> Styled:
        full, empty = ("#", "-") if self.ascii_only else ("█", "░")
        # A nonzero share shows at least one mark, and a partial one never fills the bar.
        filled = round(min(bar.share, 1.0) * self.width)
        filled = max(filled, 1) if bar.share > 0 else 0
        filled = min(filled, self.width - 1) if bar.share < 1 else self.width
        return Styled(full * filled + empty * (self.width - filled), bar.style)


def _with_aligned_points(columns: Sequence[Column], lines: Sequence[Sequence[Cell]]) -> list[Sequence[Cell]]:
    def aligned(values: Sequence[Cell]) -> list[Cell]:
        parts = [text_of(value).partition(".") for value in values]
        before, after = (max(len(part[index]) for part in parts) for index in (0, 2))
        return [f"{whole:>{before}}{point or ' '}{fraction:<{after}}" for whole, point, fraction in parts]

    by_column = zip(columns, zip(*lines, strict=True), strict=True)
    return list(
        zip(*(aligned(values) if column.kind == "amount" else values for column, values in by_column), strict=True)
    )


def _select_columns(
    columns: Sequence[Column], lines: Sequence[Sequence[Cell]], selected: Sequence[bool]
) -> tuple[list[Column], list[Sequence[Cell]]]:
    return list(compress(columns, selected)), [list(compress(line, selected)) for line in lines]


def _is_filled(cell: Cell) -> bool:
    return isinstance(cell, Bar) or text_of(cell) != ""


def text_of(cell: Cell) -> str:
    """Return a cell's text; a bar has none."""
    return "" if isinstance(cell, Bar) else cell if isinstance(cell, str) else cell.text


def _remaining_width(columns: Sequence[Column], lines: Sequence[Sequence[Cell]], width: int) -> int:
    """Return the width left for bars with all values untruncated; a text in the last column may wrap."""
    *widths, last = (
        max(_cell_width(column.heading), *(_cell_width(line[index]) for line in lines))
        for index, column in enumerate(columns)
    )
    if any(" " in text_of(line[-1]) for line in lines):
        last = min(last, _MIN_TEXT)
    return width - sum(widths) - _COLUMN_GAP * len(widths) - last


def _cell_width(cell: Cell) -> int:
    from rich.cells import cell_len

    return cell_len(text_of(cell))


def _table(columns: Sequence[Column], lines: Iterable[Sequence[Cell]], renderer: _TableRenderer) -> "Table":
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="bold")
    for number, (heading, kind) in enumerate(columns, 1):
        table.add_column(
            Text(heading),
            overflow="fold",
            no_wrap=number < len(columns),
            justify="right" if kind == "number" else "left",
        )
    for line in lines:
        drawn = (renderer.draw(cell) if isinstance(cell, Bar) else cell for cell in line)
        table.add_row(*(Text(cell) if isinstance(cell, str) else Text(*cell) for cell in drawn))
    return table


def _record(pairs: Sequence[tuple[str, Cell]], width: int) -> "Table | Text":
    from rich.table import Table
    from rich.text import Text

    if max((_cell_width(name) for name, _ in pairs), default=0) + _COLUMN_GAP + _MIN_VALUE > width:
        lines = (f"{name}: {text_of(cell)}" for name, cell in pairs if not isinstance(cell, Bar))
        return Text("\n".join(lines), overflow="fold")
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(style="bold", overflow="fold")
    table.add_column(overflow="fold")
    for name, cell in pairs:
        if not isinstance(cell, Bar):
            table.add_row(Text(name), Text(cell) if isinstance(cell, str) else Text(*cell))
    return table
