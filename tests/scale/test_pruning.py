"""Forgetting on PostgreSQL what nothing needs any more, as in the embedded store."""

import psycopg
import pytest
from cluster.postgres import PostgresServer

from cloudconsole.operator.maintenance.retention import ROWS_PER_TRANSACTION, RetentionAges, count, prune, rules
from cloudconsole.store import tables
from cloudconsole.store.base import Store
from cloudconsole.store.postgres.dsn import Dsn
from cloudconsole.store.postgres.store import PostgresStore
from tests.operator.maintenance.test_retention import IDLE, NOTHING_MORE, keys, pruned, put, session
from tests.operator.transactions import NOW


@pytest.fixture
def store(postgres: PostgresServer, database: str) -> Store:
    made = PostgresStore(Dsn(postgres.address(database)))
    made.migrate()
    return made


def test_what_someone_else_holds_is_not_waited_for(store: Store, postgres: PostgresServer, database: str) -> None:
    put(store, tables.sessions, *(session(name, seen_at=1, expires_at=1) for name in (b"held", b"free")))
    chosen = rules(NOTHING_MORE, now=NOW, session_idle=IDLE)
    assert count(store, chosen)["sessions"] == 2
    with psycopg.connect(postgres.address(database)) as other:
        other.execute("SELECT 1 FROM sessions WHERE id_hash = 'held' FOR UPDATE")
        assert prune(store, chosen, actor="tester", now=NOW)["sessions"] == 1
    assert keys(store, tables.sessions) == [b"held"]
    assert pruned(store, now=NOW) == {"sessions": 1}


def test_replicas_are_told_whose_resources_went_and_not_that_everything_did(
    store: Store, postgres: PostgresServer, database: str
) -> None:
    tenants = range(1, 2 * ROWS_PER_TRANSACTION)
    put(store, tables.tenants, *({"id": tenant, "name": f"t{tenant}"} for tenant in tenants))
    size = {"vcpus": 0, "ram_mb": 0, "disk_gb": 0, "size_gb": 1}
    ended = {"kind": "volume", "name": "data", **size, "started_at": 1, "ended_at": 2}
    put(store, tables.resources, *({**ended, "id": f"v{tenant}", "tenant_id": tenant} for tenant in tenants))
    with psycopg.connect(postgres.address(database), autocommit=True) as connection:
        connection.execute("DELETE FROM signals")
        assert pruned(store, RetentionAges(ended_resources=400), now=NOW) == {"resources": len(tenants)}
        told = connection.execute("SELECT unnest(tenant_ids) FROM signals").fetchall()
        of_everything = connection.execute("SELECT count(*) FROM signals WHERE tenant_ids IS NULL").fetchone()
    assert sorted(tenant for (tenant,) in told) == list(tenants)
    assert of_everything == (0,)
