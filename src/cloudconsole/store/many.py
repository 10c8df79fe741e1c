"""Many rows in one statement, which is the same for one row as for thousands.

They are handed over as one JSON text. A statement for each of them would cost a journey to the database each, and on
PostgreSQL a signal.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import islice
from typing import Any, Final

import msgspec
from sqlalchemy import BindParameter, Column, ColumnElement, Connection, Table, TextClause, bindparam, text

Row = Mapping[str, Any]

MOST_AT_ONCE: Final = 10_000
"""Rows of one statement: beyond, a larger one gains nothing but memory."""

_ELEMENTS: Final = {
    "sqlite": "json_each(:rows)",
    "postgresql": "jsonb_array_elements(CAST(:rows AS JSONB))",
}
_TYPES: Final[dict[type, str]] = {int: "BIGINT", str: "TEXT", bool: "BOOLEAN"}


def insert_rows(connection: Connection, table: Table, rows: Iterable[Row], otherwise: str = "") -> None:
    """Insert rows that all have the same columns; `otherwise` is what SQL says of those that are there already."""
    for some in _portions(rows):
        statement = _insert(connection.dialect.name, table, tuple(some[0]), otherwise)
        connection.execute(statement, {"rows": _json(some)})


def update_rows(connection: Connection, table: Table, rows: Iterable[Row]) -> None:
    """Give rows, known by their primary keys, these values of columns."""
    for some in _portions(rows):
        connection.execute(_update(connection.dialect.name, table, tuple(some[0])), {"rows": _json(some)})


def delete_rows(connection: Connection, column: Column[Any], values: Iterable[Any]) -> None:
    for some in _portions({column.name: value} for value in values):
        connection.execute(_delete(connection.dialect.name, column), {"rows": _json(some)})


def among(connection: Connection, column: Column[Any], values: Iterable[Any]) -> ColumnElement[bool]:
    """A condition: that the column has one of these values, however many there are."""
    rows: BindParameter[str] = bindparam("rows", _json([{column.name: value} for value in values]), unique=True)
    given = text(_given(connection.dialect.name, [column])).bindparams(rows).columns(column)
    condition: ColumnElement[bool] = column.in_(given)
    return condition


def _portions(rows: Iterable[Row]) -> Iterator[list[Row]]:
    remaining = iter(rows)
    while some := list(islice(remaining, MOST_AT_ONCE)):
        yield some


def _json(rows: Sequence[Row]) -> str:
    names = tuple(rows[0]) if rows else ()
    return msgspec.json.encode([[row[name] for name in names] for row in rows]).decode()


def _given(dialect: str, columns: Iterable[Column[Any]]) -> str:
    values = (
        f"CAST(value ->> {place} AS {_TYPES[column.type.python_type]}) AS {column.name}"
        for place, column in enumerate(columns)
    )
    return f"SELECT {', '.join(values)} FROM {_ELEMENTS[dialect]}"


@lru_cache(maxsize=64)
def _insert(dialect: str, table: Table, names: tuple[str, ...], otherwise: str) -> TextClause:
    given = _given(dialect, [table.c[name] for name in names])
    # Without the condition, SQLite would take what follows for one of a join.
    return text(f"INSERT INTO {table.name} ({', '.join(names)}) {given} WHERE true {otherwise}")


@lru_cache(maxsize=64)
def _update(dialect: str, table: Table, names: tuple[str, ...]) -> TextClause:
    (primary,) = table.primary_key.columns
    given = _given(dialect, [table.c[name] for name in names])
    values = ", ".join(f"{name} = given.{name}" for name in names if name != primary.name)
    same = f"{table.name}.{primary.name} = given.{primary.name}"
    return text(f"UPDATE {table.name} SET {values} FROM ({given}) AS given WHERE {same}")


@lru_cache(maxsize=64)
def _delete(dialect: str, column: Column[Any]) -> TextClause:
    return text(f"DELETE FROM {column.table.name} WHERE {column.name} IN ({_given(dialect, [column])})")
