"""Order of a list and its pages, which begin after the key of a row or end before it."""

from typing import Any, Final, NamedTuple

from sqlalchemy import ColumnElement, Select, tuple_

PAGE_SIZE: Final = 100
LAST: Final = 2**62
"""Sorts after every number, in place of a missing one."""


class Order(NamedTuple):
    """Sorts by a field; rows with equal values are in the order of their keys, in the same direction."""

    field: str
    descending: bool = False

    @classmethod
    def parse(cls, text: str) -> "Order":
        """Parse `name` or `-name`, which is descending."""
        return cls(text.removeprefix("-"), text.startswith("-"))

    def __str__(self) -> str:
        return f"-{self.field}" if self.descending else self.field


class PageRequest(NamedTuple):
    """Part of an ordered list."""

    order: Order
    after: str | None = None
    """The key of the last row before the page."""
    before: str | None = None
    """The key of the first row after the page; used without `after`."""
    limit: int | None = PAGE_SIZE

    @property
    def is_backward(self) -> bool:
        """Whether rows are read from the last one of the page to the first."""
        return self.after is None and self.before is not None

    @property
    def key(self) -> str | None:
        """The key of the row from which to read."""
        return self.before if self.is_backward else self.after

    @property
    def is_descending(self) -> bool:
        """Whether values decrease in the direction of reading."""
        return self.order.descending != self.is_backward


def select_page(
    query: Select[Any], page: PageRequest, columns: tuple[ColumnElement[Any], ...], position: tuple[Any, ...] | None
) -> Select[Any]:
    """Select rows in the direction of reading; `position` has the values of the row from which to read.

    The columns have no NULLs and are unique together, so that no row is skipped or repeated.
    """
    if position is not None:
        row, bound = tuple_(*columns), tuple_(*position)
        query = query.where(row < bound if page.is_descending else row > bound)
    ordering = [column.desc() if page.is_descending else column.asc() for column in columns]
    return query.order_by(*ordering).limit(page.limit)
