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
def dataset(postgres: PostgresServer) -> Iterator[PostgresDataset]:
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
def test_cloud_tables_have_the_same_rows(table: Table, dataset: PostgresDataset, sqlite: SqliteDataset) -> None:
    with opened(sqlite.directory, "cloud") as files, dataset.store.opened("cloud") as tables:
        assert rows(tables, table) == rows(files, table)


def test_sessions_table_has_the_same_rows(dataset: PostgresDataset, sqlite: SqliteDataset) -> None:
    with opened(sqlite.directory, "activity") as files, dataset.store.opened("activity") as tables:
        assert rows(tables, sessions) == rows(files, sessions)


def test_the_counters_match_the_resources(dataset: PostgresDataset) -> None:
    with dataset.store.opened("cloud") as engine, engine.connect() as connection:
        assert counters.incorrect_counters(connection) == []


def test_dropped_indexes_are_created_again(dataset: PostgresDataset, postgres: PostgresServer) -> None:
    query = "SELECT count(*) FROM pg_indexes WHERE tablename = 'resources'"
    assert postgres.execute(query, dataset.name) == [(1 + len(resources.indexes),)]


def test_the_sampled_sessions_are_touched(dataset: PostgresDataset, postgres: PostgresServer) -> None:
    dataset.touch_sessions()
    assert postgres.execute("SELECT count(*) FROM sessions WHERE seen_at > 1770000000", dataset.name) == [(4,)]
