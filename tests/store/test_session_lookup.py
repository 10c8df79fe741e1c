"""Session lookup: live sessions only, cached until something they depend on changes."""

from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from sqlalchemy import insert, text

from cloudconsole.server.http.request import RequestSequence
from cloudconsole.server.http.sessions import SessionFinder
from cloudconsole.store import session_lookup as module
from cloudconsole.store.activity_writes import ActivityStore
from cloudconsole.store.base import Parameters, Reader, RowTuple
from cloudconsole.store.session_lookup import Session, SessionCache, hash_session_id
from cloudconsole.store.sqlite.reader import SqliteReader
from cloudconsole.store.tables import accounts, tenants
from tests.store.conftest import ACCOUNT, CLIENT, NOW, attempt, new_session
from tests.stores import opened, run, wait_for_replicas, write_transaction

IDLE = 1800


class Worker:
    """A worker that looks up sessions by name."""

    def __init__(self, reader: Reader) -> None:
        self.sequence = RequestSequence()
        self._cache = SessionCache(reader, IDLE)
        unused: list[Any] = [None] * 4
        self._sessions = SessionFinder(unused[0], self._cache, reader.changes, self.sequence, *unused)

    def find(self, name: str = "s1", now: float = NOW, arrival: int | None = None) -> Session | None:
        return run(self._sessions.lookup(hash_session_id(name), arrival, now))

    def record_seen(self, later: int, *names: str) -> None:
        self._cache.record_seen({hash_session_id(name): NOW + later for name in names})


@pytest.fixture
def worker(folder: Path, reader: Reader) -> Worker:
    """A worker on a store with one account."""
    with opened(folder, "cloud") as engine, engine.begin() as connection:
        connection.execute(insert(tenants).values(id=3, name="acme"))
        account = {"id": ACCOUNT.id, "username": "alice", "role": "tenant", "version": ACCOUNT.version}
        connection.execute(insert(accounts).values(**account, tenant_id=3, password_hash="-", disabled=False))
    return Worker(reader)


@pytest.fixture
def opened_session(activity: ActivityStore, worker: Worker) -> None:
    """`s1`, opened by alice."""
    activity.open_session(attempt(), ACCOUNT, new_session("s1"), NOW)


pytestmark = pytest.mark.usefixtures("opened_session")


def touch(activity: ActivityStore, later: int) -> None:
    activity.touch_sessions({hash_session_id("s1"): NOW + later})


def test_an_opened_session_is_found(worker: Worker) -> None:
    found = worker.find("s1")
    assert found is not None
    assert (found.tenant_id, found.username, found.csrf_seed, found.seen_at) == (3, "alice", "seed-of-s1", NOW)
    assert worker.find("s2") is None


def test_login_and_logout_end_only_their_own_sessions(activity: ActivityStore, worker: Worker) -> None:
    for session in (new_session("other"), new_session("new", "s1", "never-was"), new_session("ended")):
        activity.open_session(attempt(), ACCOUNT, session, NOW)
    activity.end_session(hash_session_id("ended"), "alice", CLIENT, NOW)
    assert [name for name in ("s1", "other", "new", "ended") if worker.find(name)] == ["other", "new"]


@pytest.mark.parametrize(("later", "live"), [(0, True), (1799, True), (1800, False), (5000, False)])
def test_a_session_ends_when_idle(worker: Worker, later: int, live: bool) -> None:
    assert (worker.find(now=NOW + later) is not None) == live


@pytest.mark.parametrize(("later", "live"), [(99, True), (99.9, True), (100, False)])
def test_session_ends_at_its_expiry(activity: ActivityStore, worker: Worker, later: float, live: bool) -> None:
    activity.open_session(attempt(), ACCOUNT, new_session("short", expires_at=NOW + 100), NOW)
    assert (worker.find("short", NOW + later) is not None) == live


def test_touch_keeps_a_session_alive(activity: ActivityStore, worker: Worker) -> None:
    touch(activity, later=1000)
    assert worker.find(now=NOW + 2799) is not None


def change_account(folder: Path, change: str) -> None:
    with write_transaction(folder, "cloud") as connection:
        connection.execute(text(f"UPDATE accounts SET {change}"))


@pytest.mark.parametrize("change", ["disabled = true", "version = 42"])
@pytest.mark.parametrize("is_cached", [False, True])
def test_a_change_of_the_account_ends_its_sessions(worker: Worker, folder: Path, change: str, is_cached: bool) -> None:
    if is_cached:
        assert worker.find() is not None
    change_account(folder, change)
    assert worker.find() is None


# Cached sessions


def test_cached_session_is_found_without_reading_its_row(worker: Worker) -> None:
    first = worker.find()
    assert first is not None
    assert worker.find() is first


