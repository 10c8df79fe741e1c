"""A store with rows in every table, and databases with and without tables to copy it to."""

from collections.abc import Iterator
from pathlib import Path
from shutil import copytree

import pytest
from cluster.postgres import PostgresServer

from cloudconsole.store.postgres.dsn import Dsn
from cloudconsole.store.postgres.store import PostgresStore
from tests.scale.copies import fill_every_table


@pytest.fixture
def data(fast_hash_store: Path, tmp_path: Path) -> Path:
    """A store with rows in every table."""
    return fill_every_table(copytree(fast_hash_store, tmp_path / "data"))


@pytest.fixture(scope="module")
def tables(postgres: PostgresServer) -> Iterator[str]:
    """The name of a template database with empty tables; do not modify it."""
    PostgresStore(Dsn(postgres.create_database("empty_tables"))).migrate()
    yield "empty_tables"
    postgres.drop_database("empty_tables")


@pytest.fixture
def migrated(postgres: PostgresServer, database: str, tables: str) -> str:
    """The name of a database with empty tables for this test."""
    postgres.drop_database(database)
    postgres.create_database(database, template=tables)
    return database


@pytest.fixture
def address(postgres: PostgresServer, database: str) -> str:
    return postgres.address(database)
