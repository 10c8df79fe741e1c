"""Removal of outdated rows on PostgreSQL: batches, whatever plan is chosen, and entries in the change log."""

from collections.abc import Iterator

import psycopg
import pytest
from sqlalchemy import Engine, func, insert, select

from cloudconsole.operator.maintenance.retention import ROWS_PER_TRANSACTION, RetentionAges
from cloudconsole.store import tables
from cloudconsole.store.postgres.dsn import Dsn
from cloudconsole.store.postgres.store import PostgresStore
from cloudconsole.store.sql import delete_batch
from cloudconsole.store.tables import login_failures
from tests.operator.maintenance.test_retention import add_rows, run_prune
from tests.operator.transactions import NOW

OUTDATED = login_failures.c.at < NOW
PLAN_NODES = ("hashjoin", "mergejoin", "hashagg", "material", "sort")


@pytest.fixture
def engine(address: Dsn) -> Iterator[Engine]:
    """A database with ten outdated rows and two current ones."""
    failures = [{"network": "n", "user_hash": b"u", "at": NOW - 10 + number} for number in range(12)]
    with PostgresStore(address).opened("activity") as opened:
        with opened.begin() as connection:
            connection.execute(insert(login_failures), failures)
        yield opened


def remaining(engine: Engine) -> int:
    with engine.begin() as connection:
        return connection.scalar(select(func.count()).select_from(login_failures)) or 0


@pytest.mark.parametrize("disabled", [PLAN_NODES[:number] for number in range(len(PLAN_NODES) + 1)])
def test_batch_size_does_not_depend_on_the_query_plan(engine: Engine, disabled: tuple[str, ...]) -> None:
    """The plan depends on table statistics, which the server updates at any time."""
    with engine.begin() as connection:
        for plan_node in disabled:
            connection.exec_driver_sql(f"SET LOCAL enable_{plan_node} = off")
        batches = [delete_batch(connection, login_failures, OUTDATED, 3) for _ in range(5)]
    assert batches == [3, 3, 3, 1, 0]
    assert remaining(engine) == 2


def test_locked_rows_are_skipped(engine: Engine) -> None:
    with engine.begin() as other:
        other.execute(select(login_failures.c.id).where(OUTDATED).limit(4).with_for_update()).all()
        with engine.begin() as connection:
            assert delete_batch(connection, login_failures, OUTDATED, 10) == 6
    assert remaining(engine) == 6


def test_change_log_names_only_the_affected_tenants(address: Dsn) -> None:
    store, tenants = PostgresStore(address), range(1, 2 * ROWS_PER_TRANSACTION)
    add_rows(store, tables.tenants, *({"id": tenant, "name": f"t{tenant}"} for tenant in tenants))
    size = {"vcpus": 0, "ram_mb": 0, "disk_gb": 0, "size_gb": 1}
    ended = {"kind": "volume", "name": "data", **size, "started_at": 1, "ended_at": 2}
    add_rows(store, tables.resources, *({**ended, "id": f"v{tenant}", "tenant_id": tenant} for tenant in tenants))
    with psycopg.connect(address.given, autocommit=True) as connection:
        connection.execute("DELETE FROM signals")
        assert run_prune(store, RetentionAges(ended_resources=400), now=NOW) == {"resources": len(tenants)}
        logged = connection.execute("SELECT unnest(tenant_ids) FROM signals").fetchall()
        global_entries = connection.execute("SELECT count(*) FROM signals WHERE tenant_ids IS NULL").fetchone()
    assert sorted(tenant for (tenant,) in logged) == list(tenants)
    assert global_entries == (0,)
