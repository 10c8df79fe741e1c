"""Sweeping signals from a real PostgreSQL: those that everyone has seen, and no others."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import psycopg
import pytest

from cloudconsole.store.postgres import change_log, change_poller
from cloudconsole.store.postgres.change_log import CHECKPOINT_SECONDS, RETENTION_SECONDS, LogPurger
from cloudconsole.store.postgres.dsn import Dsn
from cloudconsole.store.postgres.pool import ReadConnection, connect
from tests.scale.postgres.watching import PATIENCE, Seconds, eventually_held, execute, watched

ONE, TWO = 1, 2
TENANTS = "INSERT INTO tenants (id, name) VALUES (1, 'one'), (2, 'two')"
CHANGE = "UPDATE tenants SET disabled = true WHERE id = "
FORGET = "TRUNCATE signals"


@pytest.fixture
def peopled(address: Dsn) -> Dsn:
    execute(address, TENANTS, FORGET)
    return address


class Swept:
    """A sweeper whose looks and clock the tests decide on."""

    def __init__(self, address: Dsn, connection: ReadConnection) -> None:
        self.seconds = Seconds()
        self._address = address
        self._connection = connection
        self._sweeper = LogPurger(address, self.seconds)

    async def note_after(self, seconds: float) -> None:
        self.seconds.moment += seconds
        self._sweeper.observe(await change_log.poll(self._connection, None))

    def left(self) -> list[object]:
        """The tenants of signals that are there."""
        with psycopg.connect(self._address.conninfo()) as connection:
            return [tenants for (tenants,) in connection.execute("SELECT tenant_ids FROM signals ORDER BY xact")]

    async def swept(self, left: list[object]) -> None:
        """Wait until no more than these are left."""
        async with asyncio.timeout(PATIENCE):
            while len(self.left()) > len(left):  # noqa: ASYNC110 - there is nothing that tells
                await asyncio.sleep(0.02)
        assert self.left() == left

    async def leave(self) -> None:
        await self._sweeper.leave()


@asynccontextmanager
async def sweeper(address: Dsn) -> AsyncIterator[Swept]:
    """One that notes what it sees from the first look on."""
    connection = await connect(address)
    found = Swept(address, connection)
    try:
        yield found
    finally:
        await found.leave()
        await connection.close()


def test_what_had_ended_long_ago_is_swept_and_nothing_else(peopled: Dsn) -> None:
    async def sweep() -> None:
        async with sweeper(peopled) as found:
            execute(peopled, f"{CHANGE} 1")
            await found.note_after(CHECKPOINT_SECONDS)
            execute(peopled, f"{CHANGE} 2")
            await found.note_after(RETENTION_SECONDS - CHECKPOINT_SECONDS)
            await found.note_after(CHECKPOINT_SECONDS)
            await found.swept([[TWO]])

    asyncio.run(sweep())


def test_the_signals_of_a_long_change_wait_until_it_has_ended_and_was_seen(
    peopled: Dsn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(change_poller, "POLL_INTERVAL_SECONDS", 3600)

    async def sweep() -> None:
        async with sweeper(peopled) as found, watched(peopled) as other:
            with psycopg.connect(peopled.conninfo()) as long:
                execute(peopled, f"{CHANGE} 2")
                long.execute(f"{CHANGE} 1")
                execute(peopled, f"{CHANGE} 2")
                await found.note_after(CHECKPOINT_SECONDS)
                assert await other.changed(ONE, TWO) == [TWO]
            await found.note_after(RETENTION_SECONDS)
            await found.swept([[ONE], [TWO]])
            assert await other.changed(ONE, TWO) == [ONE]
            await found.note_after(RETENTION_SECONDS)
            await found.swept([])

    asyncio.run(sweep())


def test_a_floor_of_another_server_says_nothing_here(peopled: Dsn) -> None:
    async def sweep() -> list[int]:
        execute(peopled, f"{CHANGE} 1")
        connection = await connect(peopled)
        sight = await change_log.poll(connection, None)
        swept = [await change_log.purge(connection, sight.floor, server) for server in ("another", sight.server)]
        await connection.close()
        return swept

    assert asyncio.run(sweep()) == [0, 1]


def test_however_many_there_are_all_are_swept_at_once(peopled: Dsn) -> None:
    async def sweep() -> None:
        async with sweeper(peopled) as found:
            execute(peopled, f"INSERT INTO signals SELECT FROM generate_series(0, {2 * change_log.PURGE_BATCH})")
            await found.note_after(CHECKPOINT_SECONDS)
            await found.note_after(RETENTION_SECONDS)
            await found.swept([])

    asyncio.run(sweep())


def test_looks_go_on_while_a_sweep_is_held_up(peopled: Dsn, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(change_poller, "POLL_INTERVAL_SECONDS", 0.02)

    def is_held_up() -> bool:
        waiting = "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
        with psycopg.connect(peopled.conninfo()) as connection:
            return connection.execute(waiting).fetchone() is not None

    async def sweep() -> None:
        with psycopg.connect(peopled.conninfo()) as other:
            other.execute("LOCK TABLE signals IN SHARE MODE")
            async with watched(peopled) as found:
                for seconds in (CHECKPOINT_SECONDS, RETENTION_SECONDS):
                    found.seconds.moment += seconds
                    await eventually_held(found.watch)
                async with asyncio.timeout(PATIENCE):
                    while not is_held_up():  # noqa: ASYNC110 - there is nothing that tells
                        await asyncio.sleep(0.02)
                found.seconds.end_lease()
                await eventually_held(found.watch)
                assert is_held_up()

    asyncio.run(sweep())


def test_a_sweep_that_fails_is_told(
    peopled: Dsn, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(change_log, "PURGE_SECONDS", 0.2)

    async def sweep() -> None:
        with psycopg.connect(peopled.conninfo()) as other:
            other.execute("LOCK TABLE signals IN SHARE MODE")
            async with sweeper(peopled) as found:
                for seconds in (CHECKPOINT_SECONDS, RETENTION_SECONDS):
                    await found.note_after(seconds)
                async with asyncio.timeout(PATIENCE):
                    while not caplog.records:  # noqa: ASYNC110 - there is nothing that tells
                        await asyncio.sleep(0.02)

    asyncio.run(sweep())
    assert "cannot purge the change log: no response from the database within 0.2 s" in caplog.text
