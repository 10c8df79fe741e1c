"""Retention on PostgreSQL."""

import psycopg
import pytest
from cluster.postgres import PostgresServer

from cloudconsole.operator.maintenance.retention import ROWS_PER_TRANSACTION, RetentionAges
from cloudconsole.store import tables
from cloudconsole.store.base import Store
from cloudconsole.store.postgres.dsn import Dsn
from cloudconsole.store.postgres.store import PostgresStore
from tests.operator.maintenance.test_retention import add_rows, run_prune
from tests.operator.transactions import NOW


@pytest.fixture
def store(postgres: PostgresServer, database: str) -> Store:
    new_store = PostgresStore(Dsn(postgres.address(database)))
    new_store.migrate()
    return new_store


def test_change_log_names_only_the_affected_tenants(store: Store, postgres: PostgresServer, database: str) -> None:
    tenants = range(1, 2 * ROWS_PER_TRANSACTION)
    add_rows(store, tables.tenants, *({"id": tenant, "name": f"t{tenant}"} for tenant in tenants))
    size = {"vcpus": 0, "ram_mb": 0, "disk_gb": 0, "size_gb": 1}
    ended = {"kind": "volume", "name": "data", **size, "started_at": 1, "ended_at": 2}
    add_rows(store, tables.resources, *({**ended, "id": f"v{tenant}", "tenant_id": tenant} for tenant in tenants))
    with psycopg.connect(postgres.address(database), autocommit=True) as connection:
        connection.execute("DELETE FROM signals")
        assert run_prune(store, RetentionAges(ended_resources=400), now=NOW) == {"resources": len(tenants)}
        logged = connection.execute("SELECT unnest(tenant_ids) FROM signals").fetchall()
        global_entries = connection.execute("SELECT count(*) FROM signals WHERE tenant_ids IS NULL").fetchone()
    assert sorted(tenant for (tenant,) in logged) == list(tenants)
    assert global_entries == (0,)
