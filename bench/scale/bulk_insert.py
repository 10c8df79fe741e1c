"""Insert many tenants into PostgreSQL with one statement per table: the same rows as `bench.datasets`."""

import sys
import time
from collections.abc import Iterator
from typing import Any, Final

import psycopg
from psycopg import sql
from sqlalchemy import Table, create_engine

from bench.datasets import FIRST_TENANT_NUMBER, FUTURE, DatasetSpec, quota_row, resource_rows
from cloudconsole.server.http.csrf import SEED_LENGTH
from cloudconsole.store import counters
from cloudconsole.store.tables import domains, quotas, resources
from cluster.postgres import PostgresServer

ACCOUNT_ID_OFFSET: Final = 1000
"""Difference between the ids of an account and its tenant."""

_INDEXES: Final = """
    SELECT indexrelid::regclass::text, pg_get_indexdef(indexrelid) FROM pg_index
    WHERE indrelid = ANY(%s::regclass[]) AND indexrelid NOT IN (SELECT conindid FROM pg_constraint)
"""
_LARGE: Final = ["tenants", "accounts", "resources", "domains", "sessions"]
_NAME: Final = "'bench-' || lpad((added.id - added.first)::text, 7, '0')"
_SESSION: Final = f"'s' || left(encode(sha256(convert_to('session of ' || {_NAME}, 'UTF8')), 'hex'), 48)"
_SEED: Final = f"left(encode(sha256(convert_to('seed of ' || {_NAME}, 'UTF8')), 'hex'), {SEED_LENGTH})"

Superuser = psycopg.Connection[tuple[Any, ...]]


def insert_tenants(server: PostgresServer, database: str, spec: DatasetSpec) -> None:
    """Add tenants to the sample, with triggers disabled and indexes created afterwards."""

    def connect() -> Superuser:
        connection = server.connect(database)
        connection.execute("SET session_replication_role = replica")
        return connection

    with connect() as superuser:
        indexes = superuser.execute(_INDEXES, (_LARGE,)).fetchall()
        for name, _ in indexes:
            superuser.execute(f"DROP INDEX {name}")
        _number_tenants(superuser, spec.tenants)
        for name, statement in _statements(superuser, spec):
            _timed(superuser, name, statement)
        for name, definition in indexes:
            _timed(superuser, name, definition)
        engine = create_engine("postgresql+psycopg://", creator=connect)
        with engine.connect() as connection:
            counters.recount_all(connection)
        engine.dispose()
        superuser.execute("DROP TABLE added")
        for table in ("tenants", "accounts"):
            superuser.execute(f"SELECT setval(pg_get_serial_sequence('{table}', 'id'), max(id)) FROM {table}")
        _timed(superuser, "vacuum", "VACUUM ANALYZE")
        superuser.execute("CHECKPOINT")


def _timed(superuser: Superuser, name: str, statement: Any) -> None:
    began = time.monotonic()
    superuser.execute(statement)
    sys.stderr.write(f"  {name}: {time.monotonic() - began:.0f} s\n")


def _number_tenants(superuser: Superuser, count: int) -> None:
    superuser.execute("CREATE UNLOGGED TABLE added (id integer NOT NULL, first integer NOT NULL)")
    superuser.execute(
        "INSERT INTO added SELECT id, first FROM (SELECT max(id) + 1 AS first FROM tenants) AS highest, "
        f"generate_series(first, first + {count - 1}) AS id"
    )


def _statements(superuser: Superuser, spec: DatasetSpec) -> Iterator[tuple[str, Any]]:
    yield "tenants", f"INSERT INTO tenants (id, name) SELECT id, {_NAME} FROM added ORDER BY id"
    yield "quotas", _from_rows(quotas, [quota_row(0, 0)], tenant_id="added.id", instances=_number())
    yield (
        "accounts",
        "INSERT INTO accounts (id, tenant_id, username, role, password_hash, disabled, version) "
        f"SELECT added.id + {ACCOUNT_ID_OFFSET}, added.id, {_NAME}, 'tenant', password_hash, "
        "false, 1 FROM added, (SELECT password_hash FROM accounts WHERE username = 'demo') AS demo ORDER BY 1",
    )
    node_ids = [node for (node,) in superuser.execute("SELECT id FROM nodes ORDER BY id").fetchall()]
    rows = [
        {**row, "id": row["id"].rpartition("-")[2]} for row in resource_rows([0], spec.resources_per_tenant, node_ids)
    ]
    identity = "'r-' || added.id || '-' || sample.id"
    yield "resources", _from_rows(resources, rows, id=identity, tenant_id="added.id")
    if spec.has_domains:
        names = ", ".join(column.name for column in domains.columns if column.name not in ("id", "tenant_id"))
        yield (
            "domains",
            f"INSERT INTO domains (id, tenant_id, {names}) SELECT ({_number()})::text, added.id, {names} "
            "FROM added, (SELECT * FROM domains ORDER BY id LIMIT 1) AS model ORDER BY added.id",
        )
    columns = "id_hash, account_id, account_version, csrf_seed, seen_at, expires_at"
    yield (
        "sessions",
        f"INSERT INTO sessions ({columns}) SELECT sha256(convert_to({_SESSION}, 'UTF8')), id + {ACCOUNT_ID_OFFSET}, 1, "
        f"{_SEED}, 0, {FUTURE} FROM added",
    )


def _number() -> str:
    return f"added.id - added.first + {FIRST_TENANT_NUMBER}"


def _from_rows(table: Table, rows: list[dict[str, Any]], **expressions: str) -> sql.Composed:
    """Insert these rows for each added tenant; `expressions` override columns."""
    names = [column.name for column in table.columns]
    lines = sql.SQL(", ").join(
        sql.SQL("({})").format(sql.SQL(", ").join(_literal(row[name]) for name in names)) for row in rows
    )
    chosen = sql.SQL(", ").join(
        sql.SQL(expressions[name]) if name in expressions else sql.SQL("sample.{}").format(sql.Identifier(name))
        for name in names
    )
    listed = sql.SQL(", ").join(map(sql.Identifier, names))
    return sql.SQL("INSERT INTO {} ({}) SELECT {} FROM added, (VALUES {}) AS sample ({}) ORDER BY added.id").format(
        sql.Identifier(table.name), listed, chosen, lines, listed
    )


def _literal(value: Any) -> sql.Composable:
    # An untyped NULL would make the column text; only numeric columns can be NULL here.
    return sql.SQL("NULL::bigint") if value is None else sql.Literal(value)
