"""Lists on PostgreSQL: whoever reads them page by page may take their time."""

import time

import pytest
from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError

from cloudconsole.server.commands.admin.store import reading_transaction
from cloudconsole.server.config.settings import Settings
from cloudconsole.store.base import read_only
from cloudconsole.store.postgres.dsn import Dsn
from cloudconsole.store.postgres.store import opened


@pytest.fixture
def hasty(address: Dsn) -> Dsn:
    """A database that takes whoever pauses in a transaction for one that stands still."""
    return Dsn(f"{address.given}?options=-c%20idle_in_transaction_session_timeout%3D200ms")


def read_slowly(connection: Connection) -> None:
    for pause in (1.0, 0.0):
        connection.exec_driver_sql("SELECT count(*) FROM resources")
        time.sleep(pause)


def test_a_reader_who_pauses_keeps_the_place(hasty: Dsn) -> None:
    with opened(hasty, "cloud") as engine, reading_transaction(engine, Settings()) as desk:
        read_slowly(desk.connection)


def test_others_who_pause_lose_it(hasty: Dsn) -> None:
    with (
        opened(hasty, "cloud") as engine,
        pytest.raises(DBAPIError, match="idle-in-transaction"),
        read_only(engine).begin() as connection,
    ):
        read_slowly(connection)
