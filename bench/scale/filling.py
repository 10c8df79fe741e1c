"""Very many tenants into a database on PostgreSQL, by a statement a table: the same rows that `bench.data` makes."""

import sys
import time
from collections.abc import Iterator
from typing import Any, Final

import psycopg
from psycopg import sql
from sqlalchemy import Table, create_engine

from bench.data import FAR_AHEAD, FIRST_NUMBER, Plan, quotas_of, resources_of
from cloudconsole.server.http.csrf import SEED_LENGTH
from cloudconsole.store import counters
from cloudconsole.store.tables import domains, quotas, resources
from cluster.postgres import PostgresServer

ACCOUNTS_FROM: Final = 1000
"""How far an added account's id is above its tenant's."""

_INDEXES: Final = """
    SELECT indexrelid::regclass::text, pg_get_indexdef(indexrelid) FROM pg_index
    WHERE indrelid = ANY(%s::regclass[]) AND indexrelid NOT IN (SELECT conindid FROM pg_constraint)
"""
_LARGE: Final = ["tenants", "accounts", "resources", "domains", "sessions"]
_NAME: Final = "'bench-' || lpad((added.id - added.first)::text, 7, '0')"
_SESSION: Final = f"'s' || left(encode(sha256(convert_to('session of ' || {_NAME}, 'UTF8')), 'hex'), 48)"
_SEED: Final = f"left(encode(sha256(convert_to('seed of ' || {_NAME}, 'UTF8')), 'hex'), {SEED_LENGTH})"

Superuser = psycopg.Connection[tuple[Any, ...]]


def fill(server: PostgresServer, database: str, plan: Plan) -> None:
    """What is in it already, the sample, stays. Neither signals nor indexes are kept up row by row."""

    def connect() -> Superuser:
        connection = server.connect(database)
        connection.execute("SET session_replication_role = replica")
        return connection

    with connect() as superuser:
        indexes = superuser.execute(_INDEXES, (_LARGE,)).fetchall()
        for name, _ in indexes:
            superuser.execute(f"DROP INDEX {name}")
        _number_tenants(superuser, plan.tenants)
        for name, statement in _statements(superuser, plan):
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


def _statements(superuser: Superuser, plan: Plan) -> Iterator[tuple[str, Any]]:
    yield "tenants", f"INSERT INTO tenants (id, name) SELECT id, {_NAME} FROM added ORDER BY id"
    yield "quotas", _from_rows(quotas, [quotas_of(0, 0)], tenant_id="added.id", instances=_number())
    yield (
        "accounts",
        "INSERT INTO accounts (id, tenant_id, username, role, password_hash, disabled, version) "
        f"SELECT added.id + {ACCOUNTS_FROM}, added.id, {_NAME}, 'tenant', password_hash, "
        "false, 1 FROM added, (SELECT password_hash FROM accounts WHERE username = 'demo') AS demo ORDER BY 1",
    )
    node_ids = [node for (node,) in superuser.execute("SELECT id FROM nodes ORDER BY id").fetchall()]
    rows = [{**row, "id": row["id"].rpartition("-")[2]} for row in resources_of([0], plan.resources_each, node_ids)]
    identity = "'r-' || added.id || '-' || sample.id"
    yield "resources", _from_rows(resources, rows, id=identity, tenant_id="added.id")
    if plan.has_domains:
        names = ", ".join(column.name for column in domains.columns if column.name not in ("id", "tenant_id"))
        yield (
            "domains",
            f"INSERT INTO domains (id, tenant_id, {names}) SELECT ({_number()})::text, added.id, {names} "
            "FROM added, (SELECT * FROM domains ORDER BY id LIMIT 1) AS model ORDER BY added.id",
        )
    columns = "id_hash, account_id, account_version, csrf_seed, seen_at, expires_at"
    yield (
        "sessions",
        f"INSERT INTO sessions ({columns}) SELECT sha256(convert_to({_SESSION}, 'UTF8')), id + {ACCOUNTS_FROM}, 1, "
        f"{_SEED}, 0, {FAR_AHEAD} FROM added",
    )


def _number() -> str:
    return f"added.id - added.first + {FIRST_NUMBER}"


def _from_rows(table: Table, rows: list[dict[str, Any]], **expressions: str) -> sql.Composed:
    """These rows for each added tenant, but with some columns worked out."""
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
    # Where nothing else says what a column of literals is, it is text; only numbers may be missing here.
    return sql.SQL("NULL::bigint") if value is None else sql.Literal(value)
