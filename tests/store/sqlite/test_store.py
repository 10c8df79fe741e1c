"""The embedded store as a whole: made where there is none, and read for as long as that is asked for."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest
from sqlalchemy import select

from cloudconsole.spec.errors import Unavailable
from cloudconsole.store.base import DATABASE_NAMES, DatabaseName, Store, StoreError, run_with_reader
from cloudconsole.store.health import unexpected_revisions
from cloudconsole.store.sqlite.store import SqliteStore
from cloudconsole.store.tables import nodes

pytestmark = pytest.mark.embedded_only


async def is_current(store: Store) -> bool:
    async with run_with_reader(store) as reader:
        return await unexpected_revisions(reader) == []


def test_it_is_called_by_its_folder(tmp_path: Path) -> None:
    assert str(SqliteStore(tmp_path / "data")) == f"the store in {tmp_path}/data"


def test_nobody_has_to_wait_before_saying_that_a_change_is_made(folder: Path) -> None:
    assert SqliteStore(folder).replication_wait_seconds == 0


@pytest.mark.parametrize("way", [SqliteStore.migrate, SqliteStore.prepare])
def test_it_is_made_where_there_is_none(tmp_path: Path, way: Callable[[SqliteStore], None]) -> None:
    store = SqliteStore(tmp_path / "data")
    assert not store.exists()
    way(store)
    assert store.exists()
    assert asyncio.run(is_current(store))


@pytest.mark.parametrize("part", DATABASE_NAMES)
def test_tables_that_are_not_ours_are_refused(tmp_path: Path, part: DatabaseName) -> None:
    store = SqliteStore(tmp_path)
    with pytest.raises(StoreError):
        store.require_current(part)
    store.migrate()
    store.require_current(part)


def test_what_is_written_to_it_is_read(folder: Path) -> None:
    store = SqliteStore(folder)
    with store.opened("cloud") as engine, engine.begin() as connection:
        connection.execute(nodes.insert().values(name="north"))

    async def names() -> list[tuple[str]]:
        async with run_with_reader(store) as reader:
            return await reader.all("SELECT name FROM nodes")

    assert asyncio.run(names()) == [("north",)]
    engine = store.open_engine("cloud")
    with engine.connect() as connection:
        assert list(connection.scalars(select(nodes.c.name))) == ["north"]
    engine.dispose()


def test_a_reader_is_closed_when_it_is_done_with(folder: Path) -> None:
    async def read_too_late() -> None:
        async with run_with_reader(SqliteStore(folder)) as reader:
            pass
        await reader.all("SELECT name FROM nodes")

    with pytest.raises(Unavailable):
        asyncio.run(read_too_late())
