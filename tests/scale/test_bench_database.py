"""The databases to measure on have the same in them as the embedded stores, whose rows are made one by one."""

from collections.abc import Iterator

import pytest
from bench.data import Plan, Store, store
from bench.scale.database import Database, make
from cluster.postgres import PostgresServer
from sqlalchemy import Column, Engine, Table, select

from bench import data
from cloudconsole.store import counters
from cloudconsole.store.sqlite.engine import opened
from cloudconsole.store.tables import accounts, domains, quotas, resources, sessions, tenants, totals, usage

PLAN = Plan(tenants=3, resources_each=12, has_domains=True)
DIFFERENT = {"password_hash", "seen_at", "version", "account_version"}
"""Drawn anew, or of the moment."""


@pytest.fixture(scope="module")
def embedded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(data, "FOLDER", tmp_path_factory.mktemp("bench"))
        yield store(PLAN)


@pytest.fixture(scope="module")
def made(postgres: PostgresServer) -> Iterator[Database]:
    name = "bench-made"
    postgres.create_database(name)
    new = Database(postgres, name, PLAN)
    make(new)
    yield new
    postgres.drop_database(name)


def rows(engine: Engine, table: Table) -> list[tuple[object, ...]]:
    columns: list[Column[object]] = [column for column in table.columns if column.name not in DIFFERENT]
    with engine.connect() as connection:
        return sorted((tuple(row) for row in connection.execute(select(*columns))), key=repr)


@pytest.mark.parametrize(
    "table", [tenants, accounts, quotas, resources, domains, totals, usage], ids=lambda table: str(table.name)
)
def test_the_cloud_is_the_same(table: Table, made: Database, embedded: Store) -> None:
    with opened(embedded.folder, "cloud") as files, made.store.opened("cloud") as tables:
        assert rows(tables, table) == rows(files, table)


def test_the_sessions_are_the_same(made: Database, embedded: Store) -> None:
    with opened(embedded.folder, "activity") as files, made.store.opened("activity") as tables:
        assert rows(tables, sessions) == rows(files, sessions)


def test_what_is_counted_agrees_with_the_resources(made: Database) -> None:
    with made.store.opened("cloud") as engine, engine.connect() as connection:
        assert counters.incorrect_counters(connection) == []


def test_an_index_that_was_put_off_is_there_again(made: Database, postgres: PostgresServer) -> None:
    counted = "SELECT count(*) FROM pg_indexes WHERE tablename = 'resources'"
    assert postgres.execute(counted, made.name) == [(1 + len(resources.indexes),)]


def test_the_callers_sessions_are_made_fresh(made: Database, postgres: PostgresServer) -> None:
    made.refresh_sessions()
    assert postgres.execute("SELECT count(*) FROM sessions WHERE seen_at > 1770000000", made.name) == [(4,)]
