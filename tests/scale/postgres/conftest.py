"""Databases with the console's tables: one for each test, and a server of one's own for those who stop it."""

from collections.abc import Iterator

import pytest
from cluster.postgres import PostgresServer

from cloudconsole.store.postgres.dsn import Dsn
from tests.databases import Databases


@pytest.fixture
def address(databases: Databases, with_tables: str) -> Dsn:
    """Of a database of one's own with the tables."""
    return Dsn(databases.address(with_tables))


@pytest.fixture(scope="module")
def own() -> Iterator[PostgresServer]:
    """A server to stop and to halt; whoever does so lets it go on."""
    with PostgresServer(durable=False) as server:
        yield server


@pytest.fixture(scope="module")
def own_address(own: PostgresServer) -> Dsn:
    """Of a database there with the tables."""
    databases = Databases(own)
    return Dsn(databases.address(databases.take(databases.with_tables)))
