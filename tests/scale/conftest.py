"""A real PostgreSQL for a session of tests, and a database for each, empty or with the console's tables."""

from collections.abc import Iterator
from contextlib import closing
from itertools import count

import pytest
from cluster.postgres import PostgresServer

from tests.databases import Databases
from tests.server.commands.conftest import cloudconsole

__all__ = ["cloudconsole"]

_numbers = count(1)


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """One for each worker of the tests; who stops, kills or halts it has one of their own instead."""
    with PostgresServer(durable=False) as server:
        yield server


@pytest.fixture
def database(postgres: PostgresServer) -> Iterator[str]:
    """The name of an empty database of one's own."""
    name = f"test_{next(_numbers)}"
    postgres.create_database(name)
    yield name
    postgres.drop_database(name)


@pytest.fixture(scope="session")
def databases(postgres: PostgresServer) -> Iterator[Databases]:
    with closing(Databases(postgres)) as databases:
        yield databases


@pytest.fixture
def with_tables(databases: Databases) -> Iterator[str]:
    """The name of a database of one's own with the tables."""
    name = databases.take(databases.with_tables)
    yield name
    databases.give_back(name)
