"""What holds on our connections, whatever the defaults of the role, the database or the server are."""

from collections.abc import Iterator

import psycopg
import pytest
from cluster.postgres import PostgresServer

from cloudconsole.store.postgres.dsn import Dsn

CONTRARY = {"synchronous_commit": "off", "default_transaction_isolation": "'serializable'"}


@pytest.fixture
def contrary(postgres: PostgresServer, database: str) -> Iterator[str]:
    """A database with other defaults."""
    for name, value in CONTRARY.items():
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
def test_defaults_of_a_role_do_not_change_what_we_rely_on(
    postgres: PostgresServer, contrary: str, setting: str, value: str
) -> None:
    assert shown(postgres.address(contrary), setting) == value


def test_an_address_may_ask_for_more(postgres: PostgresServer, contrary: str) -> None:
    address = postgres.address(contrary, options="-c synchronous_commit=remote_apply")
    assert shown(address, "synchronous_commit") == "remote_apply"
