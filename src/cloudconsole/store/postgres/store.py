"""`PostgresStore`: engines and the cloud and migration locks."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Final

import psycopg
from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.exc import DBAPIError

from cloudconsole.core.private_api_check import IncompatibleDependency, require_names
from cloudconsole.store.base import DATABASE_NAMES, DatabaseName, StoreError
from cloudconsole.store.migrations import current_revision, is_usable, migrate
from cloudconsole.store.postgres.change_poller import REPLICATION_WAIT_SECONDS
from cloudconsole.store.postgres.connection import BoundedConnection, Servers, connect
from cloudconsole.store.postgres.dsn import Dsn
from cloudconsole.store.postgres.pool import ReadConnection
from cloudconsole.store.postgres.reader import PostgresReader

CLOUD_LOCK: Final = 1
"""Held by every transaction that changes the cloud, so that nothing it has read changes before it writes."""
MIGRATION_LOCK: Final = 2

_SNAPSHOT: Final = "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY"


def open_engine(address: Dsn, part: DatabaseName | None, servers: Servers) -> Engine:
    """Return an engine for one part, or, with None, for both without the cloud lock."""
    engine = create_engine(
        "postgresql+psycopg://",
        creator=lambda: connect(address, servers),
        # Error messages may be logged, data may not.
        hide_parameters=True,
        pool_size=2,
        # The database may have restarted or failed over.
        pool_pre_ping=True,
    )

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        if connection.get_execution_options().get("reads_only"):
            connection.exec_driver_sql(_SNAPSHOT)
        elif part == "cloud":
            take_lock(connection, CLOUD_LOCK)

    return engine


@contextmanager
def opened(address: Dsn, part: DatabaseName | None) -> Iterator[Engine]:
    engine = open_engine(address, part, Servers())
    try:
        yield engine
    finally:
        engine.dispose()


def take_lock(connection: Connection, lock: int) -> None:
    """Take a lock across all replicas until the transaction ends."""
    connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({lock})")


PSYCOPG_VERSIONS: Final = ">=3.3,<3.4"
"""Must match pyproject.toml."""


class PostgresStore:
    replication_wait_seconds: Final = REPLICATION_WAIT_SECONDS

    def __init__(self, address: Dsn) -> None:
        _require_psycopg()
        self.address = address
        self._servers = Servers()

    def __str__(self) -> str:
        return str(self.address)

    @property
    def chinese(self) -> str:
        return self.address.chinese

    @property
    def location(self) -> str:
        return str(self)

    def open_engine(self, part: DatabaseName) -> Engine:
        """Return an engine that follows a failover detected by a reader of this store."""
        return open_engine(self.address, part, self._servers)

    def opened(self, part: DatabaseName) -> AbstractContextManager[Engine]:
        return opened(self.address, part)

    def reader(self) -> PostgresReader:
        return PostgresReader(self.address, self._servers)

    def exists(self) -> bool:
        return self._revision() is not None

    def migrate(self, actor: str | None = None) -> None:
        try:
            with opened(self.address, None) as engine, engine.begin() as guard:
                # Concurrent migrations wait here without a limit and then find nothing to do.
                guard.exec_driver_sql("SET LOCAL lock_timeout = 0")
                guard.exec_driver_sql("SET LOCAL idle_in_transaction_session_timeout = 0")
                take_lock(guard, MIGRATION_LOCK)
                migrate(engine, set(DATABASE_NAMES), actor=actor)
        except DBAPIError as problem:
            raise self._unusable(problem) from problem

    def prepare(self, actor: str | None = None) -> None:  # noqa: ARG002 - it migrates nothing
        """Never migrate: replicas of an older version may be serving the database."""
        self.require_current("cloud")

    def require_current(self, part: DatabaseName) -> None:  # noqa: ARG002 - both are of one revision
        try:
            with opened(self.address, None) as engine:
                if is_usable(engine):
                    return
        except DBAPIError as problem:
            raise self._unusable(problem) from problem
        raise StoreError(
            f"{self} has no tables of this Cloud Console version: take a backup if it is in use, "
            "then run cloudconsole admin migrate",
            f"{self.chinese} 中没有此版本 Cloud Console 的数据表：若正在使用请先备份，"
            "然后执行 cloudconsole admin migrate",
        )

    def _revision(self) -> str | None:
        try:
            with opened(self.address, None) as engine:
                return current_revision(engine)
        except DBAPIError as problem:
            raise self._unusable(problem) from problem

    def _unusable(self, problem: DBAPIError) -> StoreError:
        return StoreError(
            f"{self} cannot be used: {' '.join(str(problem.orig).split())}",
            f"{self.chinese} 无法使用：{' '.join(str(problem.orig).split())}",
        )


def _require_psycopg() -> None:
    """Check for the private psycopg API that deadlines depend on, such as `_connect_gen`."""
    used = {psycopg.Connection: ("pgconn", "info", "cancel_safe"), psycopg.AsyncConnection: ("pgconn",)}
    try:
        require_names("psycopg", PSYCOPG_VERSIONS, (BoundedConnection, ReadConnection), used)
    except IncompatibleDependency as problem:
        raise StoreError(str(problem)) from problem
