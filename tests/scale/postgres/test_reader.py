"""The reader on a real PostgreSQL: snapshots, restarts, deadlines and limits."""

import asyncio
import gc
import socket
from collections.abc import Callable
from pathlib import Path
from unittest.mock import Mock

import pytest
from cluster.postgres import PostgresServer

from cloudconsole.server.http.health import HealthEndpoint
from cloudconsole.server.http.request import Headers, Request
from cloudconsole.spec.errors import Unavailable
from cloudconsole.store.base import RowTuple, run_with_reader
from cloudconsole.store.postgres import pool
from cloudconsole.store.postgres.dsn import Dsn
from cloudconsole.store.postgres.pool import ConnectionPool
from cloudconsole.store.postgres.store import PostgresStore
from tests.e2e.processes import eventually
from tests.scale.postgres.manual_lease import TIMEOUT, execute

ADD = "INSERT INTO nodes (name) VALUES ('north')"
NAMES = "SELECT name FROM nodes"
BACKEND_PID = "SELECT pg_backend_pid()"
SLEEPING = "SELECT pid FROM pg_stat_activity WHERE state = 'active' AND query LIKE '%pg_sleep(1000)' "


def open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def test_snapshot_reads_are_consistent(address: Dsn) -> None:
    async def read() -> list[object]:
        async with run_with_reader(PostgresStore(address)) as reader:
            async with reader.snapshot() as snapshot:
                before = [await snapshot.all(NAMES), await snapshot.shared_stamp()]
                execute(address, ADD)
                assert [await snapshot.all(NAMES), await snapshot.shared_stamp()] == before
            async with reader.snapshot() as snapshot:
                return [*before, await snapshot.all(NAMES), await snapshot.shared_stamp()]

    nothing, stamp, something, later = asyncio.run(read())
    assert (nothing, something) == ([], [("north",)])
    assert stamp != later


def test_lookup_of_a_nul_character_finds_nothing(address: Dsn) -> None:
    async def read() -> list[object]:
        async with run_with_reader(PostgresStore(address)) as reader:
            by_name = "SELECT id FROM nodes WHERE name = :name"
            return [await reader.one(by_name, {"name": "a\0b"}), await reader.all(f"{NAMES} WHERE name = ?", ("\0",))]

    assert asyncio.run(read()) == [None, []]


def test_connection_is_not_reused_after_an_error(address: Dsn) -> None:
    async def read() -> bool:
        async with run_with_reader(PostgresStore(address)) as reader:
            first = await reader.one(BACKEND_PID)
            assert await reader.one(BACKEND_PID) == first
            with pytest.raises(Unavailable):
                await reader.one("SELECT no_such_column FROM nodes")
            return await reader.one(BACKEND_PID) != first

    assert asyncio.run(read())


def test_concurrent_reads_and_waiters_are_bounded(address: Dsn, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "MAX_CONNECTIONS", 1)
    monkeypatch.setattr(pool, "BURST", 1)
    monkeypatch.setattr(pool, "MAX_WAITING_PER_SLOT", 1)

    async def read_concurrently() -> list[RowTuple | BaseException | None]:
        async with run_with_reader(PostgresStore(address)) as reader:
            return await asyncio.gather(*(reader.one("SELECT 1") for _ in range(3)), return_exceptions=True)

    first, second, third = asyncio.run(read_concurrently())
    assert (first, third) == ((1,), (1,))
    assert isinstance(second, Unavailable)


# A stopped server


def test_reads_continue_after_a_restart(private_server: PostgresServer, private_address: Dsn) -> None:
    async def read() -> list[object]:
        async with run_with_reader(PostgresStore(private_address)) as reader:
            before = await reader.one("SELECT 1")
            await asyncio.to_thread(private_server.restart)
            return [before, await reader.one("SELECT 1")]

    assert asyncio.run(read()) == [(1,), (1,)]


