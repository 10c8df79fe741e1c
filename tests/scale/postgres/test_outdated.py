"""Rows that are of no use any more go by the portion, whatever PostgreSQL makes of the statement."""

from collections.abc import Iterator

import pytest
from sqlalchemy import Engine, func, insert, select

from cloudconsole.store.postgres.dsn import Dsn
from cloudconsole.store.postgres.store import PostgresStore
from cloudconsole.store.sql import delete_batch
from cloudconsole.store.tables import login_failures

NOW = 1_800_000_000
OUTDATED = login_failures.c.at < NOW
PLANNED = ("hashjoin", "mergejoin", "hashagg", "material", "sort")


@pytest.fixture
def engine(address: Dsn) -> Iterator[Engine]:
    """Ten rows are outdated there, and two are not."""
    failures = [{"network": "n", "user_hash": b"u", "at": NOW - 10 + number} for number in range(12)]
    with PostgresStore(address).opened("activity") as opened:
        with opened.begin() as connection:
            connection.execute(insert(login_failures), failures)
        yield opened


def remaining(engine: Engine) -> int:
    with engine.begin() as connection:
        return connection.scalar(select(func.count()).select_from(login_failures)) or 0


@pytest.mark.parametrize("avoided", [PLANNED[:number] for number in range(len(PLANNED) + 1)])
def test_a_portion_is_as_large_as_it_may_be_however_it_is_planned(engine: Engine, avoided: tuple[str, ...]) -> None:
    """The plan follows what the server has counted of a table, which it does when it has the time."""
    with engine.begin() as connection:
        for way in avoided:
            connection.exec_driver_sql(f"SET LOCAL enable_{way} = off")
        portions = [delete_batch(connection, login_failures, OUTDATED, 3) for _ in range(5)]
    assert portions == [3, 3, 3, 1, 0]
    assert remaining(engine) == 2


def test_what_someone_else_has_taken_hold_of_stays(engine: Engine) -> None:
    with engine.begin() as other:
        other.execute(select(login_failures.c.id).where(OUTDATED).limit(4).with_for_update()).all()
        with engine.begin() as connection:
            assert delete_batch(connection, login_failures, OUTDATED, 10) == 6
    assert remaining(engine) == 6
