"""The watch over a real PostgreSQL: which changes it sees, when it forgets everything, and when it can say nothing."""

import asyncio
from collections.abc import Callable

import psycopg
import pytest
from cluster.postgres import PostgresServer

from cloudconsole.spec.errors import Unavailable
from cloudconsole.store.postgres import watching
from cloudconsole.store.postgres.address import DatabaseAddress
from cloudconsole.store.postgres.signals import KEPT_SECONDS
from tests.scale.postgres.watching import Watched, eventually_held, execute, watched

ONE, TWO = 1, 2
S1, S2 = b"s1", b"s2"
EVERYTHING: list[int | bytes] = [ONE, TWO, S1, S2]
TENANTS = "INSERT INTO tenants (id, name) VALUES (1, 'one'), (2, 'two')"
SESSIONS = """
    INSERT INTO sessions (id_hash, account_id, account_version, csrf_seed, seen_at, expires_at)
    VALUES ('s1', 1, 1, 'seed', 1, 99999999999), ('s2', 1, 1, 'seed', 1, 99999999999)
"""


@pytest.fixture(autouse=True)
def _no_looks_in_between(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watching, "LOOK_EVERY_SECONDS", 3600)


@pytest.fixture
def peopled(address: DatabaseAddress) -> DatabaseAddress:
    execute(address, TENANTS, SESSIONS)
    return address


def after(address: DatabaseAddress, *statements: str) -> list[int | bytes]:
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
def test_a_change_is_seen_by_whom_it_concerns(peopled: DatabaseAddress, statement: str, changed: list[object]) -> None:
    assert after(peopled, statement) == changed


def test_what_was_taken_back_is_no_change(peopled: DatabaseAddress) -> None:
    assert after(peopled, "UPDATE tenants SET disabled = true", "ROLLBACK") == []


def test_a_session_that_ends_is_told_whatever_the_databases_clock_says(address: DatabaseAddress) -> None:
    execute(address, SESSIONS.replace("99999999999", "1"))
    assert after(address, "DELETE FROM sessions WHERE id_hash = 's2'") == [S2]


def test_many_that_have_expired_need_no_word(address: DatabaseAddress) -> None:
    many = "INSERT INTO sessions SELECT n::text::bytea, 1, 1, 'seed', 1, 1 FROM generate_series(1, 200) AS n"
    execute(address, SESSIONS, many)
    assert after(address, "DELETE FROM sessions WHERE expires_at = 1 OR id_hash = 's1'") == [S1]


def test_each_change_is_told_once(peopled: DatabaseAddress) -> None:
    async def see() -> list[list[int | bytes]]:
        async with watched(peopled) as found:
            execute(peopled, "UPDATE tenants SET disabled = true WHERE id = 1")
            return [await found.changed(*EVERYTHING) for _ in range(3)]

    assert asyncio.run(see()) == [[ONE], [], []]


def test_a_transaction_that_is_open_for_long_hides_none_that_ends_before_it(peopled: DatabaseAddress) -> None:
    async def see() -> list[list[int | bytes]]:
        async with watched(peopled) as found:
            with psycopg.connect(peopled.conninfo()) as first:
                first.execute("UPDATE tenants SET disabled = true WHERE id = 1")
                execute(peopled, "UPDATE tenants SET disabled = true WHERE id = 2")
                seen = [await found.changed(*EVERYTHING), await found.changed(*EVERYTHING)]
            return [*seen, await found.changed(*EVERYTHING), await found.changed(*EVERYTHING)]

    assert asyncio.run(see()) == [[TWO], [], [ONE], []]


def test_under_the_lease_nobody_looks(peopled: DatabaseAddress) -> None:
    async def see() -> bool:
        async with watched(peopled) as found:
            execute(peopled, "UPDATE tenants SET disabled = true")
            before = found.watch.latest
            found.seconds.moment += watching.LEASE_SECONDS * 0.9
            await found.watch.look()
            return found.watch.latest == before

    assert asyncio.run(see())


def test_after_its_connection_was_cut_everything_may_have_changed(peopled: DatabaseAddress) -> None:
    cut = "SELECT pg_terminate_backend(pid, 20000) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND datname = "
    assert after(peopled, f"{cut} current_database()") == EVERYTHING


def test_after_a_long_silence_everything_may_have_changed(peopled: DatabaseAddress) -> None:
    async def see() -> list[int | bytes]:
        async with watched(peopled) as found:
            found.seconds.moment += KEPT_SECONDS
            return await found.changed(*EVERYTHING)

    assert asyncio.run(see()) == EVERYTHING


def test_more_changes_than_are_remembered_are_one_of_everything(
    peopled: DatabaseAddress, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watching, "MOST_KNOWN", 1)
    assert after(peopled, "UPDATE tenants SET disabled = true WHERE id = 1") == [ONE]
    assert after(peopled, "UPDATE tenants SET disabled = true") == EVERYTHING


def test_only_so_many_wait_for_a_look(peopled: DatabaseAddress, monkeypatch: pytest.MonkeyPatch) -> None:
    async def see() -> None:
        async with watched(peopled) as found:
            monkeypatch.setattr(watching, "MOST_WAITING", 0)
            with pytest.raises(Unavailable):
                await found.changed()

    asyncio.run(see())


# A server that stops


def test_everything_may_have_changed_over_a_restart(own: PostgresServer, own_address: DatabaseAddress) -> None:
    async def see() -> list[int | bytes]:
        async with watched(own_address) as found:
            await asyncio.to_thread(own.restart)
            return await found.changed(*EVERYTHING)

    assert asyncio.run(see()) == EVERYTHING


async def _refused(found: Watched) -> None:
    found.seconds.end_lease()
    with pytest.raises(Unavailable):
        await found.watch.look()


@pytest.mark.parametrize(
    ("away", "back"), [(PostgresServer.stop, PostgresServer.start), (PostgresServer.pause, PostgresServer.resume)]
)
def test_while_it_cannot_look_nobody_waits_and_nobody_is_told_what_was(
    own: PostgresServer,
    own_address: DatabaseAddress,
    monkeypatch: pytest.MonkeyPatch,
    away: Callable[[PostgresServer], object],
    back: Callable[[PostgresServer], object],
) -> None:
    monkeypatch.setattr(watching, "LOOK_SECONDS", 0.3)
    monkeypatch.setattr(watching, "LOOK_EVERY_SECONDS", 0.05)

    async def see() -> None:
        async with watched(own_address) as found:
            await asyncio.to_thread(away, own)
            try:
                await _refused(found)
                # It is known by now that it fails: a look would take as long as it takes, and is not waited for.
                monkeypatch.setattr(watching, "LOOK_SECONDS", 20)
                await asyncio.wait_for(_refused(found), 10)
                assert not found.watch.is_held
            finally:
                monkeypatch.setattr(watching, "LOOK_SECONDS", 0.3)
                await asyncio.to_thread(back, own)
            monkeypatch.setattr(watching, "LOOK_SECONDS", 5)
            await eventually_held(found.watch)
            await found.watch.look()

    asyncio.run(see())