@pytest.mark.embedded_only
def test_commit_to_either_database_is_noticed(activity: ActivityStore, worker: Worker, folder: Path) -> None:
    first = worker.find()
    touch(activity, later=60)
    second = worker.find()
    change_account(folder, "role = 'operator'")
    third = worker.find()
    found = [each and (each.seen_at - NOW, each.role) for each in (first, second, third)]
    assert found == [(0, "tenant"), (60, "tenant"), (60, "operator")]


def test_poll_is_valid_for_earlier_requests_only(activity: ActivityStore, worker: Worker, folder: Path) -> None:
    first, second = worker.sequence.next(), worker.sequence.next()
    assert worker.find(arrival=first)
    activity.end_session(hash_session_id("s1"), "alice", CLIENT, NOW)
    # This request arrived before the session was ended, so it may still find it.
    assert worker.find(arrival=second)
    wait_for_replicas(folder)
    assert worker.find(arrival=worker.sequence.next()) is None
    assert worker.find(arrival=second) is None


# Changes not polled yet: requests that arrived before the last poll need no other.


@pytest.mark.parametrize("later", [None, 1000], ids=["idle in the store", "idle only in the cache"])
def test_session_idle_in_the_cache_is_read_again(activity: ActivityStore, worker: Worker, later: int | None) -> None:
    first, second = worker.sequence.next(), worker.sequence.next()
    worker.find(arrival=first)
    if later is not None:
        touch(activity, later)
    found = worker.find(now=NOW + IDLE, arrival=second)
    assert (found and found.seen_at) == (later and NOW + later)


def test_recorded_use_updates_the_cache(activity: ActivityStore, worker: Worker) -> None:
    activity.open_session(attempt(), ACCOUNT, new_session("other"), NOW)
    first, second = worker.sequence.next(), worker.sequence.next()
    other, before = worker.find("other", arrival=first), worker.find(arrival=first)
    worker.record_seen(1000, "s1", "never-was")
    found = worker.find(arrival=second)
    assert before is not None
    assert found == replace(before, seen_at=NOW + 1000)
    assert worker.find("other", arrival=second) is other
    assert worker.find("never-was") is None


def test_recorded_use_does_not_revive_an_ended_session(folder: Path, activity: ActivityStore, worker: Worker) -> None:
    worker.find()
    touch(activity, later=1000)
    activity.end_session(hash_session_id("s1"), "alice", CLIENT, NOW)
    worker.record_seen(1000, "s1")
    wait_for_replicas(folder)
    assert worker.find(now=NOW + 1000) is None


class SlowReader(SqliteReader):
    """Something happens while a row is being read, and another request polls."""

    meanwhile: Callable[[], None] | None = None

    async def one(self, sql: str, parameters: Parameters = ()) -> RowTuple | None:
        row = await super().one(sql, parameters)
        if self.meanwhile is not None:
            self.meanwhile()
            await self.changes.poll()
        return row


@pytest.mark.embedded_only
def test_a_change_while_the_row_was_read_makes_it_stale(activity: ActivityStore, folder: Path) -> None:
    with closing(SlowReader(folder)) as reader:
        worker = Worker(reader)
        first, second = worker.sequence.next(), worker.sequence.next()
        reader.meanwhile = lambda: activity.end_session(hash_session_id("s1"), "alice", CLIENT, NOW)
        assert worker.find(arrival=first) is not None
        assert worker.find(arrival=second) is None


# Cache size


def test_oldest_cached_session_is_evicted_and_found_again(
    activity: ActivityStore, worker: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MAX_CACHED", 3)
    for name in "abcd":
        activity.open_session(attempt(), ACCOUNT, new_session(name), NOW)
    first = [worker.find(name) for name in "abcd"]
    # In reverse order, since finding the oldest again caches it and evicts another.
    again = [worker.find(name) for name in "dcba"][::-1]
    for found in (first, again):
        assert [session and session.csrf_seed for session in found] == [f"seed-of-{name}" for name in "abcd"]
    assert [before is after for before, after in zip(first, again, strict=True)] == [False, True, True, True]


# Untrusted lookups


def recording(calls: list[str], name: str, method: Callable[..., Any]) -> Callable[..., Any]:
    async def call(sql: str, parameters: Parameters = ()) -> RowTuple | None:
        calls.append(name)
        row: RowTuple | None = await method(sql, parameters)
        return row

    return call


@pytest.mark.parametrize(
    ("name", "is_known", "method"), [("s1", True, "one"), ("s1", False, "seek"), ("s2", False, "seek")]
)
def test_unknown_session_is_read_as_untrusted_in_one_statement(
    reader: Reader, worker: Worker, monkeypatch: pytest.MonkeyPatch, name: str, is_known: bool, method: str
) -> None:
    if is_known:
        worker.find(name)
    calls = list[str]()
    for each in ("one", "seek"):
        monkeypatch.setattr(reader, each, recording(calls, each, getattr(reader, each)))
    # It is idle according to the cache, so it is read again.
    worker.find(name, now=NOW + IDLE)
    assert (calls[0], calls.count(method)) == (method, 1)
