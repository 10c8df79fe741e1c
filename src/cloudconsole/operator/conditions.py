"""Conditions that an index can answer."""

from typing import Any, Final

from sqlalchemy import ColumnElement, and_

_LAST: Final = chr(0x10FFFF)


def begins_with(column: ColumnElement[Any], prefix: str) -> ColumnElement[bool]:
    """Whether text begins with a prefix, capital letters apart from small ones."""
    return and_(column >= prefix, column < prefix + _LAST)
