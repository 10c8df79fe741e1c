"""Conditions that an index can answer, and the same where it should not."""

from collections.abc import Callable
from typing import Any, Final

from sqlalchemy import Column, ColumnElement, Connection, Integer, and_, select

_LAST: Final = chr(0x10FFFF)
_MANY: Final = 10_000


def starts_with(column: ColumnElement[Any], prefix: str) -> ColumnElement[bool]:
    """Whether text begins with a prefix, capital letters apart from small ones."""
    return and_(column >= prefix, column < prefix + _LAST)


def unindexed(column: ColumnElement[Any]) -> ColumnElement[Any]:
    """The same values, which no index can find: the database then goes by another condition, or by the order."""
    return column + (0 if isinstance(column.type, Integer) else "")


def ordered_search(
    connection: Connection, column: Column[Any], condition: Callable[[ColumnElement[Any]], ColumnElement[bool]]
) -> ColumnElement[bool]:
    """A condition on an indexed column, for a page of rows that are in the order of their ids.

    Where many rows meet it, going through all of them in order soon finds a page. Where few do, the index finds their
    ids, which go with the index of any other condition, and are soon put in order.
    """
    table = column.table
    if connection.execute(select(column).where(condition(column)).offset(_MANY).limit(1)).first() is not None:
        return condition(unindexed(column))
    few = table.alias()
    return table.c.id.in_(select(few.c.id).where(condition(few.c[column.name])))
