"""A real PostgreSQL for a session of tests, and an empty database for each."""

from collections.abc import Iterator
from itertools import count

import pytest
from cluster.postgres import PostgresServer

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
