"""The change lease on a real PostgreSQL: which changes it reports, and when it invalidates everything or fails."""

import asyncio
import logging
import time
from types import ModuleType

import psycopg
import pytest
from cluster.postgres import PostgresServer

from cloudconsole.spec.errors import Unavailable
from cloudconsole.store.postgres import change_log_reader, change_poller
from cloudconsole.store.postgres.change_log_reader import RETENTION_SECONDS
from cloudconsole.store.postgres.dsn import Dsn
from cloudconsole.store.postgres.store import PostgresStore
from tests.harness import async_test
from tests.scale.postgres.manual_lease import (
    REPLACE_CHANGE_LOG,
    TIMEOUT,
    ManualLease,
    execute,
    manual_lease,
    unavailable,
    wait_until,
)

ONE, TWO = 1, 2
S1, S2 = b"s1", b"s2"
EVERYTHING: list[int | bytes] = [ONE, TWO, S1, S2]
TENANTS = "INSERT INTO tenants (id, name) VALUES (1, 'one'), (2, 'two')"
SESSIONS = """
    INSERT INTO sessions (id_hash, account_id, account_version, csrf_seed, seen_at, expires_at)
    VALUES ('s1', 1, 1, 'seed', 1, 99999999999), ('s2', 1, 1, 'seed', 1, 99999999999)
"""
CHANGE_BOTH = "UPDATE tenants SET disabled = true"
CHANGE_ONE = f"{CHANGE_BOTH} WHERE id = 1"
MAX_LISTED = 1000
MANY_URLS = f"SELECT n::text, 1, 'link', 'https://a.example/' FROM generate_series(0, {MAX_LISTED}) AS n"


