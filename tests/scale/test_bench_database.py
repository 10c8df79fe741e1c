"""PostgreSQL datasets have the same rows as SQLite datasets, which are inserted one by one."""

from collections.abc import Iterator

import pytest
from bench.datasets import DatasetSpec, SqliteDataset, sqlite_dataset
from bench.scale.postgres_dataset import PostgresDataset, create
from cluster.postgres import PostgresServer
from sqlalchemy import Column, Engine, Table, select

from bench import datasets
from cloudconsole.store import counters
from cloudconsole.store.sqlite.engine import opened
from cloudconsole.store.tables import accounts, domains, quotas, resources, sessions, tenants, totals, usage

SPEC = DatasetSpec(tenants=3, resources_per_tenant=12, has_domains=True)
DIFFERENT = {"password_hash", "seen_at", "version", "account_version"}
"""Random or time-dependent columns."""


@pytest.fixture(scope="module")
def sqlite(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SqliteDataset]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(datasets, "DIRECTORY", tmp_path_factory.mktemp("bench"))
        yield sqlite_dataset(SPEC)


@pytest.fixture(scope="module")
def made(postgres: PostgresServer) -> Iterator[PostgresDataset]:
    name = "bench-made"
    postgres.create_database(name)
    new = PostgresDataset(postgres, name, SPEC)
    create(new)
    yield new
    postgres.drop_database(name)


def rows(engine: Engine, table: Table) -> list[tuple[object, ...]]:
    columns: list[Column[object]] = [column for column in table.columns if column.name not in DIFFERENT]
    with engine.connect() as connection:
        return sorted((tuple(row) for row in connection.execute(select(*columns))), key=repr)


@pytest.mark.parametrize(
    "table", [tenants, accounts, quotas, resources, domains, totals, usage], ids=lambda table: str(table.name)
)
def test_the_cloud_is_the_same(table: Table, made: PostgresDataset, sqlite: SqliteDataset) -> None:
    with opened(sqlite.directory, "cloud") as files, made.store.opened("cloud") as tables:
        assert rows(tables, table) == rows(files, table)


def test_the_sessions_are_the_same(made: PostgresDataset, sqlite: SqliteDataset) -> None:
    with opened(sqlite.directory, "activity") as files, made.store.opened("activity") as tables:
        assert rows(tables, sessions) == rows(files, sessions)


def test_the_counters_match_the_resources(made: PostgresDataset) -> None:
    with made.store.opened("cloud") as engine, engine.connect() as connection:
        assert counters.incorrect_counters(connection) == []


def test_dropped_indexes_are_created_again(made: PostgresDataset, postgres: PostgresServer) -> None:
    counted = "SELECT count(*) FROM pg_indexes WHERE tablename = 'resources'"
    assert postgres.execute(counted, made.name) == [(1 + len(resources.indexes),)]


def test_the_sampled_sessions_are_touched(made: PostgresDataset, postgres: PostgresServer) -> None:
    made.touch_sessions()
    assert postgres.execute("SELECT count(*) FROM sessions WHERE seen_at > 1770000000", made.name) == [(4,)]
