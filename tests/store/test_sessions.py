"""Sessions as they are found: live ones only, and remembered only while nothing they hang on has changed."""

from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from sqlalchemy import Engine, insert, text

from cloudconsole.server.http.request import RequestSequence
from cloudconsole.server.http.sessions import Sessions
from cloudconsole.store import sessions as module
from cloudconsole.store.activity import ActivityStore
from cloudconsole.store.base import Parameters, Reader, Row
from cloudconsole.store.sessions import Session, SessionCache, hash_session_id
from cloudconsole.store.sqlite.reader import SqliteReader
from cloudconsole.store.tables import accounts, sessions, tenants
from tests.store.logins import ACCOUNT, HERE, NOW, attempt, new_session
from tests.stores import changing, opened, run, settle

IDLE = 1800


class Worker:
    """One that finds sessions by their names."""

    def __init__(self, reader: Reader) -> None:
        self.arrivals = RequestSequence()
        self._cache = SessionCache(reader, IDLE)
        nothing: Any = None
        self._sessions = Sessions(
            nothing, self._cache, reader.changes, self.arrivals, nothing, nothing, nothing, nothing
        )

    def find(self, name: str = "s1", now: float = NOW, arrival: int | None = None) -> Session | None:
        return run(self._sessions.lookup(hash_session_id(name), arrival, now))

    def note_seen(self, later: int, *names: str) -> None:
        self._cache.record_seen({hash_session_id(name): NOW + later for name in names})


@pytest.fixture
def worker(folder: Path, reader: Reader) -> Worker:
    """Over a store with one account."""
    with opened(folder, "cloud") as engine, engine.begin() as connection:
        connection.execute(insert(tenants).values(id=3, name="acme"))
        account = {"id": ACCOUNT.id, "username": "alice", "role": "tenant", "version": ACCOUNT.version}
        connection.execute(insert(accounts).values(**account, tenant_id=3, password_hash="-", disabled=False))
    return Worker(reader)


@pytest.fixture
def opened_session(activity: ActivityStore, worker: Worker) -> None:
    """`s1`, which alice opened."""
    activity.open_session(attempt(), ACCOUNT, new_session("s1"), NOW)


pytestmark = pytest.mark.usefixtures("opened_session")


def use(activity: ActivityStore, later: int) -> None:
    activity.touch_sessions({hash_session_id("s1"): NOW + later})


def test_an_opened_session_is_found(worker: Worker) -> None:
    found = worker.find("s1")
    assert found is not None
    assert (found.tenant_id, found.username, found.csrf_seed, found.seen_at) == (3, "alice", "seed-of-s1", NOW)


def test_an_unknown_session_is_not_found(worker: Worker) -> None:
    assert worker.find("s2") is None


def test_a_login_ends_the_sessions_it_replaces_and_no_other(activity: ActivityStore, worker: Worker) -> None:
    activity.open_session(attempt(), ACCOUNT, new_session("other"), NOW)
    activity.open_session(attempt(), ACCOUNT, new_session("new", "s1", "never-was"), NOW)
    assert [name for name in ("s1", "other", "new") if worker.find(name)] == ["other", "new"]


def test_a_logout_ends_its_session_only(activity: ActivityStore, worker: Worker) -> None:
    activity.open_session(attempt(), ACCOUNT, new_session("other"), NOW)
    activity.end_session(hash_session_id("s1"), "alice", HERE, NOW)
    assert [name for name in ("s1", "other") if worker.find(name)] == ["other"]


@pytest.mark.parametrize(("later", "live"), [(0, True), (1799, True), (1800, False), (5000, False)])
def test_a_session_ends_when_idle(worker: Worker, later: int, live: bool) -> None:
    assert (worker.find(now=NOW + later) is not None) == live


@pytest.mark.parametrize(("later", "live"), [(99, True), (99.9, True), (100, False)])
def test_a_session_ends_at_its_end(activity: ActivityStore, worker: Worker, later: float, live: bool) -> None:
    activity.open_session(attempt(), ACCOUNT, new_session("short", expires_at=NOW + 100), NOW)
    assert (worker.find("short", NOW + later) is not None) == live


def test_use_keeps_a_session_alive(activity: ActivityStore, worker: Worker) -> None:
    use(activity, later=1000)
    assert worker.find(now=NOW + 2799) is not None


def change_account(folder: Path, change: str) -> None:
    with changing(folder, "cloud") as connection:
        connection.execute(text(f"UPDATE accounts SET {change}"))


@pytest.mark.parametrize("change", ["disabled = true", "version = 42"])
@pytest.mark.parametrize("is_remembered", [False, True])
def test_a_change_of_the_account_ends_its_sessions(
    worker: Worker, folder: Path, change: str, is_remembered: bool
) -> None:
    if is_remembered:
        assert worker.find() is not None
    change_account(folder, change)
    assert worker.find() is None


# What is remembered of them


def test_a_session_is_found_again_without_reading_its_row(worker: Worker) -> None:
    first = worker.find()
    assert first is not None
    assert worker.find() is first


@pytest.mark.embedded_only
def test_a_change_of_either_part_has_the_row_read_again(activity: ActivityStore, worker: Worker, folder: Path) -> None:
    first = worker.find()
    use(activity, later=60)
    second = worker.find()
    change_account(folder, "role = 'operator'")
    third = worker.find()
    assert [each and (each.seen_at - NOW, each.role) for each in (first, second, third)] == [
        (0, "tenant"),
        (60, "tenant"),
        (60, "operator"),
    ]


