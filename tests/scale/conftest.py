"""PostgreSQL servers, shared or private, and a database per test, empty or with the console's tables."""

from collections.abc import Iterator
from contextlib import closing
from itertools import count

import pytest
from cluster.postgres import PostgresServer

from cloudconsole.store.postgres.dsn import Dsn
from tests.databases import Databases
from tests.server.commands.conftest import cloudconsole

__all__ = ["cloudconsole"]

_database_numbers = count(1)


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """One server per pytest worker; tests that stop, kill or pause a server start another one."""
    with PostgresServer(durable=False) as server:
        yield server


@pytest.fixture
def database(postgres: PostgresServer) -> Iterator[str]:
    """The name of an empty database for this test."""
    name = f"test_{next(_database_numbers)}"
    postgres.create_database(name)
    yield name
    postgres.drop_database(name)


@pytest.fixture(scope="session")
def databases(postgres: PostgresServer) -> Iterator[Databases]:
    with closing(Databases(postgres)) as databases:
        yield databases


@pytest.fixture
def migrated_template(databases: Databases) -> Iterator[str]:
    """The name of a database with the console's tables for this test."""
    name = databases.acquire(databases.migrated_template)
    yield name
    databases.release(name)


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
