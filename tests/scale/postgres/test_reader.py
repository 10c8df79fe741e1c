"""The reader on a real PostgreSQL: snapshots, restarts, deadlines, limits, and another server or restored tables."""

import asyncio
import gc
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from cluster.postgres import PostgresServer
from sqlalchemy import Connection, Engine

from cloudconsole.server.config.settings import Settings
from cloudconsole.server.http.health import HealthEndpoint
from cloudconsole.server.http.request import Headers, Request
from cloudconsole.spec.errors import Unavailable
from cloudconsole.store.base import Reader, run_with_reader
from cloudconsole.store.postgres import pool
from cloudconsole.store.postgres.dsn import Dsn
from cloudconsole.store.postgres.pool import ConnectionPool
from cloudconsole.store.postgres.reader import PostgresReader
from cloudconsole.store.postgres.store import PostgresStore
from tests.harness import async_test
from tests.scale.postgres.manual_lease import REPLACE_CHANGE_LOG, TIMEOUT, execute, unavailable, wait_until

ADD = "INSERT INTO nodes (name) VALUES ('north')"
NAMES = "SELECT name FROM nodes"
BACKEND_PID = "SELECT pg_backend_pid()"
SLEEPING = "SELECT pid FROM pg_stat_activity WHERE state = 'active' AND query LIKE '%pg_sleep(1000)' "


def open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


@async_test
async def test_snapshot_reads_are_consistent(address: Dsn) -> None:
    async with run_with_reader(PostgresStore(address)) as reader:
        async with reader.snapshot() as snapshot:
            assert await snapshot.all(NAMES) == []
            stamp = await snapshot.shared_stamp()
            execute(address, ADD)
            assert (await snapshot.all(NAMES), await snapshot.shared_stamp()) == ([], stamp)
        async with reader.snapshot() as snapshot:
            assert await snapshot.all(NAMES) == [("north",)]
            assert await snapshot.shared_stamp() != stamp


@async_test
async def test_lookup_of_a_nul_character_finds_nothing(address: Dsn) -> None:
    async with run_with_reader(PostgresStore(address)) as reader:
        assert await reader.one("SELECT id FROM nodes WHERE name = :name", {"name": "a\0b"}) is None
        assert await reader.all(f"{NAMES} WHERE name = ?", ("\0",)) == []


@async_test
async def test_connection_is_not_reused_after_an_error(address: Dsn) -> None:
    async with run_with_reader(PostgresStore(address)) as reader:
        first = await reader.one(BACKEND_PID)
        assert await reader.one(BACKEND_PID) == first
        with pytest.raises(Unavailable):
            await reader.one("SELECT no_such_column FROM nodes")
        assert await reader.one(BACKEND_PID) != first


@async_test
async def test_concurrent_reads_and_waiters_are_bounded(address: Dsn, monkeypatch: pytest.MonkeyPatch) -> None:
    for limit in ("MAX_CONNECTIONS", "BURST", "MAX_WAITING_PER_SLOT"):
        monkeypatch.setattr(pool, limit, 1)
    async with run_with_reader(PostgresStore(address)) as reader:
        reads = (reader.one("SELECT 1") for _ in range(3))
        first, second, third = await asyncio.gather(*reads, return_exceptions=True)
    assert (first, third) == ((1,), (1,))
    assert isinstance(second, Unavailable)


# A stopped server


@async_test
async def test_reads_continue_after_a_restart(private_server: PostgresServer, private_address: Dsn) -> None:
    async with run_with_reader(PostgresStore(private_address)) as reader:
        assert await reader.one("SELECT 1") == (1,)
        await asyncio.to_thread(private_server.restart)
        assert await reader.one("SELECT 1") == (1,)


@pytest.mark.parametrize("fault", ["stop", "pause"])
@pytest.mark.parametrize("connected", [False, True])
@async_test
async def test_unresponsive_server_times_out_and_leaves_no_tasks(
    private_server: PostgresServer, private_address: Dsn, monkeypatch: pytest.MonkeyPatch, fault: str, connected: bool
) -> None:
    async with run_with_reader(PostgresStore(private_address)) as reader:
        if connected:
            await reader.one("SELECT 1")
        async with unavailable(private_server, fault):
            monkeypatch.setattr(pool, "READ_SECONDS", 0.5)
            with pytest.raises(Unavailable):
                await reader.one("SELECT 1")
        monkeypatch.setattr(pool, "READ_SECONDS", TIMEOUT)
        assert await reader.one("SELECT 1") == (1,)
    await wait_until(lambda: len(asyncio.all_tasks()) == 1)


@async_test
async def test_timed_out_statement_ends_on_the_server(
    private_server: PostgresServer, private_address: Dsn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pool, "READ_SECONDS", 0.2)
    monkeypatch.setattr(pool, "STATEMENT_SECONDS", 1)
    async with run_with_reader(PostgresStore(private_address)) as reader:
        with pytest.raises(Unavailable):
            await reader.one("SELECT pg_sleep(1000)")
    with private_server.connect(private_address.given.rpartition("/")[2]) as observer:
        await wait_until(lambda: observer.execute(SLEEPING).fetchall() == [])