def test_a_remembered_session_ends_with_its_time(worker: Worker) -> None:
    assert worker.find()
    assert worker.find(now=NOW + IDLE) is None
    assert worker.find(now=NOW + IDLE - 1)


def test_a_look_serves_what_had_arrived_before_it_and_nothing_later(
    activity: ActivityStore, worker: Worker, folder: Path
) -> None:
    first, second = worker.arrivals.next(), worker.arrivals.next()
    assert worker.find(arrival=first)
    activity.end_session(hash_session_id("s1"), "alice", HERE, NOW)
    # It had arrived before the session was ended, so it may still find it.
    assert worker.find(arrival=second)
    settle(folder)
    assert worker.find(arrival=worker.arrivals.next()) is None
    assert worker.find(arrival=second) is None


# Of a change that nobody has looked for yet: calls that arrived before the last look, which need no other.


def test_one_that_is_idle_by_our_memory_alone_is_read_again(activity: ActivityStore, worker: Worker) -> None:
    first, second = worker.arrivals.next(), worker.arrivals.next()
    worker.find(arrival=first)
    use(activity, later=1000)
    found = worker.find(now=NOW + IDLE, arrival=second)
    assert found is not None
    assert found.seen_at == NOW + 1000


def test_one_that_is_read_again_and_idle_has_ended(worker: Worker) -> None:
    first, second = worker.arrivals.next(), worker.arrivals.next()
    worker.find(arrival=first)
    assert worker.find(now=NOW + IDLE, arrival=second) is None


def test_a_use_that_was_written_down_is_known_without_reading_it(activity: ActivityStore, worker: Worker) -> None:
    activity.open_session(attempt(), ACCOUNT, new_session("other"), NOW)
    first, second = worker.arrivals.next(), worker.arrivals.next()
    other, before = worker.find("other", arrival=first), worker.find(arrival=first)
    worker.note_seen(1000, "s1", "never-was")
    found = worker.find(arrival=second)
    assert before is not None
    assert found == replace(before, seen_at=NOW + 1000)
    assert worker.find("other", arrival=second) is other
    assert worker.find("never-was") is None


def test_a_use_that_was_written_down_does_not_keep_what_was_ended(
    folder: Path, activity: ActivityStore, worker: Worker
) -> None:
    worker.find()
    use(activity, later=1000)
    activity.end_session(hash_session_id("s1"), "alice", HERE, NOW)
    worker.note_seen(1000, "s1")
    settle(folder)
    assert worker.find(now=NOW + 1000) is None


class SlowReader(SqliteReader):
    """Something happens while a row is on its way, and another call learns of it."""

    meanwhile: Callable[[], None] | None = None

    async def one(self, sql: str, parameters: Parameters = ()) -> Row | None:
        row = await super().one(sql, parameters)
        if self.meanwhile is not None:
            self.meanwhile()
            await self.changes.poll()
        return row


@pytest.mark.embedded_only
def test_a_change_while_the_row_was_read_makes_it_stale(activity: ActivityStore, folder: Path) -> None:
    with closing(SlowReader(folder)) as reader:
        worker = Worker(reader)
        first, second = worker.arrivals.next(), worker.arrivals.next()
        reader.meanwhile = lambda: activity.end_session(hash_session_id("s1"), "alice", HERE, NOW)
        assert worker.find(arrival=first) is not None
        assert worker.find(arrival=second) is None


# How many are remembered


@pytest.fixture
def crowd(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of four sessions, of which three are remembered at most."""
    monkeypatch.setattr(module, "MAX_CACHED", 3)
    times = {"seen_at": NOW, "expires_at": NOW + IDLE}
    rows: list[dict[str, Any]] = [
        {"id_hash": hash_session_id(name), "csrf_seed": name, "account_id": ACCOUNT.id, **times} for name in "abcd"
    ]
    with engine.begin() as connection:
        connection.execute(insert(sessions), [{**row, "account_version": ACCOUNT.version} for row in rows])
    return list("abcd")


def test_more_sessions_than_are_remembered_are_all_found(worker: Worker, crowd: list[str]) -> None:
    for _ in range(2):
        found = [worker.find(name) for name in crowd]
        assert [session and session.csrf_seed for session in found] == crowd


def test_the_oldest_that_is_remembered_makes_room(worker: Worker, crowd: list[str]) -> None:
    first = [worker.find(name) for name in crowd]
    # The others first, since to find the oldest again is to remember it, which takes another's room.
    again = [worker.find(name) for name in reversed(crowd)][::-1]
    assert [before is after for before, after in zip(first, again, strict=True)] == [False, True, True, True]


# Who looks for one


def noting(asked: list[str], name: str, way: Callable[..., Any]) -> Callable[..., Any]:
    async def ask(sql: str, parameters: Parameters = ()) -> Row | None:
        asked.append(name)
        row: Row | None = await way(sql, parameters)
        return row

    return ask


@pytest.mark.parametrize(
    ("name", "is_known", "way"), [("s1", True, "one"), ("s1", False, "seek"), ("s2", False, "seek")]
)
def test_one_that_may_be_made_up_is_sought_and_by_a_single_statement(
    reader: Reader,
    worker: Worker,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    is_known: bool,
    way: str,
) -> None:
    if is_known:
        worker.find(name)
    asked = list[str]()
    for each in ("one", "seek"):
        monkeypatch.setattr(reader, each, noting(asked, each, getattr(reader, each)))
    # By our memory alone it is idle, so that it is read again.
    worker.find(name, now=NOW + IDLE)
    assert (asked[0], asked.count(way)) == (way, 1)
