"""The hot reads on a real PostgreSQL: of one moment, over restarts, within a deadline, and bounded."""

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
from cloudconsole.store.base import Row, run_with_reader
from cloudconsole.store.postgres import pool
from cloudconsole.store.postgres.dsn import Dsn
from cloudconsole.store.postgres.pool import ConnectionPool
from cloudconsole.store.postgres.store import PostgresStore
from tests.e2e.processes import eventually
from tests.scale.postgres.watching import PATIENCE, execute

ADD = "INSERT INTO nodes (name) VALUES ('north')"
NAMES = "SELECT name FROM nodes"
WHO = "SELECT pg_backend_pid()"
ASLEEP = "SELECT pid FROM pg_stat_activity WHERE state = 'active' AND query LIKE '%pg_sleep(1000)' "


def open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def test_both_signs_for_parameters_are_understood(address: Dsn) -> None:
    async def read() -> list[object]:
        async with run_with_reader(PostgresStore(address)) as reader:
            return [
                await reader.one("SELECT CAST(? AS integer) % 2, CAST(? AS text)", (7, "?")),
                await reader.one("SELECT CAST(:one AS integer) + CAST(:one AS integer)", {"one": 2}),
            ]

    assert asyncio.run(read()) == [(1, "?"), (4,)]


def test_in_a_snapshot_all_reads_are_of_one_moment(address: Dsn) -> None:
    async def read() -> list[object]:
        async with run_with_reader(PostgresStore(address)) as reader:
            async with reader.snapshot() as moment:
                before = [await moment.all(NAMES), await moment.shared_stamp()]
                execute(address, ADD)
                assert [await moment.all(NAMES), await moment.shared_stamp()] == before
            async with reader.snapshot() as moment:
                return [*before, await moment.all(NAMES), await moment.shared_stamp()]

    nothing, stamp, something, later = asyncio.run(read())
    assert (nothing, something) == ([], [("north",)])
    assert stamp != later


def test_nothing_is_found_by_what_the_database_cannot_hold(address: Dsn) -> None:
    async def read() -> list[object]:
        async with run_with_reader(PostgresStore(address)) as reader:
            by_name = "SELECT id FROM nodes WHERE name = :name"
            return [await reader.one(by_name, {"name": "a\0b"}), await reader.all(f"{NAMES} WHERE name = ?", ("\0",))]

    assert asyncio.run(read()) == [None, []]


def test_a_connection_that_saw_an_error_is_not_used_again(address: Dsn) -> None:
    async def read() -> bool:
        async with run_with_reader(PostgresStore(address)) as reader:
            first = await reader.one(WHO)
            assert await reader.one(WHO) == first
            with pytest.raises(Unavailable):
                await reader.one("SELECT no_such_column FROM nodes")
            return await reader.one(WHO) != first

    assert asyncio.run(read())


def test_so_many_read_at_once_and_in_a_crowd_few_wait(address: Dsn, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "MAX_CONNECTIONS", 1)
    monkeypatch.setattr(pool, "BURST", 1)
    monkeypatch.setattr(pool, "MAX_WAITING_PER_SLOT", 1)

    async def crowd() -> list[Row | BaseException | None]:
        async with run_with_reader(PostgresStore(address)) as reader:
            return await asyncio.gather(*(reader.one("SELECT 1") for _ in range(3)), return_exceptions=True)

    first, second, third = asyncio.run(crowd())
    assert (first, third) == ((1,), (1,))
    assert isinstance(second, Unavailable)


# A server that stops


def test_reads_go_on_after_a_restart(own: PostgresServer, own_address: Dsn) -> None:
    async def read() -> list[object]:
        async with run_with_reader(PostgresStore(own_address)) as reader:
            before = await reader.one("SELECT 1")
            await asyncio.to_thread(own.restart)
            return [before, await reader.one("SELECT 1")]

    assert asyncio.run(read()) == [(1,), (1,)]


