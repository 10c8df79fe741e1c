"""Tables on a terminal: no value is ever cut, and none is taken for markup."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import compress
from typing import IO, TYPE_CHECKING, Final, Literal, NamedTuple, cast

from cloudconsole.cli import stdout

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

_BETWEEN: Final = 2
"""Spaces between two columns."""
_LEAST_TEXT: Final = 30
"""So wide must be what is left for a text that is folded."""
_LEAST_BAR: Final = 8
_MOST_BAR: Final = 30
_LEAST_WIDTH: Final = 20
_USUAL_WIDTH: Final = 80


class Column(NamedTuple):
    heading: str
    kind: "Kind" = "text"


Kind = Literal["text", "number", "amount", "bar"]
"""Numbers stand at the right of their column, amounts with their points below each other; bars take the room that the
others leave."""


class Styled(NamedTuple):
    """A text with rich's word for how it looks, where a terminal can."""

    text: str
    style: str


class Bar(NamedTuple):
    """A share to draw; it gives way where there is no room."""

    share: float
    """1.0 is the whole width, and so is what is more."""
    style: str = ""


Cell = str | Styled | Bar


def terminal() -> "Console":
    """Standard output as rich sees it."""
    # Loaded only where it is needed: most commands are called by scripts.
    from rich.console import Console

    console = Console(file=cast("IO[str]", stdout.BufferedStdout()), highlight=False)
    if console.width < _LEAST_WIDTH:
        # Nobody sits at such a terminal: it does not know its width.
        console.width = _USUAL_WIDTH
    return console


def render(
    columns: Sequence[Column] | None, rows: Iterable[Sequence[Cell]], width: int, *, ascii_only: bool = False
) -> "Iterator[Table]":
    """The table; or one for each row, where it would be too wide. Without columns a row is a name and its value."""
    lines = list(rows)
    if columns is None:
        yield _record((text_of(name), value) for name, value in lines)
        return
    if not lines:
        yield _table(columns, [], _TableRenderer(0, ascii_only))
        return
    # A terminal is narrow: columns in which nothing stands are left out.
    columns, lines = _chosen(columns, lines, [any(map(_stands, values)) for values in zip(*lines, strict=True)])
    aligned = _with_aligned_points(columns, lines)
    context = _room(columns, aligned, width)
    if context < _LEAST_BAR:
        without_bars = [column.kind != "bar" for column in columns]
        _, aligned = _chosen(columns, aligned, without_bars)
        columns, lines = _chosen(columns, lines, without_bars)
        context = _room(columns, aligned, width)
    if context >= 0:
        yield _table(columns, aligned, _TableRenderer(min(context, _MOST_BAR), ascii_only))
        return
    # Rather than cutting values, each record is shown by itself.
    names = [column.heading for column in columns]
    for line in lines:
        yield _record((name, value) for name, value in zip(names, line, strict=True) if _stands(value))


class _TableRenderer(NamedTuple):
    width: int
    ascii_only: bool

    def draw(self, bar: Bar) -> Styled:
        full, empty = ("#", "-") if self.ascii_only else ("█", "░")
        # What is more than nothing is seen, and what is less than everything is not seen as that.
        filled = round(min(bar.share, 1.0) * self.width)
        filled = max(filled, 1) if bar.share > 0 else 0
        filled = min(filled, self.width - 1) if bar.share < 1 else self.width
        return Styled(full * filled + empty * (self.width - filled), bar.style)


def _with_aligned_points(columns: Sequence[Column], lines: Sequence[Sequence[Cell]]) -> list[Sequence[Cell]]:
    def aligned(values: Sequence[Cell]) -> list[Cell]:
        parts = [text_of(value).partition(".") for value in values]
        before, behind = (max(len(part[place]) for part in parts) for place in (0, 2))
        return [f"{whole:>{before}}{point or ' '}{fraction:<{behind}}" for whole, point, fraction in parts]

    by_column = zip(columns, zip(*lines, strict=True), strict=True)
    return list(
        zip(*(aligned(values) if column.kind == "amount" else values for column, values in by_column), strict=True)
    )


def _chosen(
    columns: Sequence[Column], lines: Sequence[Sequence[Cell]], wanted: Sequence[bool]
) -> tuple[list[Column], list[Sequence[Cell]]]:
    return list(compress(columns, wanted)), [list(compress(line, wanted)) for line in lines]


def _stands(cell: Cell) -> bool:
    """Whether there is anything in it."""
    return isinstance(cell, Bar) or text_of(cell) != ""


def text_of(cell: Cell) -> str:
    """What it says; a bar only draws."""
    return "" if isinstance(cell, Bar) else cell if isinstance(cell, str) else cell.text


def _room(columns: Sequence[Column], lines: Sequence[Sequence[Cell]], width: int) -> int:
    """What is left for bars when every value stands whole beside the others; a text at the end may be folded."""
    *widths, last = (
        max(_cells(column.heading), *(_cells(line[place]) for line in lines)) for place, column in enumerate(columns)
    )
    if any(" " in text_of(line[-1]) for line in lines):
        last = min(last, _LEAST_TEXT)
    return width - sum(widths) - _BETWEEN * len(widths) - last


def _cells(cell: Cell) -> int:
    from rich.cells import cell_len

    return cell_len(text_of(cell))


def _table(columns: Sequence[Column], lines: Iterable[Sequence[Cell]], pen: _TableRenderer) -> "Table":
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="bold")
    for place, (heading, kind) in enumerate(columns, 1):
        table.add_column(
            Text(heading),
            overflow="fold",
            no_wrap=place < len(columns),
            justify="right" if kind == "number" else "left",
        )
    for line in lines:
        shown = (pen.draw(cell) if isinstance(cell, Bar) else cell for cell in line)
        table.add_row(*(Text(cell) if isinstance(cell, str) else Text(*cell) for cell in shown))
    return table


def _record(pairs: Iterable[tuple[str, Cell]]) -> "Table":
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(style="bold", overflow="fold")
    table.add_column(overflow="fold")
    for name, cell in pairs:
        if not isinstance(cell, Bar):
            table.add_row(Text(name), Text(cell) if isinstance(cell, str) else Text(*cell))
    return table
