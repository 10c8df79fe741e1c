"""Settings of our connections, regardless of the defaults of role, database and server."""

from collections.abc import Iterator

import psycopg
import pytest
from cluster.postgres import PostgresServer

from cloudconsole.store.postgres.dsn import Dsn

CONFLICTING = {"synchronous_commit": "off", "default_transaction_isolation": "'serializable'"}


@pytest.fixture
def conflicting_database(postgres: PostgresServer, database: str) -> Iterator[str]:
    """A database with conflicting defaults."""
    for name, value in CONFLICTING.items():
        postgres.execute(f"ALTER ROLE {postgres.user} IN DATABASE {database} SET {name} = {value}")
    yield database
    postgres.execute(f"ALTER ROLE {postgres.user} IN DATABASE {database} RESET ALL")


def shown(address: str, setting: str) -> object:
    with psycopg.connect(Dsn(address).conninfo()) as connection:
        (value,) = connection.execute(f"SHOW {setting}").fetchone() or (None,)
        return value


@pytest.mark.parametrize(
    ("setting", "value"), [("synchronous_commit", "on"), ("transaction_isolation", "read committed")]
)
def test_role_defaults_do_not_override_required_settings(
    postgres: PostgresServer, conflicting_database: str, setting: str, value: str
) -> None:
    assert shown(postgres.address(conflicting_database), setting) == value


def test_dsn_can_request_stricter_settings(postgres: PostgresServer, conflicting_database: str) -> None:
    address = postgres.address(conflicting_database, options="-c synchronous_commit=remote_apply")
    assert shown(address, "synchronous_commit") == "remote_apply"
