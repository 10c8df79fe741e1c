"""Connections of a store after its change lease detects another server or restored tables."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from sqlalchemy import Connection, Engine

from cloudconsole.server.config.settings import Settings
from cloudconsole.store.postgres.dsn import Dsn
from cloudconsole.store.postgres.reader import PostgresReader
from tests.scale.postgres.manual_lease import REPLACE_CHANGE_LOG, TIMEOUT, execute

BACKEND_PID = "SELECT pg_backend_pid()"


@asynccontextmanager
async def started_reader(address: Dsn) -> AsyncIterator[PostgresReader]:
    """A reader whose change lease has started."""
    async with reader_and_engine(address) as (reader, _):
        yield reader


@asynccontextmanager
async def reader_and_engine(address: Dsn) -> AsyncIterator[tuple[PostgresReader, Engine]]:
    """A started reader and an engine, both from the settings, as in a console."""
    settings = Settings(database=address.given)
    reader, engine = settings.store.reader(), settings.store.open_engine("activity")
    assert isinstance(reader, PostgresReader)
    try:
        await reader.changes.poll()
        yield reader, engine
    finally:
        await reader.leave()
        engine.dispose()


def writer_pid(engine: Engine) -> object:
    with engine.begin() as connection:
        return backend_pid(connection)


def backend_pid(connection: Connection) -> object:
    return connection.exec_driver_sql(BACKEND_PID).scalar()


async def simulate_server_change(reader: PostgresReader, address: Dsn) -> None:
    """Replace the change log, and wait until the lease has detected it."""
    before = reader.changes.latest
    execute(address, *REPLACE_CHANGE_LOG)
    async with asyncio.timeout(TIMEOUT):
        while reader.changes.latest == before:  # noqa: ASYNC110 - there is no event for it
            await asyncio.sleep(0.02)


def test_idle_connection_to_the_former_server_is_not_reused(address: Dsn) -> None:
    async def read() -> list[object]:
        async with started_reader(address) as reader:
            pids = [await reader.one(BACKEND_PID), await reader.one(BACKEND_PID)]
            await simulate_server_change(reader, address)
            return [*pids, await reader.one(BACKEND_PID), await reader.one(BACKEND_PID)]

    first, again, second, second_again = asyncio.run(read())
    assert (first, second) == (again, second_again)
    assert first != second


def test_borrowed_connection_to_the_former_server_is_not_reused(address: Dsn) -> None:
    async def read() -> list[object]:
        async with started_reader(address) as reader:
            async with reader.snapshot() as snapshot:
                first = await snapshot.one(BACKEND_PID)
                await simulate_server_change(reader, address)
                assert await snapshot.one(BACKEND_PID) == first
            return [first, await reader.one(BACKEND_PID)]

    first, second = asyncio.run(read())
    assert first != second


def test_no_write_begins_on_the_former_server(address: Dsn) -> None:
    async def write() -> list[object]:
        async with reader_and_engine(address) as (reader, engine):
            pids = [writer_pid(engine), writer_pid(engine)]
            await simulate_server_change(reader, address)
            return [*pids, writer_pid(engine), writer_pid(engine)]

    first, again, second, second_again = asyncio.run(write())
    assert (first, second) == (again, second_again)
    assert first != second


def test_write_in_progress_finishes_on_the_former_server(address: Dsn) -> None:
    async def write() -> list[object]:
        async with reader_and_engine(address) as (reader, engine):
            with engine.begin() as connection:
                first = backend_pid(connection)
                connection.exec_driver_sql("CREATE TABLE begun AS SELECT pg_backend_pid() AS by")
                await simulate_server_change(reader, address)
                assert backend_pid(connection) == first
            with engine.begin() as connection:
                begun = connection.exec_driver_sql("SELECT by FROM begun").scalars().all()
                return [first, *begun, backend_pid(connection)]

    first, begun, second = asyncio.run(write())
    assert begun == first
    assert second != first


def test_shared_stamp_differs_between_histories(address: Dsn) -> None:
    async def stamp(reader: PostgresReader) -> object:
        async with reader.snapshot() as snapshot:
            return await snapshot.shared_stamp()

    async def read() -> list[object]:
        async with started_reader(address) as reader:
            before = [await stamp(reader), await stamp(reader)]
            execute(address, *REPLACE_CHANGE_LOG)
            return [*before, await stamp(reader)]

    before, same, later = asyncio.run(read())
    assert before == same
    assert later != before
