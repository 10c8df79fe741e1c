"""Copy an SQLite store in and verify it."""

import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final, NamedTuple, cast

import psycopg
from sqlalchemy import BigInteger, Boolean, Column, Connection, Integer, LargeBinary, Table, Text
from sqlalchemy.exc import DBAPIError

from cloudconsole.store.base import DATABASE_NAMES, DatabaseName, StoreError
from cloudconsole.store.migrations import is_newest, revision_of, upgrade
from cloudconsole.store.postgres.dsn import Dsn
from cloudconsole.store.postgres.store import CLOUD_LOCK, MIGRATION_LOCK, opened, take_lock
from cloudconsole.store.tables import ACTIVITY, CLOUD

_UNFIT: Final = (
    # Before its kin: it is an `Integer` to SQLAlchemy, too.
    (BigInteger, "typeof({0}) <> 'integer'", "is no whole number"),
    (
        Integer,
        f"typeof({{0}}) <> 'integer' OR {{0}} NOT BETWEEN {-(2**31)} AND {2**31 - 1}",
        "is no whole number of 32 bits",
    ),
    (Boolean, "typeof({0}) <> 'integer' OR {0} NOT IN (0, 1)", "is neither true nor false"),
    (Text, "typeof({0}) <> 'text' OR instr(CAST({0} AS BLOB), x'00') > 0", "is no text, or has a NUL character in it"),
    (LargeBinary, "typeof({0}) <> 'blob'", "is not binary"),
)
"""For each type of column: when a value is none of it, and the words for that."""


def names(columns: Any) -> str:
    """Columns as a list in a statement; some are called as words of SQL are."""
    return ", ".join(f'"{column.name}"' for column in columns)


def first_incompatible_value(connection: sqlite3.Connection, table: Table) -> str | None:
    """Where a row is that PostgreSQL would not take, and what is wrong with it; one look through the table."""
    checks = {column: _check(column) for column in table.columns}
    cases = " ".join(f"WHEN {condition} THEN '{column.name}'" for column, (condition, _) in checks.items())
    found = connection.execute(
        f"SELECT CASE {cases} END AS misfit, {names(table.primary_key)} FROM {table.name} "
        "WHERE misfit IS NOT NULL LIMIT 1"
    ).fetchone()
    if found is None:
        return None
    misfit, *key = found
    return f"{table.name} {'/'.join(map(_shown, key))}: {misfit} {checks[table.c[misfit]][1]}"


def _check(column: Column[Any]) -> tuple[str, str]:
    """What must not be true of a column, and what it means."""
    quoted = names([column])
    form, words = next((form, words) for kind, form, words in _UNFIT if isinstance(column.type, kind))
    condition = f"({form.format(quoted)})"
    if column.nullable:
        condition = f"{quoted} IS NOT NULL AND {condition}"
    return condition, words


def _shown(value: Any) -> str:
    return value.hex() if isinstance(value, bytes) else str(value)


Source = Mapping[DatabaseName, sqlite3.Connection]
"""An embedded store at one moment."""

TABLES: Final[dict[Table, DatabaseName]] = {
    **dict.fromkeys(CLOUD.sorted_tables, "cloud"),
    **dict.fromkeys(ACTIVITY.sorted_tables, "activity"),
}
"""What is copied, each behind what it refers to."""

ROWS_AT_ONCE: Final = 5000

_FOREIGN_KEYS_AND_INDEXES: Final = """
    SELECT format('ALTER TABLE %%s DROP CONSTRAINT %%I', conrelid::regclass, conname),
        format('ALTER TABLE %%s ADD CONSTRAINT %%I %%s', conrelid::regclass, conname, pg_get_constraintdef(oid))
    FROM pg_constraint WHERE contype = 'f' AND conrelid = ANY (%(tables)s::regclass[])
    UNION ALL
    SELECT format('DROP INDEX %%s', indexrelid::regclass), pg_get_indexdef(indexrelid)
    FROM pg_index WHERE indrelid = ANY (%(tables)s::regclass[])
        AND NOT EXISTS (SELECT 1 FROM pg_constraint WHERE conindid = indexrelid)
"""
"""How each is taken away, and made again."""
_ANY_TABLE: Final = (
    "SELECT 1 FROM pg_class WHERE relkind IN ('r', 'p') AND relnamespace = current_schema()::regnamespace"
)


class Step(NamedTuple):
    """How far it is."""

    doing: str
    rows: int
    of: int