@pytest.mark.parametrize(
    ("away", "back"), [(PostgresServer.stop, PostgresServer.start), (PostgresServer.pause, PostgresServer.resume)]
)
@pytest.mark.parametrize("is_connected", [False, True])
def test_unresponsive_server_times_out_and_leaves_no_tasks(
    private_server: PostgresServer,
    private_address: Dsn,
    monkeypatch: pytest.MonkeyPatch,
    away: Callable[[PostgresServer], object],
    back: Callable[[PostgresServer], object],
    is_connected: bool,
) -> None:
    async def read() -> None:
        async with run_with_reader(PostgresStore(private_address)) as reader:
            if is_connected:
                await reader.one("SELECT 1")
            await asyncio.to_thread(away, private_server)
            monkeypatch.setattr(pool, "READ_SECONDS", 0.5)
            try:
                with pytest.raises(Unavailable):
                    await reader.one("SELECT 1")
            finally:
                await asyncio.to_thread(back, private_server)
            monkeypatch.setattr(pool, "READ_SECONDS", TIMEOUT)
            assert await reader.one("SELECT 1") == (1,)
        async with asyncio.timeout(TIMEOUT):
            while len(asyncio.all_tasks()) > 1:  # noqa: ASYNC110 - there is no event for it
                await asyncio.sleep(0.02)

    asyncio.run(read())


def test_timed_out_statement_ends_on_the_server(
    private_server: PostgresServer, private_address: Dsn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pool, "READ_SECONDS", 0.2)
    monkeypatch.setattr(pool, "STATEMENT_SECONDS", 1)

    async def read() -> None:
        async with run_with_reader(PostgresStore(private_address)) as reader:
            with pytest.raises(Unavailable):
                await reader.one("SELECT pg_sleep(1000)")

    asyncio.run(read())
    with private_server.connect(private_address.given.rpartition("/")[2]) as observer:
        eventually(lambda: observer.execute(SLEEPING).fetchall() == [])


def test_silent_server_leaves_no_open_connections(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "READ_SECONDS", 0.1)

    async def read(silent: socket.socket) -> int:
        address = Dsn(f"postgresql://console@127.0.0.1:{silent.getsockname()[1]}/cloud")
        async with run_with_reader(PostgresStore(address)) as reader:
            before = open_files()
            reads = [asyncio.create_task(reader.one("SELECT 1")) for _ in range(3)]
            await asyncio.wait(reads)
            assert all(isinstance(each.exception(), Unavailable) for each in reads)
            return open_files() - before

    gc.disable()
    try:
        with socket.create_server(("127.0.0.1", 0)) as silent:
            assert asyncio.run(read(silent)) == 0
    finally:
        gc.enable()


def test_worker_that_cannot_poll_is_not_ready(address: Dsn) -> None:
    async def check_ready() -> None:
        async with run_with_reader(PostgresStore(address)) as reader:
            request = Request(
                {"type": "http", "method": "GET", "path": "/readyz", "scheme": "http"}, Headers([]), Mock()
            )
            await HealthEndpoint(reader, lambda: False).ready(request)

    asyncio.run(check_ready())
    execute(address, "ALTER TABLE signals RENAME TO elsewhere")
    with pytest.raises(Unavailable):
        asyncio.run(check_ready())


# Deadlines


def test_whole_snapshot_has_one_deadline(address: Dsn, monkeypatch: pytest.MonkeyPatch) -> None:
    async def read_repeatedly() -> None:
        async with run_with_reader(PostgresStore(address)) as reader:
            await reader.one("SELECT 1")
            monkeypatch.setattr(pool, "READ_SECONDS", 1)
            async with reader.snapshot() as snapshot:
                for _ in range(100):
                    await snapshot.one("SELECT pg_sleep(0.1)")

    with pytest.raises(Unavailable):
        asyncio.run(read_repeatedly())


def test_waiting_for_a_connection_uses_up_the_deadline(address: Dsn, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "MAX_CONNECTIONS", 1)

    async def read() -> None:
        connections, loop = ConnectionPool(address), asyncio.get_running_loop()

        async def deadline() -> float:
            async with connections.acquire() as connection:
                return connection.until

        async with connections.acquire():
            second = asyncio.create_task(deadline())
            # It starts to wait in the next iteration of the event loop.
            await asyncio.sleep(0)
            waiting_since = loop.time()
        assert await second <= waiting_since + pool.READ_SECONDS
        await connections.close()

    asyncio.run(read())


# Untrusted lookups


def test_untrusted_lookups_leave_connections_for_others(address: Dsn) -> None:
    """There are enough lookups to occupy all connections until their deadline."""

    async def read() -> object:
        async with run_with_reader(PostgresStore(address)) as reader:
            flood = [asyncio.create_task(reader.seek("SELECT pg_sleep(1000)")) for _ in range(50)]
            # For the lookups to occupy connections; a shorter wait never fails a correct reader.
            await asyncio.sleep(0.1)
            found = await reader.one("SELECT 1")
            errors = await asyncio.gather(*flood, return_exceptions=True)
            assert {type(each) for each in errors} == {Unavailable}
            return found

    assert asyncio.run(read()) == (1,)
