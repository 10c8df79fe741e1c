"""Writes to a PostgreSQL that hangs: they end at the deadline or on an interrupt, and work again afterwards."""

import math
import signal
import time
from collections.abc import Iterator
from threading import Timer

import pytest
from cluster.postgres import PostgresServer
from sqlalchemy import Engine
from sqlalchemy.exc import OperationalError

from cloudconsole.store.base import write_deadline
from cloudconsole.store.postgres.dsn import Dsn
from cloudconsole.store.postgres.store import opened


@pytest.fixture
def engine(private_server: PostgresServer, private_address: Dsn) -> Iterator[Engine]:
    with opened(private_address, None) as engine:
        assert select_one(engine) == 1
        yield engine
        private_server.resume()
        write_deadline.set(math.inf)
        assert select_one(engine) == 1


def select_one(engine: Engine) -> object:
    with engine.begin() as connection:
        return connection.exec_driver_sql("SELECT 1").scalar()


def test_idle_connection_times_out(private_server: PostgresServer, engine: Engine) -> None:
    private_server.pause()
    write_deadline.set(time.monotonic() + 0.3)
    with pytest.raises(OperationalError, match="no response from the database in time"):
        select_one(engine)


def test_transaction_in_progress_times_out(private_server: PostgresServer, engine: Engine) -> None:
    def run_transaction() -> None:
        with engine.begin() as connection:
            connection.exec_driver_sql("CREATE TABLE left_over (id int)")
            private_server.pause()
            write_deadline.set(time.monotonic() + 0.3)
            connection.exec_driver_sql("SELECT 1")

    with pytest.raises(OperationalError, match="no response from the database in time"):
        run_transaction()
    private_server.resume()
    write_deadline.set(math.inf)
    with engine.begin() as connection:
        assert connection.exec_driver_sql("SELECT to_regclass('left_over')").scalar() is None


def test_whole_transaction_has_one_deadline(engine: Engine) -> None:
    def run_transaction() -> None:
        with engine.begin() as connection:
            for _ in range(100):
                connection.exec_driver_sql("SELECT pg_sleep(0.1)")

    write_deadline.set(time.monotonic() + 1)
    with pytest.raises(OperationalError, match="no response from the database in time"):
        run_transaction()


def test_expired_deadline_prevents_connecting(private_server: PostgresServer, private_address: Dsn) -> None:
    write_deadline.set(time.monotonic())
    try:
        with opened(private_address, None) as new_engine, pytest.raises(OperationalError, match="in time"):
            select_one(new_engine)
    finally:
        write_deadline.set(math.inf)


def test_connecting_to_several_hosts_stops_at_the_deadline(private_server: PostgresServer) -> None:
    address = Dsn(private_server.address("postgres", private_server.port, private_server.port))
    private_server.pause()
    write_deadline.set(time.monotonic() + 0.3)
    try:
        with (
            opened(address, None) as new_engine,
            pytest.raises(OperationalError, match="no response from the database in time"),
        ):
            select_one(new_engine)
    finally:
        write_deadline.set(math.inf)
        private_server.resume()


def test_interrupt_ends_the_wait(private_server: PostgresServer, engine: Engine) -> None:
    private_server.pause()
    # Late enough to interrupt the wait; an earlier interrupt also ends the test correctly.
    interruption = Timer(0.5, signal.raise_signal, [signal.SIGINT])

    def wait_and_interrupt() -> None:
        interruption.start()
        select_one(engine)

    with pytest.raises(KeyboardInterrupt):
        wait_and_interrupt()
    interruption.join()
