"""A store with something in every table, and databases with and without tables of their own to copy it to."""

from collections.abc import Iterator
from pathlib import Path
from shutil import copytree

import pytest
from cluster.postgres import PostgresServer

from cloudconsole.store.postgres.dsn import Dsn
from cloudconsole.store.postgres.store import PostgresStore
from tests.scale.copies import fill_every_table


@pytest.fixture
def data(quick_store: Path, tmp_path: Path) -> Path:
    """A store of one's own with something in every table."""
    return fill_every_table(copytree(quick_store, tmp_path / "data"))


@pytest.fixture(scope="module")
def tables(postgres: PostgresServer) -> Iterator[str]:
    """The name of a database with empty tables; copy it, never change it."""
    PostgresStore(Dsn(postgres.create_database("empty_tables"))).migrate()
    yield "empty_tables"
    postgres.drop_database("empty_tables")


@pytest.fixture
def migrated(postgres: PostgresServer, database: str, tables: str) -> str:
    """The name of a database of one's own with empty tables."""
    postgres.drop_database(database)
    postgres.create_database(database, template=tables)
    return database


@pytest.fixture
def address(postgres: PostgresServer, database: str) -> str:
    return postgres.address(database)