@pytest.mark.parametrize(
    ("away", "back"), [(PostgresServer.stop, PostgresServer.start), (PostgresServer.pause, PostgresServer.resume)]
)
@pytest.mark.parametrize("is_connected", [False, True])
def test_what_does_not_answer_is_given_up_and_leaves_nothing_hanging(
    own: PostgresServer,
    own_address: Dsn,
    monkeypatch: pytest.MonkeyPatch,
    away: Callable[[PostgresServer], object],
    back: Callable[[PostgresServer], object],
    is_connected: bool,
) -> None:
    monkeypatch.setattr(pool, "READ_SECONDS", 0.5)

    async def read() -> None:
        async with run_with_reader(PostgresStore(own_address)) as reader:
            if is_connected:
                await reader.one("SELECT 1")
            await asyncio.to_thread(away, own)
            try:
                with pytest.raises(Unavailable):
                    await reader.one("SELECT 1")
            finally:
                await asyncio.to_thread(back, own)
            monkeypatch.setattr(pool, "READ_SECONDS", PATIENCE)
            assert await reader.one("SELECT 1") == (1,)
        async with asyncio.timeout(PATIENCE):
            while len(asyncio.all_tasks()) > 1:  # noqa: ASYNC110 - there is nothing that tells
                await asyncio.sleep(0.02)

    asyncio.run(read())


def test_what_was_given_up_ends_at_the_server_before_long(
    own: PostgresServer, own_address: Dsn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pool, "READ_SECONDS", 0.2)
    monkeypatch.setattr(pool, "STATEMENT_SECONDS", 1)

    async def read() -> None:
        async with run_with_reader(PostgresStore(own_address)) as reader:
            with pytest.raises(Unavailable):
                await reader.one("SELECT pg_sleep(1000)")

    asyncio.run(read())
    with own.connect(own_address.given.rpartition("/")[2]) as witness:
        eventually(lambda: witness.execute(ASLEEP).fetchall() == [])


def test_a_server_that_takes_connections_and_says_nothing_leaves_none_open(monkeypatch: pytest.MonkeyPatch) -> None:
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


def test_a_worker_that_cannot_look_for_changes_is_not_ready(address: Dsn) -> None:
    async def ask() -> None:
        async with run_with_reader(PostgresStore(address)) as reader:
            request = Request(
                {"type": "http", "method": "GET", "path": "/readyz", "scheme": "http"}, Headers([]), Mock()
            )
            await HealthEndpoint(reader, lambda: False).ready(request)

    asyncio.run(ask())
    execute(address, "ALTER TABLE signals RENAME TO elsewhere")
    with pytest.raises(Unavailable):
        asyncio.run(ask())


# One deadline


def test_all_that_a_read_takes_has_one_deadline(address: Dsn, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "READ_SECONDS", 1)

    read = list[object]()

    async def go_on_reading() -> None:
        async with run_with_reader(PostgresStore(address)) as reader, reader.snapshot() as moment:
            for _ in range(100):
                read.append(await moment.one("SELECT pg_sleep(0.2)"))

    with pytest.raises(Unavailable):
        asyncio.run(go_on_reading())
    assert 0 < len(read) < 100


def test_a_place_that_came_late_leaves_less_time(address: Dsn, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "MAX_CONNECTIONS", 1)

    async def read() -> list[float]:
        held, loop = ConnectionPool(address), asyncio.get_running_loop()
        is_used = asyncio.Event()

        async def use() -> None:
            async with held.acquire():
                is_used.set()
                await asyncio.sleep(0.1)

        first = asyncio.create_task(use())
        await is_used.wait()
        asked = loop.time()
        async with held.acquire() as taken:
            times = [asked + pool.READ_SECONDS, taken.until, loop.time() + pool.READ_SECONDS]
        await first
        await held.close()
        return times

    asked, until, had = asyncio.run(read())
    assert until - asked < had - until


# Strangers


def test_those_who_make_things_up_leave_room_for_others(address: Dsn) -> None:
    """So many at once that their reads would take all connections until their deadline."""

    async def read() -> object:
        async with run_with_reader(PostgresStore(address)) as reader:
            flood = [asyncio.create_task(reader.seek("SELECT pg_sleep(1000)")) for _ in range(50)]
            await asyncio.sleep(0.1)
            found = await reader.one("SELECT 1")
            refused = await asyncio.gather(*flood, return_exceptions=True)
            assert {type(each) for each in refused} == {Unavailable}
            return found

    assert asyncio.run(read()) == (1,)
