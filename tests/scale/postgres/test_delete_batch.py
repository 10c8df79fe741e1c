"""Batched deletion of outdated rows, whatever plan PostgreSQL chooses."""

from collections.abc import Iterator

import pytest
from sqlalchemy import Engine, func, insert, select

from cloudconsole.store.postgres.dsn import Dsn
from cloudconsole.store.postgres.store import PostgresStore
from cloudconsole.store.sql import delete_batch
from cloudconsole.store.tables import login_failures

NOW = 1_800_000_000
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
