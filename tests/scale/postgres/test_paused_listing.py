"""Lists on PostgreSQL: reading them page by page may pause."""

import time

import psycopg
import pytest
from sqlalchemy.exc import DBAPIError

from cloudconsole.server.commands.admin.store import reading_transaction
from cloudconsole.server.config.settings import Settings
from cloudconsole.store.base import read_only_engine
from cloudconsole.store.postgres.dsn import Dsn
from cloudconsole.store.postgres.store import opened
from tests.e2e.processes import eventually


@pytest.fixture
def short_timeout(address: Dsn) -> Dsn:
    """A DSN with a short timeout for idle transactions."""
    return Dsn(f"{address.given}?options=-c%20idle_in_transaction_session_timeout%3D200ms")


COUNT = "SELECT count(*) FROM resources"


def is_connected(address: Dsn, pid: object) -> bool:
    with psycopg.connect(address.given) as connection:
        return connection.execute("SELECT 1 FROM pg_stat_activity WHERE pid = %s", [pid]).fetchone() is not None


def test_paused_listing_keeps_its_transaction(short_timeout: Dsn) -> None:
    with opened(short_timeout, "cloud") as engine, reading_transaction(engine, Settings()) as transaction:
        transaction.connection.exec_driver_sql(COUNT)
        # Several times the idle timeout of the server; a shorter pause never fails a correct listing.
        time.sleep(0.6)
        transaction.connection.exec_driver_sql(COUNT)


def test_other_idle_transactions_time_out(short_timeout: Dsn, address: Dsn) -> None:
    with opened(short_timeout, "cloud") as engine, read_only_engine(engine).connect() as connection:
        pid = connection.exec_driver_sql("SELECT pg_backend_pid()").scalar()
        eventually(lambda: not is_connected(address, pid))
        with pytest.raises(DBAPIError, match="idle-in-transaction"):
            connection.exec_driver_sql(COUNT)
