"""Lists on PostgreSQL: reading them page by page may pause."""

import time

import pytest
from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError

from cloudconsole.server.commands.admin.store import reading_transaction
from cloudconsole.server.config.settings import Settings
from cloudconsole.store.base import read_only_engine
from cloudconsole.store.postgres.dsn import Dsn
from cloudconsole.store.postgres.store import opened


@pytest.fixture
def short_timeout(address: Dsn) -> Dsn:
    """A DSN with a short timeout for idle transactions."""
    return Dsn(f"{address.given}?options=-c%20idle_in_transaction_session_timeout%3D200ms")


def read_slowly(connection: Connection) -> None:
    for pause in (1.0, 0.0):
        connection.exec_driver_sql("SELECT count(*) FROM resources")
        time.sleep(pause)


def test_paused_listing_keeps_its_transaction(short_timeout: Dsn) -> None:
    with opened(short_timeout, "cloud") as engine, reading_transaction(engine, Settings()) as transaction:
        read_slowly(transaction.connection)


def test_other_idle_transactions_time_out(short_timeout: Dsn) -> None:
    with (
        opened(short_timeout, "cloud") as engine,
        pytest.raises(DBAPIError, match="idle-in-transaction"),
        read_only_engine(engine).begin() as connection,
    ):
        read_slowly(connection)
