"""Tables: layout within a given width."""

import pytest

from cloudconsole.cli.tables import Bar, Cell, Column, Styled, render

BARS = [Column("name"), Column("", "bar"), Column("number", "number")]


def lines(columns: list[Column] | None, rows: list[list[Cell]], width: int, *, ascii_only: bool = False) -> list[str]:
    from rich.console import Console

    console = Console(width=width, no_color=True)
    with console.capture() as captured:
        for table in render(columns, rows, width, ascii_only=ascii_only):
            console.print(table)
    return [line.rstrip() for line in captured.get().splitlines()]


@pytest.mark.parametrize(
    ("share", "bar"),
    [
        (0.0, "----------"),
        (0.001, "#---------"),
        (0.5, "#####-----"),
        (0.999, "#########-"),
        (1.0, "##########"),
        (7.0, "##########"),
        (float("inf"), "##########"),
    ],
)
def test_bar_is_empty_only_at_zero_and_full_only_at_the_limit(share: float, bar: str) -> None:
    (_, line) = lines(BARS, [["x", Bar(share), "1"]], 4 + 2 + 10 + 2 + 6, ascii_only=True)
    assert line == f"x     {bar}       1"


def test_bar_is_dropped_where_it_does_not_fit() -> None:
    rows: list[list[Cell]] = [["x", Bar(0.5), "1"]]
    assert "█" in lines(BARS, rows, 4 + 2 + 8 + 2 + 6)[1]
    assert lines(BARS, rows, 4 + 2 + 7 + 2 + 6) == ["name  number", "x          1"]


def test_a_record_has_no_bar() -> None:
    assert lines(BARS, [["x", Bar(0.5), "1"]], 11) == ["name    x", "number  1"]


def test_numbers_align_right_and_amounts_by_decimal_point() -> None:
    columns = [Column("n", "number"), Column("amount", "amount")]
    assert lines(columns, [["1", "1.5"], ["100", "10.25"], ["20", "3"]], 40) == [
        "  n  amount",
        "  1   1.5",
        "100  10.25",
        " 20   3",
    ]


def test_wide_characters_take_two_columns() -> None:
    columns = [Column("名称"), Column("n", "number")]
    assert lines(columns, [["云主机", "1"], ["ab", "22"]], 40) == ["名称     n", "云主机   1", "ab      22"]


def test_empty_columns_are_omitted() -> None:
    columns = [Column("a"), Column("b"), Column("c")]
    assert lines(columns, [["1", "", Styled("", "red")], ["2", "", ""]], 40) == ["a", "1", "2"]


def test_empty_table_shows_only_headings() -> None:
    assert lines([Column("a"), Column("", "bar"), Column("b", "number")], [], 40) == ["a    b"]


def test_markup_is_shown_as_text() -> None:
    assert lines([Column("[b]a[/b]")], [["[red]x[/red]"], [":smile:"]], 40) == ["[b]a[/b]", "[red]x[/red]", ":smile:"]