@pytest.fixture(autouse=True)
def _no_background_polls(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(change_poller, "POLL_INTERVAL_SECONDS", 3600)


@pytest.fixture
def populated(address: Dsn) -> Dsn:
    execute(address, TENANTS, SESSIONS)
    return address


def changes_after(address: Dsn, *statements: str) -> list[int | bytes]:
    """Return what a lease reports as changed after a transaction."""

    async def poll() -> list[int | bytes]:
        async with manual_lease(address) as manual:
            await asyncio.to_thread(execute, address, *statements)
            return await manual.changed(*EVERYTHING)

    return asyncio.run(poll())


@pytest.mark.parametrize(
    ("statement", "changed"),
    [
        ("SELECT 1", []),
        (CHANGE_ONE, [ONE]),
        (CHANGE_BOTH, [ONE, TWO]),
        ("INSERT INTO urls (id, tenant_id, type, url) VALUES ('u', 2, 'link', 'https://a.example/')", [TWO]),
        (f"INSERT INTO urls (id, tenant_id, type, url) {MANY_URLS}", [ONE]),
        ("INSERT INTO urls (id, type, url) VALUES ('u', 'link', 'https://a.example/')", EVERYTHING),
        ("INSERT INTO nodes (name) VALUES ('n')", EVERYTHING),
        ("DELETE FROM sessions WHERE id_hash = 's1'", [S1]),
        ("UPDATE sessions SET seen_at = 2", []),
        ("TRUNCATE sessions CASCADE", EVERYTHING),
    ],
)
def test_change_affects_only_its_subjects(populated: Dsn, statement: str, changed: list[object]) -> None:
    assert changes_after(populated, statement) == changed


def test_ended_session_is_reported_even_if_long_expired(address: Dsn) -> None:
    execute(address, SESSIONS.replace("99999999999", "1"))
    assert changes_after(address, "DELETE FROM sessions WHERE id_hash = 's2'") == [S2]


# Mass changes


SESSION_ROWS = "INSERT INTO sessions SELECT n::text::bytea, 1, 1, 'seed', 1, 1 FROM generate_series(11, {}) AS n"
TENANT_ROWS = "INSERT INTO tenants (id, name) SELECT n, n::text FROM generate_series(11, {}) AS n"


@pytest.mark.parametrize("others", [MAX_LISTED - 1, MAX_LISTED])
@pytest.mark.parametrize(
    ("rows", "change", "first"),
    [
        (SESSION_ROWS, "DELETE FROM sessions WHERE expires_at = 1 OR id_hash = 's1'", S1),
        (TENANT_ROWS, f"{CHANGE_BOTH} WHERE id <> 2", ONE),
    ],
)
def test_too_many_changes_of_one_transaction_invalidate_everything(
    populated: Dsn, others: int, rows: str, change: str, first: object
) -> None:
    execute(populated, rows.format(10 + others))
    assert changes_after(populated, change) == (EVERYTHING if others == MAX_LISTED else [first])


def test_mass_session_end_does_not_wait_for_shared_changes(address: Dsn) -> None:
    execute(address, SESSION_ROWS.format(11 + MAX_LISTED))
    with psycopg.connect(address.conninfo()) as first:
        first.execute("INSERT INTO nodes (name) VALUES ('n')")
        execute(address, "SET lock_timeout = '1s'", "DELETE FROM sessions")


@pytest.mark.parametrize(
    ("module", "limit"), [(change_log_reader, "MAX_CHANGES_PER_POLL"), (change_poller, "MAX_KNOWN_CHANGES")]
)
def test_too_many_changes_invalidate_everything(
    populated: Dsn, monkeypatch: pytest.MonkeyPatch, module: ModuleType, limit: str
) -> None:
    monkeypatch.setattr(module, limit, 1)
    assert changes_after(populated, CHANGE_ONE) == [ONE]
    assert changes_after(populated, CHANGE_BOTH) == EVERYTHING


def test_long_pause_by_the_server_clock_invalidates_everything(populated: Dsn, monkeypatch: pytest.MonkeyPatch) -> None:
    assert changes_after(populated, CHANGE_ONE) == [ONE]
    monkeypatch.setattr(change_log_reader, "RETENTION_SECONDS", 0)
    assert changes_after(populated, CHANGE_ONE) == EVERYTHING


# Concurrency and lost polls


@pytest.mark.parametrize(
    "before",
    [
        ["CREATE TEMPORARY TABLE signals (tenant_ids integer[], id_hash bytea)"],
        ["CREATE SCHEMA other", "CREATE TABLE other.signals (LIKE signals)", "SET search_path = other, public"],
    ],
)
def test_other_tables_named_signals_get_no_entries(populated: Dsn, before: list[str]) -> None:
    clean_up = "DROP SCHEMA IF EXISTS other CASCADE"
    assert changes_after(populated, *before, CHANGE_ONE, clean_up) == [ONE]


def test_change_log_is_in_the_schema_of_the_tables(postgres: PostgresServer, database: str) -> None:
    address = Dsn(postgres.address(database, options="-c search_path=console"))
    execute(Dsn(postgres.address(database)), "CREATE SCHEMA console")
    PostgresStore(address).migrate()
    execute(address, TENANTS)
    assert changes_after(address, "SET search_path = public", CHANGE_ONE.replace("tenants", "console.tenants")) == [ONE]


@async_test
async def test_long_transaction_hides_no_earlier_commit(populated: Dsn) -> None:
    async with manual_lease(populated) as manual:
        with psycopg.connect(populated.conninfo()) as first:
            first.execute(CHANGE_ONE)
            execute(populated, f"{CHANGE_BOTH} WHERE id = 2")
            assert [await manual.changed(*EVERYTHING), await manual.changed(*EVERYTHING)] == [[TWO], []]
        assert [await manual.changed(*EVERYTHING), await manual.changed(*EVERYTHING)] == [[ONE], []]


@async_test
async def test_valid_lease_needs_no_poll(populated: Dsn) -> None:
    async with manual_lease(populated) as manual:
        execute(populated, CHANGE_BOTH)
        before = manual.lease.latest
        manual.clock.moment += change_poller.LEASE_SECONDS * 0.9
        await manual.lease.poll()
        assert manual.lease.latest == before


def test_lost_connection_invalidates_everything(populated: Dsn) -> None:
    cut = "SELECT pg_terminate_backend(pid, 20000) FROM pg_stat_activity WHERE pid <> pg_backend_pid()"
    assert changes_after(populated, f"{cut} AND (datname, usename) = (current_database(), current_user)") == EVERYTHING


@async_test
async def test_long_time_without_polls_invalidates_everything(populated: Dsn) -> None:
    async with manual_lease(populated) as manual:
        manual.clock.moment += RETENTION_SECONDS
        assert await manual.changed(*EVERYTHING) == EVERYTHING


@async_test
async def test_replaced_change_log_invalidates_everything(populated: Dsn) -> None:
    async with manual_lease(populated) as manual:
        assert (await manual.changed(*EVERYTHING), manual.other_servers) == ([], 0)
        execute(populated, *REPLACE_CHANGE_LOG)
        assert (await manual.changed(*EVERYTHING), manual.other_servers) == (EVERYTHING, 1)


def test_lease_clock_includes_suspension(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "clock_gettime", {time.CLOCK_BOOTTIME: 7.0}.__getitem__)
    assert change_poller.elapsed_seconds() == 7
    monkeypatch.delattr(time, "CLOCK_BOOTTIME")
    monkeypatch.setattr(time, "monotonic", lambda: 5.0)
    assert change_poller.elapsed_seconds() == 5


@async_test
async def test_exited_poller_is_restarted(
    populated: Dsn, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(change_poller, "POLL_INTERVAL_SECONDS", "no number")
    async with manual_lease(populated) as manual:
        await manual.changed()
        monkeypatch.setattr(change_poller, "POLL_INTERVAL_SECONDS", 0.01)
        await manual.changed()
        manual.clock.expire_lease()
        await wait_until(lambda: manual.lease.is_held)
    ended = [record for record in caplog.records if "change poller exited" in record.message]
    assert ended
    assert all(record.exc_info and record.exc_info[0] is TypeError for record in ended)


@async_test
async def test_unexpected_poll_error_fails_closed_and_is_logged(
    populated: Dsn, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async with manual_lease(populated) as manual:
        monkeypatch.setattr(change_log_reader, "_POLL", None)
        await _assert_poll_fails(manual)
        assert manual.lease.is_stale
    (warning,) = [record for record in caplog.records if record.levelno == logging.WARNING]
    assert warning.exc_info


@async_test
async def test_waiting_polls_are_bounded(populated: Dsn, monkeypatch: pytest.MonkeyPatch) -> None:
    async with manual_lease(populated) as manual:
        monkeypatch.setattr(change_poller, "MAX_WAITING", 0)
        with pytest.raises(Unavailable) as error:
            await manual.changed()
        assert not error.value.closes


# A stopped server


async def _assert_poll_fails(manual: ManualLease) -> None:
    manual.clock.expire_lease()
    with pytest.raises(Unavailable):
        await manual.lease.poll()


@pytest.mark.parametrize("fault", ["stop", "pause"])
@async_test
async def test_failing_polls_reject_at_once_and_end_the_lease(
    private_server: PostgresServer, private_address: Dsn, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    monkeypatch.setattr(change_poller, "POLL_INTERVAL_SECONDS", 0.05)
    async with manual_lease(private_address) as manual:
        monkeypatch.setattr(change_poller, "POLL_TIMEOUT_SECONDS", 0.3)
        async with unavailable(private_server, fault):
            await _assert_poll_fails(manual)
            # The lease knows by now that polls fail, and does not wait for the next one.
            monkeypatch.setattr(change_poller, "POLL_TIMEOUT_SECONDS", 3600)
            await asyncio.wait_for(_assert_poll_fails(manual), TIMEOUT)
            assert not manual.lease.is_held
            monkeypatch.setattr(change_poller, "POLL_TIMEOUT_SECONDS", 0.3)
        monkeypatch.setattr(change_poller, "POLL_TIMEOUT_SECONDS", TIMEOUT)
        await wait_until(lambda: manual.lease.is_held)
        await manual.lease.poll()