class SqliteImport:
    """One copy; `tell` is called after every few thousand rows, and may raise to give it up."""

    def __init__(self, source: Source, target: Connection, tell: Callable[[Step], object]) -> None:
        self._source = source
        self._target = target
        self._driver = cast("psycopg.Connection[Any]", target.connection.driver_connection)
        self._tell = tell
        self._rows = 0
        self.counts = {
            table: int(source[part].execute(f"SELECT COUNT(*) FROM {table.name}").fetchone()[0])
            for table, part in TABLES.items()
        }

    def refuse_misfits(self) -> None:
        """Refuse what the database would not take, before it has taken anything."""
        for table, part in TABLES.items():
            problem = first_incompatible_value(self._source[part], table)
            if problem is not None:
                raise StoreError(f"{problem}, which PostgreSQL does not take: mend it, and nothing was copied")

    def copy(self) -> None:
        with _without_indexes(self._driver):
            for table in TABLES:
                self._copy(table)
            self._say("making indexes")
        for table in TABLES:
            self._set_sequence(table)

    def compare(self) -> None:
        """Refuse unless every row of every table is the same on both sides, and none is there on one side only."""
        for table in TABLES:
            self._compare(table)

    def _copy(self, table: Table) -> None:
        statement = f"COPY {table.name} ({names(table.columns)}) FROM STDIN"
        with self._driver.cursor() as cursor, cursor.copy(statement) as copy:
            for rows in self._rows_of(table):
                for row in rows:
                    copy.write_row(row)
                self._advance("copying", table, len(rows))

    def _compare(self, table: Table) -> None:
        with self._driver.cursor(f"compare_{table.name}", binary=True) as cursor:
            cursor.execute(_all_in_order(table))
            for rows in self._rows_of(table):
                there = cursor.fetchmany(ROWS_AT_ONCE)
                if rows != there:
                    raise StoreError(f"{table.name}: the copy is not equal to the store; nothing was copied")
                self._advance("comparing", table, len(rows))
            if cursor.fetchone() is not None:
                raise StoreError(f"{table.name}: the copy has more rows than the store; nothing was copied")

    def _rows_of(self, table: Table) -> Iterator[list[tuple[Any, ...]]]:
        try:
            cursor = self._source[TABLES[table]].execute(_all_in_order(table))
            while rows := cursor.fetchmany(ROWS_AT_ONCE):
                yield rows
        except sqlite3.OperationalError as problem:
            # Text that is not UTF-8; whatever else goes wrong is told with the same words.
            raise StoreError(f"{table.name} cannot be read: {problem}; nothing was copied") from problem

    def _advance(self, doing: str, table: Table, rows: int) -> None:
        self._rows += rows
        self._say(f"{doing} {table.name}")

    def _say(self, doing: str) -> None:
        self._tell(Step(doing, self._rows, 2 * sum(self.counts.values())))

    def _set_sequence(self, table: Table) -> None:
        """Let new ids begin behind those that were copied."""
        column = table.autoincrement_column
        if column is not None and self.counts[table]:
            self._driver.execute(
                f"SELECT setval(pg_get_serial_sequence('{table.name}', '{column.name}'), MAX({column.name})) "
                f"FROM {table.name}"
            )


def _all_in_order(table: Table) -> str:
    """Rows in the same order on either side: whole numbers, and text and bytes by their bytes."""
    return f"SELECT {names(table.columns)} FROM {table.name} ORDER BY {names(table.primary_key)}"


@contextmanager
def bulk_loading(address: Dsn) -> Iterator[Connection]:
    """A transaction over an empty database, with tables, to which nobody else can write; an error leaves it as it was.

    Nobody is told of single rows, but once, at the end, that everything has changed.
    """
    tables = ", ".join(table.name for table in TABLES)
    try:
        with opened(address, None) as engine, engine.begin() as connection:
            for timeout in ("statement_timeout", "idle_in_transaction_session_timeout"):
                connection.exec_driver_sql(f"SET LOCAL {timeout} = 0")
            _require_tables(connection, address)
            take_lock(connection, CLOUD_LOCK)
            _switch_triggers(connection, "DISABLE")
            _require_empty(connection, address)
            yield connection
            _switch_triggers(connection, "ENABLE")
            connection.exec_driver_sql("UPDATE shared_changes SET number = number + 1")
            connection.exec_driver_sql(f"ANALYZE {tables}")
    except (DBAPIError, psycopg.Error) as problem:
        words = str(problem.orig if isinstance(problem, DBAPIError) else problem)
        raise StoreError(f"{address} cannot be used, and nothing was copied: {' '.join(words.split())}") from problem


def _require_tables(connection: Connection, address: Dsn) -> None:
    """Make them where there is nothing at all; refuse those of another revision."""
    if not connection.exec_driver_sql(f"SELECT pg_try_advisory_xact_lock({MIGRATION_LOCK})").scalar():
        raise StoreError(f"someone else is making the tables of {address}, or copies into it: wait until that is done")
    revision = revision_of(connection)
    if revision is None:
        if connection.exec_driver_sql(_ANY_TABLE).first() is not None:
            raise StoreError(f"{address} is not empty: it has tables of something else; give an empty database")
        upgrade(connection, set(DATABASE_NAMES))
    elif not is_newest(revision):
        raise StoreError(f"{address} has older tables: run cloudconsole admin migrate, or give an empty database")


def _require_empty(connection: Connection, address: Dsn) -> None:
    holding = [
        table.name for table in TABLES if connection.exec_driver_sql(f"SELECT 1 FROM {table.name} LIMIT 1").first()
    ]
    if holding:
        raise StoreError(f"{address} is not empty: there is something in {', '.join(holding)}; give an empty database")


def _switch_triggers(connection: Connection, way: str) -> None:
    """Our own only; it also keeps everyone else from writing to the tables until the transaction ends."""
    for table in TABLES:
        connection.exec_driver_sql(f"ALTER TABLE {table.name} {way} TRIGGER USER")


@contextmanager
def _without_indexes(driver: "psycopg.Connection[Any]") -> Iterator[None]:
    """Indexes and references are made at the end, for all rows at once: much quicker than row by row."""
    taken = driver.execute(_FOREIGN_KEYS_AND_INDEXES, {"tables": [table.name for table in TABLES]}).fetchall()
    for take, _ in taken:
        driver.execute(take)
    yield
    for _, make in reversed(taken):
        driver.execute(make)
