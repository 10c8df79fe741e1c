"""Writes to a PostgreSQL that stands still: given up in time, or when someone interrupts; afterwards all goes on."""

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
def engine(own: PostgresServer, own_address: Dsn) -> Iterator[Engine]:
    with opened(own_address, None) as engine:
        assert ask(engine) == 1
        yield engine
        own.resume()
        write_deadline.set(math.inf)
        assert ask(engine) == 1


def ask(engine: Engine) -> object:
    with engine.begin() as connection:
        return connection.exec_driver_sql("SELECT 1").scalar()


def test_a_connection_that_was_idle_is_given_up(own: PostgresServer, engine: Engine) -> None:
    own.pause()
    write_deadline.set(time.monotonic() + 0.3)
    with pytest.raises(OperationalError, match="no response from the database in time"):
        ask(engine)


def test_a_change_that_is_under_way_is_given_up(own: PostgresServer, engine: Engine) -> None:
    def change() -> None:
        with engine.begin() as connection:
            connection.exec_driver_sql("CREATE TABLE left_over (id int)")
            own.pause()
            write_deadline.set(time.monotonic() + 0.3)
            connection.exec_driver_sql("SELECT 1")

    with pytest.raises(OperationalError, match="no response from the database in time"):
        change()
    own.resume()
    write_deadline.set(math.inf)
    with engine.begin() as connection:
        assert connection.exec_driver_sql("SELECT to_regclass('left_over')").scalar() is None


def test_all_of_a_change_has_one_deadline(engine: Engine) -> None:
    def change() -> None:
        with engine.begin() as connection:
            for _ in range(100):
                connection.exec_driver_sql("SELECT pg_sleep(0.1)")

    write_deadline.set(time.monotonic() + 1)
    with pytest.raises(OperationalError, match="no response from the database in time"):
        change()


def test_who_has_no_time_left_does_not_even_connect(own: PostgresServer, own_address: Dsn) -> None:
    write_deadline.set(time.monotonic())
    try:
        with opened(own_address, None) as fresh, pytest.raises(OperationalError, match="in time"):
            ask(fresh)
    finally:
        write_deadline.set(math.inf)


def test_a_connection_that_is_being_made_is_given_up_whatever_its_hosts_may_take(own: PostgresServer) -> None:
    address = Dsn(own.address("postgres", own.port, own.port))
    own.pause()
    write_deadline.set(time.monotonic() + 0.3)
    try:
        with (
            opened(address, None) as fresh,
            pytest.raises(OperationalError, match="no response from the database in time"),
        ):
            ask(fresh)
    finally:
        write_deadline.set(math.inf)
        own.resume()


def test_connecting_has_a_deadline_whoever_waits(own: PostgresServer, own_address: Dsn) -> None:
    own.pause()
    try:
        with opened(own_address, None) as fresh, pytest.raises(OperationalError, match="timeout expired"):
            ask(fresh)
    finally:
        own.resume()


def test_an_interruption_is_heard(own: PostgresServer, engine: Engine) -> None:
    own.pause()
    interruption = Timer(0.5, signal.raise_signal, [signal.SIGINT])
    interruption.start()
    with pytest.raises(KeyboardInterrupt):
        ask(engine)
    interruption.join()
