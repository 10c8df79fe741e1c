"""Purging the change log on a real PostgreSQL: only entries that every worker has seen."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import psycopg
import pytest

from cloudconsole.store.postgres import change_log_purge, change_log_reader, change_poller
from cloudconsole.store.postgres.change_log_purge import CHECKPOINT_SECONDS, LogPurger
from cloudconsole.store.postgres.change_log_reader import RETENTION_SECONDS
from cloudconsole.store.postgres.dsn import Dsn
from cloudconsole.store.postgres.pool import ReadConnection, connect
from tests.harness import async_test
from tests.scale.postgres.manual_lease import ManualClock, execute, manual_lease, wait_until

ONE, TWO = 1, 2
TENANTS = "INSERT INTO tenants (id, name) VALUES (1, 'one'), (2, 'two')"
CHANGE = "UPDATE tenants SET disabled = true WHERE id = "
CLEAR_LOG = "TRUNCATE signals"


@pytest.fixture
def populated(address: Dsn) -> Dsn:
    execute(address, TENANTS, CLEAR_LOG)
    return address


class ManualPurger:
    """A purger with a manual clock and manual polls."""

    def __init__(self, address: Dsn, connection: ReadConnection) -> None:
        self.clock = ManualClock()
        self.purger = LogPurger(address, self.clock)
        self._address = address
        self._connection = connection

    async def observe_after(self, *pauses: float) -> None:
        for seconds in pauses:
            self.clock.moment += seconds
            self.purger.observe(await change_log_reader.poll(self._connection, None))

    def remaining(self) -> list[object]:
        """Return the tenants of the entries in the log."""
        with psycopg.connect(self._address.conninfo()) as connection:
            return [tenants for (tenants,) in connection.execute("SELECT tenant_ids FROM signals ORDER BY xact")]

    async def wait_for_remaining(self, remaining: list[object]) -> None:
        """Wait until only these entries are in the log."""
        await wait_until(lambda: len(self.remaining()) <= len(remaining))
        assert self.remaining() == remaining


@asynccontextmanager
async def manual_purger(address: Dsn) -> AsyncIterator[ManualPurger]:
    """A purger, with a connection for its polls."""
    connection = await connect(address)
    manual = ManualPurger(address, connection)
    try:
        yield manual
    finally:
        await manual.purger.leave()
        await connection.close()


@async_test
async def test_only_old_entries_are_purged(populated: Dsn) -> None:
    async with manual_purger(populated) as purger:
        execute(populated, f"{CHANGE} 1")
        await purger.observe_after(CHECKPOINT_SECONDS)
        execute(populated, f"{CHANGE} 2")
        await purger.observe_after(RETENTION_SECONDS - CHECKPOINT_SECONDS, CHECKPOINT_SECONDS)
        await purger.wait_for_remaining([[TWO]])


@async_test
async def test_entries_of_a_long_transaction_stay_until_polled(populated: Dsn, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(change_poller, "POLL_INTERVAL_SECONDS", 3600)
    async with manual_purger(populated) as purger, manual_lease(populated) as other:
        with psycopg.connect(populated.conninfo()) as long:
            execute(populated, f"{CHANGE} 2")
            long.execute(f"{CHANGE} 1")
            execute(populated, f"{CHANGE} 2")
            await purger.observe_after(CHECKPOINT_SECONDS)
            assert await other.changed(ONE, TWO) == [TWO]
        await purger.observe_after(RETENTION_SECONDS)
        await purger.wait_for_remaining([[ONE], [TWO]])
        assert await other.changed(ONE, TWO) == [ONE]
        await purger.observe_after(RETENTION_SECONDS)
        await purger.wait_for_remaining([])


@async_test
async def test_floor_of_another_server_purges_nothing(populated: Dsn) -> None:
    execute(populated, f"{CHANGE} 1")
    connection = await connect(populated)
    position = await change_log_reader.poll(connection, None)
    for server, purged in (("another", 0), (position.server, 1)):
        assert await change_log_purge.purge(connection, position.floor, server) == purged
    await connection.close()


@async_test
async def test_purge_removes_all_batches(populated: Dsn) -> None:
    async with manual_purger(populated) as purger:
        execute(populated, f"INSERT INTO signals SELECT FROM generate_series(0, {2 * change_log_purge.PURGE_BATCH})")
        await purger.observe_after(CHECKPOINT_SECONDS, RETENTION_SECONDS)
        await purger.wait_for_remaining([])


@async_test
async def test_polling_continues_while_a_purge_is_blocked(populated: Dsn, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(change_poller, "POLL_INTERVAL_SECONDS", 0.02)

    def is_blocked() -> bool:
        waiting = "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
        with psycopg.connect(populated.conninfo()) as connection:
            return connection.execute(waiting).fetchone() is not None

    with psycopg.connect(populated.conninfo()) as other:
        other.execute("LOCK TABLE signals IN SHARE MODE")
        async with manual_lease(populated) as manual:
            for seconds in (CHECKPOINT_SECONDS, RETENTION_SECONDS):
                manual.clock.moment += seconds
                await wait_until(lambda: manual.lease.is_held)
            await wait_until(is_blocked)
            manual.clock.expire_lease()
            await wait_until(lambda: manual.lease.is_held)
            assert is_blocked()


@async_test
async def test_failed_purge_is_logged(
    populated: Dsn, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(change_log_purge, "PURGE_SECONDS", 0.2)
    with psycopg.connect(populated.conninfo()) as other:
        other.execute("LOCK TABLE signals IN SHARE MODE")
        async with manual_purger(populated) as purger:
            await purger.observe_after(CHECKPOINT_SECONDS, RETENTION_SECONDS)
            await wait_until(lambda: caplog.records)
    assert "cannot purge the change log: no response from the database within 0.2 s" in caplog.text
