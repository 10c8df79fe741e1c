"""Engines for writes, and for reads that take their time; both parts of the store are in the one database."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from sqlalchemy import Connection, Engine, create_engine, event

from cloudconsole.store.engine import Part
from cloudconsole.store.postgres.address import DatabaseAddress
from cloudconsole.store.postgres.patience import Servers, connect

CLOUD_LOCK: Final = 1
"""Held by every transaction that changes the cloud: what it has looked at before it writes, nobody else changes."""
MIGRATION_LOCK: Final = 2

_ONE_MOMENT: Final = "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY"


def open_engine(address: DatabaseAddress, part: Part | None, servers: Servers) -> Engine:
    """An engine for one part, or for the whole, without any lock of ours."""
    engine = create_engine(
        "postgresql+psycopg://",
        creator=lambda: connect(address, servers),
        # An error's text may go to a log, what was being written may not.
        hide_parameters=True,
        pool_size=2,
        # The database may have been restarted since, or another may have taken over.
        pool_pre_ping=True,
    )

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        if connection.get_execution_options().get("reads_only"):
            connection.exec_driver_sql(_ONE_MOMENT)
        elif part == "cloud":
            take_lock(connection, CLOUD_LOCK)

    return engine


@contextmanager
def opened(address: DatabaseAddress, part: Part | None) -> Iterator[Engine]:
    engine = open_engine(address, part, Servers())
    try:
        yield engine
    finally:
        engine.dispose()


def take_lock(connection: Connection, lock: int) -> None:
    """Held until the transaction ends, over all replicas."""
    connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({lock})")
