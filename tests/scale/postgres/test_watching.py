"""The watch over a real PostgreSQL: which changes it sees, when it forgets everything, and when it can say nothing."""

import asyncio
import logging
import time
from collections.abc import Callable

import psycopg
import pytest
from cluster.postgres import PostgresServer

from cloudconsole.spec.errors import Unavailable
from cloudconsole.store.postgres import change_log, change_poller
from cloudconsole.store.postgres.change_log import RETENTION_SECONDS
from cloudconsole.store.postgres.dsn import Dsn
from cloudconsole.store.postgres.pool import connect
from cloudconsole.store.postgres.store import PostgresStore
from tests.scale.postgres.watching import ANOTHER_TABLE, Watched, eventually_held, execute, watched

ONE, TWO = 1, 2
S1, S2 = b"s1", b"s2"
EVERYTHING: list[int | bytes] = [ONE, TWO, S1, S2]
TENANTS = "INSERT INTO tenants (id, name) VALUES (1, 'one'), (2, 'two')"
SESSIONS = """
    INSERT INTO sessions (id_hash, account_id, account_version, csrf_seed, seen_at, expires_at)
    VALUES ('s1', 1, 1, 'seed', 1, 99999999999), ('s2', 1, 1, 'seed', 1, 99999999999)
"""
CHANGE_ONE = "UPDATE tenants SET disabled = true WHERE id = 1"
TOLD_ONE_BY_ONE = 1000


