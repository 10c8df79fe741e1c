"""The embedded store: creation, reads and writes."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from cloudconsole.spec.errors import Unavailable
from cloudconsole.store.base import DATABASE_NAMES, DatabaseName, Store, StoreError, run_with_reader
from cloudconsole.store.health import unexpected_revisions
from cloudconsole.store.sqlite.store import SqliteStore
from cloudconsole.store.tables import nodes

pytestmark = pytest.mark.embedded_only


async def is_current(store: Store) -> bool:
    async with run_with_reader(store) as reader:
        return await unexpected_revisions(reader) == []


def test_store_is_named_by_its_directory_and_has_no_replicas(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "data")
    assert (str(store), store.replication_wait_seconds) == (f"the store in {tmp_path}/data", 0)


@pytest.mark.parametrize("create", [SqliteStore.migrate, SqliteStore.prepare])
def test_missing_store_is_created(tmp_path: Path, create: Callable[[SqliteStore], None]) -> None:
    store = SqliteStore(tmp_path / "data")
    assert not store.exists()
    create(store)
    assert store.exists()
    assert asyncio.run(is_current(store))


@pytest.mark.parametrize("part", DATABASE_NAMES)
def test_missing_database_is_not_current(tmp_path: Path, part: DatabaseName) -> None:
    store = SqliteStore(tmp_path)
    with pytest.raises(StoreError):
        store.require_current(part)
    store.migrate()
    store.require_current(part)


def test_written_rows_are_read_until_the_reader_is_closed(folder: Path) -> None:
    store = SqliteStore(folder)
    with store.opened("cloud") as engine, engine.begin() as connection:
        connection.execute(nodes.insert().values(name="north"))

    async def names() -> None:
        async with run_with_reader(store) as reader:
            assert await reader.all("SELECT name FROM nodes") == [("north",)]
        with pytest.raises(Unavailable):
            await reader.all("SELECT name FROM nodes")

    asyncio.run(names())
