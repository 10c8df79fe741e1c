"""What a store does once its reader's watch finds another server than before, or tables that were put back."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from sqlalchemy import Connection, Engine

from cloudconsole.server.config.settings import Settings
from cloudconsole.store.postgres.dsn import Dsn
from cloudconsole.store.postgres.reader import PostgresReader
from tests.scale.postgres.watching import ANOTHER_TABLE, PATIENCE, execute

WHO = "SELECT pg_backend_pid()"


@asynccontextmanager
async def reading(address: Dsn) -> AsyncIterator[PostgresReader]:
    """With a reader whose watch has begun."""
    async with reading_and_writing(address) as (reader, _):
        yield reader


@asynccontextmanager
async def reading_and_writing(address: Dsn) -> AsyncIterator[tuple[PostgresReader, Engine]]:
    """The same, and an engine, each from the settings: so do the parts of a console get theirs."""
    settings = Settings(database=address.given)
    reader, engine = settings.store.reader(), settings.store.open_engine("activity")
    assert isinstance(reader, PostgresReader)
    try:
        await reader.changes.poll()
        yield reader, engine
    finally:
        await reader.leave()
        engine.dispose()


def writer(engine: Engine) -> object:
    with engine.begin() as connection:
        return who(connection)


def who(connection: Connection) -> object:
    return connection.exec_driver_sql(WHO).scalar()


async def found_another(reader: PostgresReader, address: Dsn) -> None:
    """Until the watch has seen what looks like another server."""
    before = reader.changes.latest
    execute(address, *ANOTHER_TABLE)
    async with asyncio.timeout(PATIENCE):
        while reader.changes.latest == before:  # noqa: ASYNC110 - there is nothing that tells
            await asyncio.sleep(0.02)


def test_an_idle_connection_to_the_former_is_not_used_again(address: Dsn) -> None:
    async def read() -> list[object]:
        async with reading(address) as reader:
            users = [await reader.one(WHO), await reader.one(WHO)]
            await found_another(reader, address)
            return [*users, await reader.one(WHO), await reader.one(WHO)]

    first, again, second, second_again = asyncio.run(read())
    assert (first, second) == (again, second_again)
    assert first != second


def test_nor_is_one_that_was_taken_meanwhile(address: Dsn) -> None:
    async def read() -> list[object]:
        async with reading(address) as reader:
            async with reader.snapshot() as moment:
                first = await moment.one(WHO)
                await found_another(reader, address)
                assert await moment.one(WHO) == first
            return [first, await reader.one(WHO)]

    first, second = asyncio.run(read())
    assert first != second


def test_nor_does_a_write_begin_on_one(address: Dsn) -> None:
    async def write() -> list[object]:
        async with reading_and_writing(address) as (reader, engine):
            writers = [writer(engine), writer(engine)]
            await found_another(reader, address)
            return [*writers, writer(engine), writer(engine)]

    first, again, second, second_again = asyncio.run(write())
    assert (first, second) == (again, second_again)
    assert first != second


def test_a_write_that_was_begun_on_one_is_ended_there(address: Dsn) -> None:
    async def write() -> list[object]:
        async with reading_and_writing(address) as (reader, engine):
            with engine.begin() as connection:
                first = who(connection)
                connection.exec_driver_sql("CREATE TABLE begun AS SELECT pg_backend_pid() AS by")
                await found_another(reader, address)
                assert who(connection) == first
            with engine.begin() as connection:
                begun = connection.exec_driver_sql("SELECT by FROM begun").scalars().all()
                return [first, *begun, who(connection)]

    first, begun, second = asyncio.run(write())
    assert begun == first
    assert second != first


def test_the_stamp_of_what_is_shared_is_never_that_of_another_history(address: Dsn) -> None:
    async def stamp(reader: PostgresReader) -> object:
        async with reader.snapshot() as moment:
            return await moment.shared_stamp()

    async def read() -> list[object]:
        async with reading(address) as reader:
            before = [await stamp(reader), await stamp(reader)]
            execute(address, *ANOTHER_TABLE)
            return [*before, await stamp(reader)]

    before, same, later = asyncio.run(read())
    assert before == same
    assert later != before
