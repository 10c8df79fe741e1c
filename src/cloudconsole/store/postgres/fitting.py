"""What SQLite lets stand in a column and PostgreSQL does not: found before anything is copied."""

import sqlite3
from typing import Any, Final

from sqlalchemy import BigInteger, Boolean, Column, Integer, LargeBinary, Table, Text

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


def first_misfit(connection: sqlite3.Connection, table: Table) -> str | None:
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