@async_test
async def test_silent_server_leaves_no_open_connections(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "READ_SECONDS", 0.1)
    gc.disable()
    try:
        with socket.create_server(("127.0.0.1", 0)) as silent:
            address = Dsn(f"postgresql://console@127.0.0.1:{silent.getsockname()[1]}/cloud")
            async with run_with_reader(PostgresStore(address)) as reader:
                before = open_files()
                errors = await asyncio.gather(*(reader.one("SELECT 1") for _ in range(3)), return_exceptions=True)
                assert ({type(each) for each in errors}, open_files()) == ({Unavailable}, before)
    finally:
        gc.enable()


def test_worker_that_cannot_poll_is_not_ready(address: Dsn) -> None:
    async def check_ready() -> None:
        async with run_with_reader(PostgresStore(address)) as reader:
            await HealthEndpoint(reader, lambda: False).ready(Request(Headers([]), "GET", "/readyz"))

    asyncio.run(check_ready())
    execute(address, "ALTER TABLE signals RENAME TO elsewhere")
    with pytest.raises(Unavailable):
        asyncio.run(check_ready())


# Deadlines and untrusted lookups


@async_test
async def test_whole_snapshot_has_one_deadline(address: Dsn, monkeypatch: pytest.MonkeyPatch) -> None:
    async def read_repeatedly(reader: Reader) -> None:
        async with reader.snapshot() as snapshot:
            for _ in range(100):
                await snapshot.one("SELECT pg_sleep(0.1)")

    async with run_with_reader(PostgresStore(address)) as reader:
        await reader.one("SELECT 1")
        monkeypatch.setattr(pool, "READ_SECONDS", 1)
        with pytest.raises(Unavailable):
            await read_repeatedly(reader)


@async_test
async def test_waiting_for_a_connection_uses_up_the_deadline(address: Dsn, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "MAX_CONNECTIONS", 1)
    connections = ConnectionPool(address)

    async def deadline() -> float:
        async with connections.acquire() as connection:
            return connection.until

    async with connections.acquire():
        second = asyncio.create_task(deadline())
        # It starts to wait in the next iteration of the event loop.
        await asyncio.sleep(0)
        waiting_since = asyncio.get_running_loop().time()
    assert await second <= waiting_since + pool.READ_SECONDS
    await connections.close()


@async_test
async def test_untrusted_lookups_leave_connections_for_others(address: Dsn) -> None:
    """There are enough lookups to occupy all connections until their deadline."""
    async with run_with_reader(PostgresStore(address)) as reader:
        flood = [asyncio.create_task(reader.seek("SELECT pg_sleep(1000)")) for _ in range(50)]
        # For the lookups to occupy connections; a shorter wait never fails a correct reader.
        await asyncio.sleep(0.1)
        assert await reader.one("SELECT 1") == (1,)
        errors = await asyncio.gather(*flood, return_exceptions=True)
        assert {type(each) for each in errors} == {Unavailable}


# Another server, or restored tables


@asynccontextmanager
async def reader_and_engine(address: Dsn) -> AsyncIterator[tuple[PostgresReader, Engine]]:
    """A reader whose change lease has started and an engine, both from the settings, as in a console."""
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
    await wait_until(lambda: reader.changes.latest != before)


@async_test
async def test_idle_connections_to_the_former_server_are_not_reused(address: Dsn) -> None:
    async with reader_and_engine(address) as (reader, engine):
        reading, writing = await reader.one(BACKEND_PID), writer_pid(engine)
        assert (await reader.one(BACKEND_PID), writer_pid(engine)) == (reading, writing)
        await simulate_server_change(reader, address)
        later = await reader.one(BACKEND_PID), writer_pid(engine)
        assert later[0] != reading
        assert later[1] != writing
        assert (await reader.one(BACKEND_PID), writer_pid(engine)) == later


@async_test
async def test_borrowed_connection_to_the_former_server_is_not_reused(address: Dsn) -> None:
    async with reader_and_engine(address) as (reader, _):
        async with reader.snapshot() as snapshot:
            first = await snapshot.one(BACKEND_PID)
            await simulate_server_change(reader, address)
            assert await snapshot.one(BACKEND_PID) == first
        assert await reader.one(BACKEND_PID) != first


@async_test
async def test_write_in_progress_finishes_on_the_former_server(address: Dsn) -> None:
    async with reader_and_engine(address) as (reader, engine):
        with engine.begin() as connection:
            first = backend_pid(connection)
            connection.exec_driver_sql("CREATE TABLE begun AS SELECT pg_backend_pid() AS by")
            await simulate_server_change(reader, address)
            assert backend_pid(connection) == first
        with engine.begin() as connection:
            assert connection.exec_driver_sql("SELECT by FROM begun").scalars().all() == [first]
            assert backend_pid(connection) != first


@async_test
async def test_shared_stamp_differs_between_histories(address: Dsn) -> None:
    async with reader_and_engine(address) as (reader, _):

        async def stamp() -> object:
            async with reader.snapshot() as snapshot:
                return await snapshot.shared_stamp()

        before = await stamp()
        assert await stamp() == before
        execute(address, *REPLACE_CHANGE_LOG)
        assert await stamp() != before