@pytest.fixture(autouse=True)
def _no_looks_in_between(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(change_poller, "POLL_INTERVAL_SECONDS", 3600)


@pytest.fixture
def peopled(address: Dsn) -> Dsn:
    execute(address, TENANTS, SESSIONS)
    return address


def after(address: Dsn, *statements: str) -> list[int | bytes]:
    """What a watch finds changed after someone's transaction."""

    async def see() -> list[int | bytes]:
        async with watched(address) as found:
            await asyncio.to_thread(execute, address, *statements)
            return await found.changed(*EVERYTHING)

    return asyncio.run(see())


@pytest.mark.parametrize(
    ("statement", "changed"),
    [
        ("SELECT 1", []),
        ("UPDATE tenants SET disabled = true WHERE id = 1", [ONE]),
        ("UPDATE tenants SET disabled = true", [ONE, TWO]),
        ("INSERT INTO urls (id, tenant_id, type, url) VALUES ('u', 2, 'link', 'https://a.example/')", [TWO]),
        ("INSERT INTO urls (id, type, url) VALUES ('u', 'link', 'https://a.example/')", EVERYTHING),
        ("INSERT INTO nodes (name) VALUES ('n')", EVERYTHING),
        ("DELETE FROM sessions WHERE id_hash = 's1'", [S1]),
        ("UPDATE sessions SET seen_at = 2", []),
        ("TRUNCATE sessions CASCADE", EVERYTHING),
    ],
)
def test_a_change_is_seen_by_whom_it_concerns(peopled: Dsn, statement: str, changed: list[object]) -> None:
    assert after(peopled, statement) == changed


def test_what_was_taken_back_is_no_change(peopled: Dsn) -> None:
    assert after(peopled, "UPDATE tenants SET disabled = true", "ROLLBACK") == []


def test_a_session_that_ends_is_told_whatever_the_databases_clock_says(address: Dsn) -> None:
    execute(address, SESSIONS.replace("99999999999", "1"))
    assert after(address, "DELETE FROM sessions WHERE id_hash = 's2'") == [S2]


# Very many at once


def _sessions(count: int) -> str:
    return f"""
        INSERT INTO sessions SELECT n::text::bytea, 1, 1, 'seed', 1, 1 FROM generate_series(1, {count}) AS n
    """


@pytest.mark.parametrize(("others", "changed"), [(TOLD_ONE_BY_ONE - 1, [S1]), (TOLD_ONE_BY_ONE, EVERYTHING)])
def test_very_many_sessions_that_end_are_one_change_of_everything(
    address: Dsn, others: int, changed: list[object]
) -> None:
    execute(address, SESSIONS, _sessions(others))
    assert after(address, "DELETE FROM sessions WHERE expires_at = 1 OR id_hash = 's1'") == changed


@pytest.mark.parametrize(("others", "changed"), [(TOLD_ONE_BY_ONE - 1, [ONE]), (TOLD_ONE_BY_ONE, EVERYTHING)])
def test_very_many_tenants_that_change_are_one_change_of_everything(
    peopled: Dsn, others: int, changed: list[object]
) -> None:
    execute(peopled, f"INSERT INTO tenants (id, name) SELECT n, n::text FROM generate_series(11, {10 + others}) AS n")
    assert after(peopled, "UPDATE tenants SET disabled = true WHERE id <> 2") == changed


def test_very_many_rows_of_one_tenant_are_a_change_of_that_one(peopled: Dsn) -> None:
    many = f"SELECT n::text, 1, 'link', 'https://a.example/' FROM generate_series(0, {TOLD_ONE_BY_ONE}) AS n"
    assert after(peopled, f"INSERT INTO urls (id, tenant_id, type, url) {many}") == [ONE]


def test_very_many_sessions_end_without_waiting_for_who_changes_what_is_shared(address: Dsn) -> None:
    execute(address, _sessions(TOLD_ONE_BY_ONE + 1))
    with psycopg.connect(address.conninfo()) as first:
        first.execute("INSERT INTO nodes (name) VALUES ('n')")
        execute(address, "SET lock_timeout = '1s'", "DELETE FROM sessions")


def test_more_changes_than_a_look_takes_in_are_one_of_everything(peopled: Dsn, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(change_log, "MAX_CHANGES_PER_POLL", 1)
    assert after(peopled, CHANGE_ONE) == [ONE]
    assert after(peopled, "UPDATE tenants SET disabled = true") == EVERYTHING


# Whatever others do


@pytest.mark.parametrize(
    "before",
    [
        ["CREATE TEMPORARY TABLE signals (tenant_ids integer[], id_hash bytea)"],
        ["CREATE SCHEMA other", "CREATE TABLE other.signals (LIKE signals)", "SET search_path = other, public"],
    ],
)
def test_no_other_table_catches_a_signal(peopled: Dsn, before: list[str]) -> None:
    after_all = "DROP SCHEMA IF EXISTS other CASCADE"
    assert after(peopled, *before, CHANGE_ONE, after_all) == [ONE]


def test_signals_go_to_the_schema_of_the_tables(postgres: PostgresServer, database: str) -> None:
    address = Dsn(postgres.address(database, options="-c search_path=console"))
    execute(Dsn(postgres.address(database)), "CREATE SCHEMA console")
    PostgresStore(address).migrate()
    execute(address, TENANTS)
    assert after(address, "SET search_path = public", CHANGE_ONE.replace("tenants", "console.tenants")) == [ONE]


def test_each_change_is_told_once(peopled: Dsn) -> None:
    async def see() -> list[list[int | bytes]]:
        async with watched(peopled) as found:
            execute(peopled, "UPDATE tenants SET disabled = true WHERE id = 1")
            return [await found.changed(*EVERYTHING) for _ in range(3)]

    assert asyncio.run(see()) == [[ONE], [], []]


def test_a_transaction_that_is_open_for_long_hides_none_that_ends_before_it(peopled: Dsn) -> None:
    async def see() -> list[list[int | bytes]]:
        async with watched(peopled) as found:
            with psycopg.connect(peopled.conninfo()) as first:
                first.execute("UPDATE tenants SET disabled = true WHERE id = 1")
                execute(peopled, "UPDATE tenants SET disabled = true WHERE id = 2")
                seen = [await found.changed(*EVERYTHING), await found.changed(*EVERYTHING)]
            return [*seen, await found.changed(*EVERYTHING), await found.changed(*EVERYTHING)]

    assert asyncio.run(see()) == [[TWO], [], [ONE], []]


def test_a_transaction_that_is_open_for_long_lets_no_signal_be_handed_over_twice(peopled: Dsn) -> None:
    async def see() -> list[object]:
        connection = await connect(peopled)
        try:
            with psycopg.connect(peopled.conninfo()) as first:
                first.execute(CHANGE_ONE)
                sights = [await change_log.poll(connection, None)]
                execute(peopled, "UPDATE tenants SET disabled = true WHERE id = 2")
                for _ in range(2):
                    sights.append(await change_log.poll(connection, sights[-1]))
            sights.append(await change_log.poll(connection, sights[-1]))
        finally:
            await connection.close()
        return [sight.news for sight in sights]

    assert asyncio.run(see()) == [set(), {TWO}, set(), {ONE}]


def test_under_the_lease_nobody_looks(peopled: Dsn) -> None:
    async def see() -> bool:
        async with watched(peopled) as found:
            execute(peopled, "UPDATE tenants SET disabled = true")
            before = found.watch.latest
            found.seconds.moment += change_poller.LEASE_SECONDS * 0.9
            await found.watch.poll()
            return found.watch.latest == before

    assert asyncio.run(see())


def test_after_its_connection_was_cut_everything_may_have_changed(peopled: Dsn) -> None:
    cut = "SELECT pg_terminate_backend(pid, 20000) FROM pg_stat_activity WHERE pid <> pg_backend_pid()"
    assert after(peopled, f"{cut} AND (datname, usename) = (current_database(), current_user)") == EVERYTHING


def test_after_a_long_silence_everything_may_have_changed(peopled: Dsn) -> None:
    async def see() -> list[int | bytes]:
        async with watched(peopled) as found:
            found.seconds.moment += RETENTION_SECONDS
            return await found.changed(*EVERYTHING)

    assert asyncio.run(see()) == EVERYTHING


def test_after_a_long_pause_by_the_servers_clock_everything_may_have_changed(
    peopled: Dsn, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert after(peopled, CHANGE_ONE) == [ONE]
    monkeypatch.setattr(change_log, "RETENTION_SECONDS", 0)
    assert after(peopled, CHANGE_ONE) == EVERYTHING


def test_once_the_table_of_signals_is_another_everything_may_have_changed(peopled: Dsn) -> None:
    async def see() -> list[object]:
        async with watched(peopled) as found:
            before = [await found.changed(*EVERYTHING), found.other_servers]
            await asyncio.to_thread(execute, peopled, *ANOTHER_TABLE)
            return [before, [await found.changed(*EVERYTHING), found.other_servers]]

    assert asyncio.run(see()) == [[[], 0], [EVERYTHING, 1]]


def test_the_clock_goes_on_while_the_machine_is_suspended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "clock_gettime", {time.CLOCK_BOOTTIME: 7.0}.__getitem__)
    assert change_poller.elapsed_seconds() == 7
    monkeypatch.delattr(time, "CLOCK_BOOTTIME")
    monkeypatch.setattr(time, "monotonic", lambda: 5.0)
    assert change_poller.elapsed_seconds() == 5


def test_looks_that_came_to_an_end_begin_again(
    peopled: Dsn, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(change_poller, "POLL_INTERVAL_SECONDS", "no number")

    async def see() -> None:
        async with watched(peopled) as found:
            await found.changed()
            monkeypatch.setattr(change_poller, "POLL_INTERVAL_SECONDS", 0.01)
            await found.changed()
            found.seconds.end_lease()
            await eventually_held(found.watch)

    asyncio.run(see())
    ended = [record for record in caplog.records if "change poller exited" in record.message]
    assert ended
    assert all(record.exc_info and record.exc_info[0] is TypeError for record in ended)


def test_a_look_that_fails_unexpectedly_fails_closed_and_is_told(
    peopled: Dsn, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def see() -> None:
        async with watched(peopled) as found:
            monkeypatch.setattr(change_log, "_POLL", None)
            await _refused(found)
            assert found.watch.is_stale

    asyncio.run(see())
    (told,) = [record for record in caplog.records if record.levelno == logging.WARNING]
    assert told.exc_info


def test_more_changes_than_are_remembered_are_one_of_everything(peopled: Dsn, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(change_poller, "MAX_KNOWN_CHANGES", 1)
    assert after(peopled, "UPDATE tenants SET disabled = true WHERE id = 1") == [ONE]
    assert after(peopled, "UPDATE tenants SET disabled = true") == EVERYTHING


def test_only_so_many_wait_for_a_look(peopled: Dsn, monkeypatch: pytest.MonkeyPatch) -> None:
    async def see() -> None:
        async with watched(peopled) as found:
            monkeypatch.setattr(change_poller, "MAX_WAITING", 0)
            with pytest.raises(Unavailable) as refusal:
                await found.changed()
            assert not refusal.value.closes

    asyncio.run(see())


# A server that stops


def test_everything_may_have_changed_over_a_restart(own: PostgresServer, own_address: Dsn) -> None:
    async def see() -> list[int | bytes]:
        async with watched(own_address) as found:
            await asyncio.to_thread(own.restart)
            return await found.changed(*EVERYTHING)

    assert asyncio.run(see()) == EVERYTHING


async def _refused(found: Watched) -> None:
    found.seconds.end_lease()
    with pytest.raises(Unavailable):
        await found.watch.poll()


@pytest.mark.parametrize(
    ("away", "back"), [(PostgresServer.stop, PostgresServer.start), (PostgresServer.pause, PostgresServer.resume)]
)
def test_while_it_cannot_look_nobody_waits_and_nobody_is_told_what_was(
    own: PostgresServer,
    own_address: Dsn,
    monkeypatch: pytest.MonkeyPatch,
    away: Callable[[PostgresServer], object],
    back: Callable[[PostgresServer], object],
) -> None:
    monkeypatch.setattr(change_poller, "POLL_TIMEOUT_SECONDS", 0.3)
    monkeypatch.setattr(change_poller, "POLL_INTERVAL_SECONDS", 0.05)

    async def see() -> None:
        async with watched(own_address) as found:
            await asyncio.to_thread(away, own)
            try:
                await _refused(found)
                # It is known by now that it fails: a look would take as long as it takes, and is not waited for.
                monkeypatch.setattr(change_poller, "POLL_TIMEOUT_SECONDS", 20)
                await asyncio.wait_for(_refused(found), 10)
                assert not found.watch.is_held
            finally:
                monkeypatch.setattr(change_poller, "POLL_TIMEOUT_SECONDS", 0.3)
                await asyncio.to_thread(back, own)
            monkeypatch.setattr(change_poller, "POLL_TIMEOUT_SECONDS", 5)
            await eventually_held(found.watch)
            await found.watch.poll()

    asyncio.run(see())
