"""The stores of the tests: each is a folder, in which the embedded store is, or the address of its PostgreSQL database.

Suites are written once: with `--store=postgresql` the same tests make, copy and open databases of a real server.
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

import pytest
from sqlalchemy import Connection, Engine

from cloudconsole.server.config.settings import Settings
from cloudconsole.store.base import DatabaseName, Reader, Store

if TYPE_CHECKING:
    from tests.databases import Databases

Kind = Literal["embedded", "postgresql"]
Result = TypeVar("Result")

DATABASE_VARIABLE: Final = "CLOUDCONSOLE_DATABASE"
HASTE: Final = 10
"""How many times as quick the watch over changes is within the tests: all its times alike, so that it holds as ever."""

_ADDRESS_FILE: Final = "database"
_taken: dict[Path, str] = {}
"""Databases by the folders of their stores."""
_kind: Kind = "embedded"


def use(kind: Kind) -> None:
    """Let all stores be of this kind; before the first is made."""
    global _kind
    _kind = kind
    if kind == "postgresql":
        _hasten_the_watch()


def make_store(folder: Path) -> Path:
    """A store with nothing in it."""
    if _kind == "postgresql":
        return _take_database(folder, databases().with_tables)
    Settings(data=folder).store.migrate()
    return folder


def copy_store(source: Path, target: Path) -> Path:
    """A store of one's own with what another has in it, to which nobody may be connected."""
    copytree(source, target)
    return target if database_of(source) is None else _take_database(target, _taken[source])


def settings_over(folder: Path, **more: Any) -> Settings:
    """Settings of a console over this store."""
    return Settings(data=folder, database=database_of(folder), **more)


def store_in(folder: Path) -> Store:
    return settings_over(folder).store


def open_engine(folder: Path, part: DatabaseName) -> Engine:
    return store_in(folder).open_engine(part)


def opened(folder: Path, part: DatabaseName) -> AbstractContextManager[Engine]:
    return store_in(folder).opened(part)


@contextmanager
def reading(folder: Path) -> Iterator[Reader]:
    """A reader, to be used by `run`."""
    reader = store_in(folder).reader()
    try:
        yield reader
    finally:
        run(reader.leave())
        reader.close()


def run(work: Coroutine[Any, Any, Result]) -> Result:
    """The work's result; on one event loop for all, since the connections of a reader hang on theirs."""
    return _runner().run(work)


@contextmanager
def changing(folder: Path, part: DatabaseName) -> Iterator[Connection]:
    """A transaction beside the console, over only when no console answers any more as it did before."""
    with opened(folder, part) as engine, engine.begin() as connection:
        yield connection
    settle(folder)


def forbid(connection: Connection, event: str, words: str) -> None:
    """Let an event such as `INSERT ON tenants` fail from now on, as a full disk does."""
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql(
            f"CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION '{words}'; END $$"
        )
        connection.exec_driver_sql(f"CREATE TRIGGER fail BEFORE {event} EXECUTE FUNCTION fail()")
    else:
        connection.exec_driver_sql(f"CREATE TRIGGER fail BEFORE {event} BEGIN SELECT RAISE(ABORT, '{words}'); END")


def settle(folder: Path) -> None:
    """Wait as everyone does who has changed something."""
    time.sleep(store_in(folder).replication_wait_seconds)


def point_to(folder: Path, address: str) -> None:
    """Let the store of a folder be this database."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / _ADDRESS_FILE).write_text(address)


def database_of(folder: Path) -> str | None:
    """The address of the store's database; None where it is an embedded one."""
    file = folder / _ADDRESS_FILE
    return file.read_text() if file.exists() else None


def variables_of(folder: Path) -> dict[str, str]:
    """What a command has to be told beside the folder, in its environment."""
    address = database_of(folder)
    return {} if address is None else {DATABASE_VARIABLE: address}


def flags_of(folder: Path) -> tuple[str, ...]:
    """The same as flags; the password in a file, since everyone would see it among them."""
    address = database_of(folder)
    if address is None:
        return ()
    who, _, place = address.partition("@")
    user, _, password = who.rpartition(":")
    file = folder / "database-password"
    file.write_text(password)
    return ("--database", f"{user}@{place}", "--database-password-file", str(file))


def give_back_databases(within: Path) -> None:
    """Those of the stores within a folder, which nobody uses any more."""
    for folder in [folder for folder in _taken if folder.is_relative_to(within)]:
        databases().give_back(_taken.pop(folder))


@cache
def _runner() -> asyncio.Runner:
    runner = asyncio.Runner()
    atexit.register(runner.close)
    return runner


@cache
def databases() -> "Databases":
    """Of a PostgreSQL that each process of the tests has to itself, until it ends."""
    # Only now: without --store=postgresql nothing of it need be installed.
    from cluster.postgres import PostgresServer

    from tests.databases import Databases

    made = Databases(PostgresServer(durable=False).start())
    atexit.register(made.close)
    return made


def _take_database(folder: Path, template: str) -> Path:
    _taken[folder] = databases().take(template)
    point_to(folder, databases().address(_taken[folder]))
    return folder


def _hasten_the_watch() -> None:
    from cloudconsole.store.postgres import change_poller
    from cloudconsole.store.postgres.store import PostgresStore

    patch = pytest.MonkeyPatch()
    for holder, name in (
        (change_poller, "POLL_INTERVAL_SECONDS"),
        (change_poller, "LEASE_SECONDS"),
        (change_poller, "REPLICATION_WAIT_SECONDS"),
        (PostgresStore, "replication_wait_seconds"),
    ):
        patch.setattr(holder, name, getattr(holder, name) / HASTE)
