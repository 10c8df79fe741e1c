"""SQL helpers: bulk changes, batched deletes, advisory locks, deadlock retries, indexable search conditions."""

import sqlite3
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import islice
from typing import Any, Final, TypeVar

import msgspec
from sqlalchemy import (
    BindParameter,
    Column,
    ColumnElement,
    Connection,
    Engine,
    Integer,
    MetaData,
    Table,
    TextClause,
    and_,
    bindparam,
    delete,
    func,
    insert,
    select,
    text,
    tuple_,
)
from sqlalchemy.exc import DBAPIError

from cloudconsole.store.base import read_only_engine

Row = Mapping[str, Any]

MAX_ROWS_PER_STATEMENT: Final = 10_000
"""Larger statements only use more memory."""

_ELEMENTS: Final = {
    "sqlite": "json_each(:rows)",
    "postgresql": "jsonb_array_elements(CAST(:rows AS JSONB))",
}
_TYPES: Final[dict[type, str]] = {int: "BIGINT", str: "TEXT", bool: "BOOLEAN"}


def insert_rows(connection: Connection, table: Table, rows: Iterable[Row], otherwise: str = "") -> None:
    """Insert rows that all have the same columns; `otherwise` is the ON CONFLICT clause."""
    for batch in _batches(rows):
        statement = _insert(connection.dialect.name, table, tuple(batch[0]), otherwise)
        connection.execute(statement, {"rows": _json(batch)})


def update_rows(connection: Connection, table: Table, rows: Iterable[Row]) -> None:
    """Update rows by primary key."""
    for batch in _batches(rows):
        connection.execute(_update(connection.dialect.name, table, tuple(batch[0])), {"rows": _json(batch)})


def delete_rows(connection: Connection, column: Column[Any], values: Iterable[Any]) -> None:
    for batch in _batches({column.name: value} for value in values):
        connection.execute(_delete(connection.dialect.name, column), {"rows": _json(batch)})


def in_values(connection: Connection, column: Column[Any], values: Iterable[Any]) -> ColumnElement[bool]:
    """Return a condition that the column has one of these values, without a limit on their number."""
    given: BindParameter[str] = bindparam("given", json_of(values), unique=True)
    query = text(given_values(connection.dialect.name, column)).bindparams(given).columns(column)
    condition: ColumnElement[bool] = column.in_(query)
    return condition


def json_of(values: Iterable[Any]) -> str:
    return msgspec.json.encode(list(values)).decode()


@lru_cache(maxsize=64)
def given_values(dialect: str, column: Column[Any]) -> str:
    """Return a query for the values in the JSON parameter `given`, of the type of a column."""
    if dialect == "sqlite":
        # With its own type: a cast of each value takes longer than the rest.
        return "SELECT value FROM json_each(:given)"
    elements = "jsonb_array_elements_text(CAST(:given AS JSONB))"
    return f"SELECT CAST(value AS {_TYPES[column.type.python_type]}) FROM {elements} AS given(value)"


def _batches(rows: Iterable[Row]) -> Iterator[list[Row]]:
    remaining = iter(rows)
    while batch := list(islice(remaining, MAX_ROWS_PER_STATEMENT)):
        yield batch


def _json(rows: Sequence[Row]) -> str:
    names = tuple(rows[0]) if rows else ()
    return msgspec.json.encode([[row[name] for name in names] for row in rows]).decode()


def _given(dialect: str, columns: Iterable[Column[Any]]) -> str:
    values = (
        f"CAST(value ->> {index} AS {_TYPES[column.type.python_type]}) AS {column.name}"
        for index, column in enumerate(columns)
    )
    return f"SELECT {', '.join(values)} FROM {_ELEMENTS[dialect]}"


@lru_cache(maxsize=64)
def _insert(dialect: str, table: Table, names: tuple[str, ...], otherwise: str) -> TextClause:
    given = _given(dialect, [table.c[name] for name in names])
    # Without WHERE, SQLite would parse ON CONFLICT as a join condition.
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


Result = TypeVar("Result")

_DEADLOCK: Final = "40P01"
_LOCKED: Final = "55P03"
_MAX_ATTEMPTS: Final = 3

_NAMED_LOCKS: Final = 3
"""The class of named advisory locks."""


