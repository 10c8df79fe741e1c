"""Import of an SQLite store, with verification."""

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

_INCOMPATIBLE: Final = (
    # Before `Integer`, of which it is a subclass.
    (BigInteger, "typeof({0}) <> 'integer'", "is not a whole number"),
    (
        Integer,
        f"typeof({{0}}) <> 'integer' OR {{0}} NOT BETWEEN {-(2**31)} AND {2**31 - 1}",
        "is not a 32-bit whole number",
    ),
    (Boolean, "typeof({0}) <> 'integer' OR {0} NOT IN (0, 1)", "is neither true nor false"),
    (Text, "typeof({0}) <> 'text' OR instr(CAST({0} AS BLOB), x'00') > 0", "is not text, or contains a NUL character"),
    (LargeBinary, "typeof({0}) <> 'blob'", "is not binary"),
)
"""For each column type: SQL that detects incompatible values, and the message."""


def names(columns: Any) -> str:
    """Return quoted column names: some are SQL keywords."""
    return ", ".join(f'"{column.name}"' for column in columns)


def first_incompatible_value(connection: sqlite3.Connection, table: Table) -> str | None:
    """Describe the first row that PostgreSQL would reject, found in one scan of the table."""
    checks = {column: _check(column) for column in table.columns}
    cases = " ".join(f"WHEN {condition} THEN '{column.name}'" for column, (condition, _) in checks.items())
    row = connection.execute(
        f"SELECT CASE {cases} END AS invalid, {names(table.primary_key)} FROM {table.name} "
        "WHERE invalid IS NOT NULL LIMIT 1"
    ).fetchone()
    if row is None:
        return None
    column_name, *key = row
    return f"{table.name} {'/'.join(map(_shown, key))}: {column_name} {checks[table.c[column_name]][1]}"


def _check(column: Column[Any]) -> tuple[str, str]:
    """Return the condition of an incompatible value, and the message."""
    quoted = names([column])
    form, message = next((form, message) for kind, form, message in _INCOMPATIBLE if isinstance(column.type, kind))
    condition = f"({form.format(quoted)})"
    if column.nullable:
        condition = f"{quoted} IS NOT NULL AND {condition}"
    return condition, message


def _shown(value: Any) -> str:
    return value.hex() if isinstance(value, bytes) else str(value)


Source = Mapping[DatabaseName, sqlite3.Connection]
"""Connections to one snapshot of an embedded store."""

TABLES: Final[dict[Table, DatabaseName]] = {
    **dict.fromkeys(CLOUD.sorted_tables, "cloud"),
    **dict.fromkeys(ACTIVITY.sorted_tables, "activity"),
}
"""The tables to copy, referenced tables first."""

ROWS_PER_FETCH: Final = 5000

_FOREIGN_KEYS_AND_INDEXES: Final = """
    SELECT format('ALTER TABLE %%s DROP CONSTRAINT %%I', conrelid::regclass, conname),
        format('ALTER TABLE %%s ADD CONSTRAINT %%I %%s', conrelid::regclass, conname, pg_get_constraintdef(oid))
    FROM pg_constraint WHERE contype = 'f' AND conrelid = ANY (%(tables)s::regclass[])
    UNION ALL
    SELECT format('DROP INDEX %%s', indexrelid::regclass), pg_get_indexdef(indexrelid)
    FROM pg_index WHERE indrelid = ANY (%(tables)s::regclass[])
        AND NOT EXISTS (SELECT 1 FROM pg_constraint WHERE conindid = indexrelid)
"""
"""The statements that drop and re-create each."""
_ANY_TABLE: Final = (
    "SELECT 1 FROM pg_class WHERE relkind IN ('r', 'p') AND relnamespace = current_schema()::regnamespace"
)


class Step(NamedTuple):
    """Progress of the copy."""

    doing: str
    rows: int
    of: int


