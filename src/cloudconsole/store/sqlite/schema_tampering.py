"""Comparison of a database's schema with its revision, to detect planted triggers and views."""

import re
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import Final

from sqlalchemy import create_engine, text

from cloudconsole.store.base import DatabaseName
from cloudconsole.store.migrations import migrate
from cloudconsole.store.sqlite.engine import connect

Schema = frozenset[tuple[str, str, str, str]]
"""Type, name, table and SQL of every schema object."""

_SCHEMA: Final = "SELECT type, name, tbl_name, sql FROM sqlite_master"
_STATISTICS: Final = frozenset(
    ("table", name, name, f"CREATE TABLE {name}({columns})")
    for name, columns in (("sqlite_stat1", "tbl,idx,stat"), ("sqlite_stat4", "tbl,idx,neq,nlt,ndlt,sample"))
)
"""The tables that SQLite itself creates for ANALYZE, with their SQL: SQLite acts on that text, not on the type."""


def unexpected_schema_parts(file: Path, part: DatabaseName, revision: str) -> list[str]:
    """Return added, missing and changed schema objects, without evaluating any of them."""
    with closing(connect(file)) as connection:
        actual = _schema(connection.execute(_SCHEMA).fetchall())
    return sorted({f"{kind} {name}" for kind, name, _, _ in actual - _STATISTICS ^ _expected(part, revision)})


@cache
def _expected(part: DatabaseName, revision: str) -> Schema:
    engine = create_engine("sqlite://")
    try:
        migrate(engine, {part}, revision)
        with engine.connect() as connection:
            return _schema([tuple(row) for row in connection.execute(text(_SCHEMA))])
    finally:
        engine.dispose()


def _schema(rows: list[tuple[str, str, str, str | None]]) -> Schema:
    # SQLite rewrites the SQL of an altered table with other quotes and spaces.
    return frozenset((kind, name, table, re.sub(r'[\s"]+', " ", sql or "").strip()) for kind, name, table, sql in rows)
