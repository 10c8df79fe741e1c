"""Stores of the tests: each is a directory with an embedded store, or with the address of its PostgreSQL database.

The same tests run on both: with `--store=postgresql` they create, copy and open databases of a real server.
"""

import asyncio
import atexit
import time
from collections.abc import Coroutine, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import cache
from pathlib import Path
from shutil import copytree
from typing import TYPE_CHECKING, Any, Final, Literal, TypeVar
from unittest.mock import patch

import pytest
from sqlalchemy import Connection, Engine

from cloudconsole.server.config.settings import Settings
from cloudconsole.store.base import DatabaseName, Reader, Store
from cloudconsole.store.postgres import pool

if TYPE_CHECKING:
    from tests.databases import Databases

Kind = Literal["embedded", "postgresql"]
Result = TypeVar("Result")

DATABASE_VARIABLE: Final = "CLOUDCONSOLE_DATABASE"
SPEEDUP: Final = 10
"""Factor by which polling for changes is faster in tests; all its intervals are scaled alike."""

_ADDRESS_FILE: Final = "database"
_databases_in_use: dict[Path, str] = {}
"""Databases by the directory of their store."""
_kind: Kind = "embedded"


def select_store_kind(kind: Kind) -> None:
    """Set the kind of all stores; call it before the first is created."""
    global _kind
    _kind = kind
    if kind == "postgresql":
        _speed_up_polling()


def make_store(folder: Path) -> Path:
    """Create an empty store."""
    if _kind == "postgresql":
        return _acquire_database(folder, databases().migrated_template)
    Settings(data=folder).store.migrate()
    return folder


def copy_store(source: Path, target: Path) -> Path:
    """Copy a store, which must not have open connections."""
    copytree(source, target)
    return target if database_of(source) is None else _acquire_database(target, _databases_in_use[source])


def settings_for(folder: Path, **more: Any) -> Settings:
    """Return the settings of a console that uses this store."""
    return Settings(data=folder, database=database_of(folder), **more)


def store_in(folder: Path) -> Store:
    return settings_for(folder).store


def open_engine(folder: Path, part: DatabaseName) -> Engine:
    return store_in(folder).open_engine(part)


def opened(folder: Path, part: DatabaseName) -> AbstractContextManager[Engine]:
    return store_in(folder).opened(part)


@contextmanager
def open_reader(folder: Path) -> Iterator[Reader]:
    """A reader of the store, without the deadline of requests; await its methods with `run`."""
    reader = store_in(folder).reader()
    try:
        with patch.object(pool, "READ_SECONDS", 600):
            yield reader
    finally:
        run(reader.leave())
        reader.close()


def run(work: Coroutine[Any, Any, Result]) -> Result:
    """Run a coroutine on the shared event loop, to which the connections of a reader are bound."""
    return _runner().run(work)


@contextmanager
def write_transaction(folder: Path, part: DatabaseName) -> Iterator[Connection]:
    """A transaction outside the console; returns only when no console serves the old data any more."""
    with opened(folder, part) as engine, engine.begin() as connection:
        yield connection
    wait_for_replicas(folder)


def make_fail(connection: Connection, event: str, words: str) -> None:
    """Make an event such as `INSERT ON tenants` fail from now on, as with a full disk."""
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql(
            f"CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION '{words}'; END $$"
        )
        connection.exec_driver_sql(f"CREATE TRIGGER fail BEFORE {event} EXECUTE FUNCTION fail()")
    else:
        connection.exec_driver_sql(f"CREATE TRIGGER fail BEFORE {event} BEGIN SELECT RAISE(ABORT, '{words}'); END")


def wait_for_replicas(folder: Path) -> None:
    """Wait until all replicas have seen a change (replication wait)."""
    time.sleep(store_in(folder).replication_wait_seconds)


def set_database(folder: Path, address: str) -> None:
    """Make this database the store of a directory."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / _ADDRESS_FILE).write_text(address)


def database_of(folder: Path) -> str | None:
    """Return the address of the store's database; None if it is embedded."""
    file = folder / _ADDRESS_FILE
    return file.read_text() if file.exists() else None


def database_environment(folder: Path) -> dict[str, str]:
    """Return the environment variables that a command needs in addition to the directory."""
    address = database_of(folder)
    return {} if address is None else {DATABASE_VARIABLE: address}


def database_flags(folder: Path) -> tuple[str, ...]:
    """Return the equivalent flags; the password goes to a file, since flags are visible to other users."""
    address = database_of(folder)
    if address is None:
        return ()
    credentials, _, location = address.partition("@")
    user, _, password = credentials.rpartition(":")
    file = folder / "database-password"
    file.write_text(password)
    return ("--database", f"{user}@{location}", "--database-password-file", str(file))


def release_databases(within: Path) -> None:
    """Return the databases of all stores in a directory to the pool."""
    for folder in [folder for folder in _databases_in_use if folder.is_relative_to(within)]:
        databases().release(_databases_in_use.pop(folder))


@cache
def _runner() -> asyncio.Runner:
    runner = asyncio.Runner()
    atexit.register(runner.close)
    return runner


@cache
def databases() -> "Databases":
    """Return the databases of a PostgreSQL server that belongs to this test process."""
    # Imported here: not installed unless --store=postgresql is used.
    from cluster.postgres import PostgresServer

    from tests.databases import Databases

    created = Databases(PostgresServer(durable=False).start())
    atexit.register(created.close)
    return created


def _acquire_database(folder: Path, template: str) -> Path:
    _databases_in_use[folder] = databases().acquire(template)
    set_database(folder, databases().address(_databases_in_use[folder]))
    return folder


def _speed_up_polling() -> None:
    from cloudconsole.store.postgres import change_poller
    from cloudconsole.store.postgres.store import PostgresStore

    patch = pytest.MonkeyPatch()
    for holder, name in (
        (change_poller, "POLL_INTERVAL_SECONDS"),
        (change_poller, "LEASE_SECONDS"),
        (change_poller, "REPLICATION_WAIT_SECONDS"),
        (PostgresStore, "replication_wait_seconds"),
    ):
        patch.setattr(holder, name, getattr(holder, name) / SPEEDUP)