class SqliteImport:
    """One import; `on_progress` is called after every few thousand rows and may raise to abort."""

    def __init__(self, source: Source, target: Connection, on_progress: Callable[[Step], object]) -> None:
        self._source = source
        self._target = target
        self._driver = cast("psycopg.Connection[Any]", target.connection.driver_connection)
        self._on_progress = on_progress
        self._rows = 0
        self.counts = {
            table: int(source[part].execute(f"SELECT COUNT(*) FROM {table.name}").fetchone()[0])
            for table, part in TABLES.items()
        }

    def reject_incompatible_values(self) -> None:
        """Reject values that PostgreSQL cannot store, before copying anything."""
        for table, part in TABLES.items():
            problem = first_incompatible_value(self._source[part], table)
            if problem is not None:
                raise StoreError(
                    f"{problem}, which PostgreSQL does not accept; nothing was copied: fix the value and try again",
                    f"{problem}：PostgreSQL 不接受此值，未复制任何内容：请修正后重试",
                )

    def copy(self) -> None:
        with _without_indexes(self._driver):
            for table in TABLES:
                self._copy(table)
            self._report("creating indexes")
        for table in TABLES:
            self._set_sequence(table)

    def compare(self) -> None:
        """Reject the copy unless all rows of all tables are equal on both sides."""
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
                copied = cursor.fetchmany(ROWS_PER_FETCH)
                if rows != copied:
                    raise StoreError(
                        f"{table.name}: the copy is not equal to the store; nothing was copied",
                        f"{table.name}：副本与数据存储不一致，未复制任何内容",
                    )
                self._advance("comparing", table, len(rows))
            if cursor.fetchone() is not None:
                raise StoreError(
                    f"{table.name}: the copy has more rows than the store; nothing was copied",
                    f"{table.name}：副本的行数多于数据存储，未复制任何内容",
                )

    def _rows_of(self, table: Table) -> Iterator[list[tuple[Any, ...]]]:
        try:
            cursor = self._source[TABLES[table]].execute(_all_in_order(table))
            while rows := cursor.fetchmany(ROWS_PER_FETCH):
                yield rows
        except sqlite3.OperationalError as problem:
            # Usually text that is not UTF-8.
            raise StoreError(
                f"{table.name} cannot be read: {problem}; nothing was copied",
                f"无法读取 {table.name}：{problem}；未复制任何内容",
            ) from problem

    def _advance(self, doing: str, table: Table, rows: int) -> None:
        self._rows += rows
        self._report(f"{doing} {table.name}")

    def _report(self, doing: str) -> None:
        self._on_progress(Step(doing, self._rows, 2 * sum(self.counts.values())))

    def _set_sequence(self, table: Table) -> None:
        """Continue ids after the copied ones."""
        column = table.autoincrement_column
        if column is not None and self.counts[table]:
            self._driver.execute(
                f"SELECT setval(pg_get_serial_sequence('{table.name}', '{column.name}'), MAX({column.name})) "
                f"FROM {table.name}"
            )


def _all_in_order(table: Table) -> str:
    """Return a query whose order is the same in both databases: numeric, or by bytes."""
    return f"SELECT {names(table.columns)} FROM {table.name} ORDER BY {names(table.primary_key)}"


@contextmanager
def bulk_loading(address: Dsn) -> Iterator[Connection]:
    """Open a transaction on an empty database, creating its tables and locking out other writers.

    The change log gets one entry at the end, that everything has changed, instead of one per row.
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
        message = str(problem.orig if isinstance(problem, DBAPIError) else problem)
        raise StoreError(
            f"{address} cannot be used; nothing was copied: {' '.join(message.split())}",
            f"{address.chinese} 无法使用，未复制任何内容：{' '.join(message.split())}",
        ) from problem


def _require_tables(connection: Connection, address: Dsn) -> None:
    """Create the tables in an empty database; reject tables of another revision."""
    if not connection.exec_driver_sql(f"SELECT pg_try_advisory_xact_lock({MIGRATION_LOCK})").scalar():
        raise StoreError(
            f"another process is migrating {address} or copying into it: wait until it is done",
            f"另一进程正在迁移 {address.chinese} 或向其复制：请等待其完成",
        )
    revision = revision_of(connection)
    if revision is None:
        if connection.exec_driver_sql(_ANY_TABLE).first() is not None:
            raise StoreError(
                f"{address} is not empty: it has other tables; use an empty database",
                f"{address.chinese} 不为空：有其他数据表；请使用空数据库",
            )
        upgrade(connection, set(DATABASE_NAMES))
    elif not is_newest(revision):
        raise StoreError(
            f"{address} has older tables: run cloudconsole admin migrate, or use an empty database",
            f"{address.chinese} 的数据表较旧：请执行 cloudconsole admin migrate，或使用空数据库",
        )


def _require_empty(connection: Connection, address: Dsn) -> None:
    filled = [
        table.name for table in TABLES if connection.exec_driver_sql(f"SELECT 1 FROM {table.name} LIMIT 1").first()
    ]
    if filled:
        raise StoreError(
            f"{address} is not empty: there are rows in {', '.join(filled)}; use an empty database",
            f"{address.chinese} 不为空：{', '.join(filled)} 中有数据；请使用空数据库",
        )


def _switch_triggers(connection: Connection, action: str) -> None:
    """Switch the console's triggers; this also locks out other writers until the transaction ends."""
    for table in TABLES:
        connection.exec_driver_sql(f"ALTER TABLE {table.name} {action} TRIGGER USER")


@contextmanager
def _without_indexes(driver: "psycopg.Connection[Any]") -> Iterator[None]:
    """Drop indexes and foreign keys and re-create them at the end, which is much faster than row by row."""
    statements = driver.execute(_FOREIGN_KEYS_AND_INDEXES, {"tables": [table.name for table in TABLES]}).fetchall()
    for drop, _ in statements:
        driver.execute(drop)
    yield
    for _, create in reversed(statements):
        driver.execute(create)
