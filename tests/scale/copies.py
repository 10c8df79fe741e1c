"""Helpers for tests that copy an embedded store to PostgreSQL and compare the two."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
from sqlalchemy import Engine, Table, select

from cloudconsole.operator.maintenance.postgres_copy import copy_to_postgres
from cloudconsole.store.postgres.dsn import Dsn
from cloudconsole.store.postgres.import_sqlite import TABLES, Step
from cloudconsole.store.postgres.store import opened as opened_on_postgres
from cloudconsole.store.sqlite.engine import opened
from cloudconsole.store.sqlite.store import SqliteStore
from tests.conftest import SAMPLE_TIME

NO_TABLES: list[str] = []
"""The schema of an empty database."""
SCHEMA = """
    SELECT c.relname, c.relkind::text, pg_get_indexdef(i.indexrelid)
    FROM pg_class c LEFT JOIN pg_index i ON i.indexrelid = c.oid WHERE c.relnamespace = 'public'::regnamespace
    UNION ALL
    SELECT conname, conrelid::regclass::text, pg_get_constraintdef(oid) || convalidated
    FROM pg_constraint WHERE connamespace = 'public'::regnamespace
    UNION ALL
    SELECT tgname, tgrelid::regclass::text, tgenabled::text || pg_get_triggerdef(oid)
    FROM pg_trigger WHERE NOT tgisinternal
    ORDER BY 1, 2, 3
"""
EXTRA_ROWS = {
    "cloud": (
        "UPDATE tenants SET project = 'p1@https://identity.example.com' WHERE id = 1",
        "INSERT INTO billing_closings VALUES (1793491200, 'Asia/Kathmandu')",
        "INSERT INTO monthly_sums VALUES (1, 1793491200, 'volume', 1, '', 1, 0, 0, 9007199254740993, 0, 0, 0, -1)",
        "INSERT INTO reading_periods VALUES (-2, 0, 3600)",
        "INSERT INTO project_resources VALUES (-2, 'west', 'volume', 'v', -3, NULL, '名', 1, 0, 0, 5, NULL, 0)",
        "INSERT INTO record_names VALUES (-1, 'node', '节点	1')",
    ),
    "activity": (
        "INSERT INTO sessions VALUES (x'00ff', 0, 0, 'seed', 1, 4000000000)",
        """INSERT INTO guest_sessions VALUES
            (x'00ff', 1, '爱丽丝', 1, 'https://identity.example.com', 'u', 'p', '{}', x'5c785c00')""",
        "INSERT INTO sightings VALUES ('e', 'p', 'r', 'volume', 'v\t\n\\N', NULL, 9007199254740993, 1)",
        "INSERT INTO login_failures VALUES (7, '192.0.2.0', x'01', 1)",
        "INSERT INTO access_audit VALUES (41, 1, 'login', NULL, '192.0.2.1', 'id')",
        "INSERT INTO undeclared_proxies VALUES ('192.0.2.1', 1)",
        "INSERT OR REPLACE INTO secrets VALUES ('csrf', x'00010203')",
    ),
}


def execute_sql(data: Path, part: str, *statements: str) -> None:
    """Write to a store directly, bypassing the product code."""
    with closing(sqlite3.connect(data / f"{part}.db")) as connection, connection:
        for statement in statements:
            connection.execute(statement)


def fill_every_table(data: Path) -> Path:
    """Add rows to the tables that are empty in the sample."""
    for part, statements in EXTRA_ROWS.items():
        execute_sql(data, part, *statements)
    return data


def copy(data: Path, address: str, on_step: Callable[[Step], object] = lambda step: None) -> None:
    store, target, now = SqliteStore(data), Dsn(address), int(SAMPLE_TIME)
    copy_to_postgres(store, target, actor="tester", now=now, while_served=False, on_progress=on_step)


def sqlite_rows(data: Path) -> dict[str, list[Any]]:
    """Return every row of every table of an embedded store."""
    rows = {}
    for table, part in TABLES.items():
        with opened(data, part) as engine:
            rows[table.name] = _rows(engine, table)
    return rows


def postgres_rows(address: str) -> dict[str, list[Any]]:
    """Return every row of every table of a database."""
    with opened_on_postgres(Dsn(address), None) as engine:
        return {table.name: _rows(engine, table) for table in TABLES}


def _rows(engine: Engine, table: Table) -> list[Any]:
    with engine.begin() as connection:
        return [tuple(row) for row in connection.execute(select(table).order_by(*table.primary_key))]


def schema_of(address: str) -> list[Any]:
    """Return all tables, indexes, constraints and triggers, and whether they are enabled."""
    with psycopg.connect(address) as connection:
        return connection.execute(SCHEMA).fetchall()
