"""A database with the console's tables per test, and a private server for tests that stop or pause it."""

from collections.abc import Iterator

import pytest
from cluster.postgres import PostgresServer

from cloudconsole.store.postgres.dsn import Dsn
from tests.databases import Databases


@pytest.fixture
def address(databases: Databases, migrated_template: str) -> Dsn:
    """The DSN of a database with the tables for this test."""
    return Dsn(databases.address(migrated_template))


@pytest.fixture(scope="module")
def private_server() -> Iterator[PostgresServer]:
    """A server to stop and pause; a test that does so must resume it."""
    with PostgresServer(durable=False) as server:
        yield server


@pytest.fixture(scope="module")
def private_address(private_server: PostgresServer) -> Dsn:
    """The DSN of a database with the tables on the private server."""
    databases = Databases(private_server)
    return Dsn(databases.address(databases.acquire(databases.migrated_template)))
