"""The store on PostgreSQL as a whole."""

from contextlib import AbstractContextManager
from typing import Final

import psycopg
from sqlalchemy import Engine
from sqlalchemy.exc import DBAPIError

from cloudconsole.core.compatibility import IncompatibleDependency, require_names
from cloudconsole.store.engine import PARTS, Part, StoreError
from cloudconsole.store.migrations import current_revision, is_usable, migrate
from cloudconsole.store.postgres.address import DatabaseAddress
from cloudconsole.store.postgres.connections import Held
from cloudconsole.store.postgres.engine import MIGRATION_LOCK, open_engine, opened, take_lock
from cloudconsole.store.postgres.patience import BoundedConnection, Servers
from cloudconsole.store.postgres.reader import PostgresReader
from cloudconsole.store.postgres.watching import SETTLE_SECONDS

PSYCOPG_VERSIONS: Final = ">=3.3,<3.4"
"""As pyproject.toml has it."""


class PostgresStore:
    settle_seconds: Final = SETTLE_SECONDS

    def __init__(self, address: DatabaseAddress) -> None:
        _require_psycopg()
        self.address = address
        self._servers = Servers()

    def __str__(self) -> str:
        return str(self.address)

    @property
    def place(self) -> str:
        return str(self)

    def open_engine(self, part: Part) -> Engine:
        """It follows to another server as soon as a reader of this store's finds one."""
        return open_engine(self.address, part, self._servers)

    def opened(self, part: Part) -> AbstractContextManager[Engine]:
        return opened(self.address, part)

    def reader(self) -> PostgresReader:
        return PostgresReader(self.address, self._servers)

    def is_there(self) -> bool:
        return self._revision() is not None

    def migrate(self, actor: str | None = None) -> None:
        try:
            with opened(self.address, None) as engine, engine.begin() as guard:
                # Several may be started at once: the others wait here, however long it takes, and find it done.
                guard.exec_driver_sql("SET LOCAL lock_timeout = 0")
                guard.exec_driver_sql("SET LOCAL idle_in_transaction_session_timeout = 0")
                take_lock(guard, MIGRATION_LOCK)
                migrate(engine, set(PARTS), actor=actor)
        except DBAPIError as problem:
            raise self._unusable(problem) from problem

    def prepare(self, actor: str | None = None) -> None:  # noqa: ARG002 - it migrates nothing
        """Never migrated on the way: other replicas may serve it, of an older version, too."""
        self.require_current("cloud")

    def require_current(self, part: Part) -> None:  # noqa: ARG002 - both are of one revision
        try:
            with opened(self.address, None) as engine:
                if is_usable(engine):
                    return
        except DBAPIError as problem:
            raise self._unusable(problem) from problem
        raise StoreError(
            f"{self} has no tables of this Cloud Console, or older ones: take a backup where it is in use, "
            "then run cloudconsole admin migrate"
        )

    def _revision(self) -> str | None:
        try:
            with opened(self.address, None) as engine:
                return current_revision(engine)
        except DBAPIError as problem:
            raise self._unusable(problem) from problem

    def _unusable(self, problem: DBAPIError) -> StoreError:
        return StoreError(f"{self} cannot be used: {' '.join(str(problem.orig).split())}")


def _require_psycopg() -> None:
    """Without `_connect_gen`, which psycopg does not promise, connecting would have no deadline."""
    used = {psycopg.Connection: ("pgconn", "info", "cancel_safe"), psycopg.AsyncConnection: ("pgconn",)}
    try:
        require_names("psycopg", PSYCOPG_VERSIONS, (BoundedConnection, Held), used)
    except IncompatibleDependency as problem:
        raise StoreError(str(problem)) from problem
