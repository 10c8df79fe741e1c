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

from cloudconsole.store.base import read_only

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


def in_values(connection: Connection, column: Column[Any], values: Iterable[Any]) -> ColumnElement[bool]:
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


Result = TypeVar("Result")

_DEADLOCK: Final = "40P01"
_LOCKED: Final = "55P03"
_MAX_ATTEMPTS: Final = 3

_NAMED: Final = 3
"""The class of such locks, beside the single ones."""


def lock_name(connection: Connection, name: str) -> None:
    """Held until the transaction ends; on SQLite the transaction has the lock of its whole file already."""
    if connection.dialect.name == "postgresql":
        # Signed, as PostgreSQL takes it; two names of one number only wait for each other.
        number = int.from_bytes(zlib.crc32(name.encode()).to_bytes(4), signed=True)
        connection.execute(select(func.pg_advisory_xact_lock(_NAMED, number)))


def allow_idle_transaction(connection: Connection, minutes: int = 10) -> None:
    """Let a transaction stand still for so long between statements: it has much to work out, and is no paused one."""
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql(f"SET LOCAL idle_in_transaction_session_timeout = '{minutes}min'")


def is_lock_error(problem: DBAPIError | sqlite3.Error) -> bool:
    """Whether nothing is wrong but that others wrote, for as long as one waits for them."""
    reason = problem.orig if isinstance(problem, DBAPIError) else problem
    if isinstance(reason, sqlite3.Error):
        return getattr(reason, "sqlite_errorcode", None) == sqlite3.SQLITE_BUSY
    return getattr(reason, "sqlstate", None) == _LOCKED


def retry_deadlocks(engine: Engine, work: Callable[[Connection], Result]) -> Result:
    """Work in a transaction; tried again where the database chose it as the one of two that gives way."""
    for left in reversed(range(_MAX_ATTEMPTS)):
        try:
            with engine.begin() as connection:
                return work(connection)
        except DBAPIError as problem:
            if not left or getattr(problem.orig, "sqlstate", None) != _DEADLOCK:
                raise
    raise AssertionError("the last try returns or raises")


def delete_batch(connection: Connection, table: Table, outdated: ColumnElement[bool], most: int) -> int:
    """Gives how many went; those stay that someone else has just taken hold of."""
    key = table.primary_key
    chosen = select(*key).where(outdated).limit(most).with_for_update(skip_locked=True)
    # PostgreSQL may run a subquery once for each row, and then the limit is of each: what has a name runs once.
    # Within the condition, since of a statement that begins with the name SQLite does not tell how many rows went.
    some = chosen.cte("some", nesting=True).prefix_with("MATERIALIZED", dialect="postgresql")
    return connection.execute(delete(table).where(tuple_(*key).in_(select(some)))).rowcount


_AT_ONCE: Final = 5000


def copy_rows(source: Engine, target: Engine, tables: MetaData) -> None:
    """Put all rows of these tables, as of one moment, into another database, where they are empty."""
    with read_only(source).connect() as there, target.begin() as here:
        # Those that others refer to come first.
        for table in tables.sorted_tables:
            few_at_once = select(table).execution_options(yield_per=_AT_ONCE)
            for rows in there.execute(few_at_once).mappings().partitions():
                here.execute(insert(table), [dict(row) for row in rows])


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