def lock_name(connection: Connection, name: str) -> None:
    """Take a named lock until the transaction ends; on SQLite the transaction already locks the whole file."""
    if connection.dialect.name == "postgresql":
        # PostgreSQL takes a signed number; names that collide merely wait for each other.
        number = int.from_bytes(zlib.crc32(name.encode()).to_bytes(4), signed=True)
        connection.execute(select(func.pg_advisory_xact_lock(_NAMED_LOCKS, number)))


def allow_idle_transaction(connection: Connection, minutes: int = 10) -> None:
    """Raise `idle_in_transaction_session_timeout` for a transaction with long client-side work."""
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql(f"SET LOCAL idle_in_transaction_session_timeout = '{minutes}min'")


def is_lock_error(problem: DBAPIError | sqlite3.Error) -> bool:
    """Return whether the only problem is a lock wait that timed out."""
    reason = problem.orig if isinstance(problem, DBAPIError) else problem
    if isinstance(reason, sqlite3.Error):
        return getattr(reason, "sqlite_errorcode", None) == sqlite3.SQLITE_BUSY
    return getattr(reason, "sqlstate", None) == _LOCKED


def retry_deadlocks(engine: Engine, work: Callable[[Connection], Result]) -> Result:
    """Run work in a transaction; retry it when it is chosen as a deadlock victim."""
    for left in reversed(range(_MAX_ATTEMPTS)):
        try:
            with engine.begin() as connection:
                return work(connection)
        except DBAPIError as problem:
            if not left or getattr(problem.orig, "sqlstate", None) != _DEADLOCK:
                raise
    raise AssertionError("the last attempt returns or raises")


def delete_batch(connection: Connection, table: Table, outdated: ColumnElement[bool], limit: int) -> int:
    """Delete up to `limit` rows, skipping locked ones, and return their number."""
    key = table.primary_key
    chosen = select(*key).where(outdated).limit(limit).with_for_update(skip_locked=True)
    # PostgreSQL may run a subquery once per row, each with the limit; a materialized CTE runs once. It is nested in the
    # condition because SQLite gives no row count for a statement that begins with WITH.
    some = chosen.cte("some", nesting=True).prefix_with("MATERIALIZED", dialect="postgresql")
    return connection.execute(delete(table).where(tuple_(*key).in_(select(some)))).rowcount


_ROWS_PER_FETCH: Final = 5000


def copy_rows(source: Engine, target: Engine, tables: MetaData) -> None:
    """Copy all rows of these tables, from one snapshot, into empty tables of another database."""
    with read_only_engine(source).connect() as reader, target.begin() as writer:
        # Referenced tables come first.
        for table in tables.sorted_tables:
            query = select(table).execution_options(yield_per=_ROWS_PER_FETCH)
            for rows in reader.execute(query).mappings().partitions():
                writer.execute(insert(table), [dict(row) for row in rows])


_LAST: Final = chr(0x10FFFF)
_MANY: Final = 10_000


def starts_with(column: ColumnElement[Any], prefix: str) -> ColumnElement[bool]:
    """Return a case-sensitive prefix condition."""
    return and_(column >= prefix, column < prefix + _LAST)


def contains(connection: Connection, column: ColumnElement[Any], text: str) -> ColumnElement[bool]:
    """Return a condition that the column contains a text, ignoring the case of ASCII letters."""
    pattern = "".join(f"\\{each}" if each in "\\%_" else each for each in text)
    # LIKE ignores case on SQLite; ILIKE does on PostgreSQL, in the collation C for ASCII only.
    compare = column.like if connection.dialect.name == "sqlite" else column.ilike
    return compare(f"%{pattern}%", escape="\\")


def unindexed(column: ColumnElement[Any]) -> ColumnElement[Any]:
    """Return an expression that no index matches, so that the database uses another condition or the order."""
    return column + (0 if isinstance(column.type, Integer) else "")


def ordered_search(
    connection: Connection, column: Column[Any], condition: Callable[[ColumnElement[Any]], ColumnElement[bool]]
) -> ColumnElement[bool]:
    """Return a condition on an indexed column, for a page of rows in the order of their ids.

    If many rows match, a scan in order finds a page fast. If few match, the index finds their ids, which are fast to
    sort and combine with the index of any other condition.
    """
    table = column.table
    if connection.execute(select(column).where(condition(column)).offset(_MANY).limit(1)).first() is not None:
        return condition(unindexed(column))
    few = table.alias()
    return table.c.id.in_(select(few.c.id).where(condition(few.c[column.name])))
