"""Sessions, failed logins and the access trail, as they are written."""

import hashlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from shutil import copytree
from typing import Any

import pytest
from sqlalchemy import Engine, Table, func, insert, select, text

from cloudconsole.core.ports import Account, Caller
from cloudconsole.spec.errors import InvalidCredentials, TooManyRequests, Unavailable
from cloudconsole.store.activity import Activity, Attempt, NewSession
from cloudconsole.store.arrivals import Arrivals
from cloudconsole.store.engine import open_engine
from cloudconsole.store.preparing import prepare
from cloudconsole.store.reader import Reader
from cloudconsole.store.sessions import MOST_REMEMBERED, SessionReader, hash_session_id
from cloudconsole.store.tables import access_audit, accounts, login_failures, sessions, tenants

NOW = 1_800_000_000
ACCOUNT = Account(1, "alice", 41, "tenant")
HERE = Caller("192.0.2.1", "request-1")
IDLE = 1800


@pytest.fixture(scope="module")
def empty_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("activity") / "data"
    prepare(folder)
    cloud = open_engine(folder, "cloud")
    with cloud.begin() as connection:
        connection.execute(insert(tenants).values(id=3, name="acme"))
        connection.execute(
            insert(accounts).values(
                id=1, tenant_id=3, username="alice", role="tenant", password_hash="-", disabled=False, version=41
            )
        )
    cloud.dispose()
    return folder


@pytest.fixture
def folder(empty_store: Path, tmp_path: Path) -> Path:
    return copytree(empty_store, tmp_path / "data")


@pytest.fixture
def engine(folder: Path) -> Iterator[Engine]:
    engine = open_engine(folder, "activity")
    yield engine
    engine.dispose()


@pytest.fixture
def activity(engine: Engine) -> Activity:
    return Activity(engine)


@pytest.fixture
def reader(folder: Path) -> Iterator[SessionReader]:
    reader = Reader(folder)
    yield SessionReader(reader, IDLE, Arrivals())
    reader.close()


def _rows(engine: Engine, table: Table) -> list[dict[str, Any]]:
    with engine.connect() as connection:
        return [dict(row) for row in connection.execute(select(table)).mappings()]


def _attempt(username: str = "alice", network: str = "192.0.2.0/24") -> Attempt:
    return Attempt(username, network, HERE)


def _session(name: str = "s1", *replaces: str, expires_at: int = NOW + 43_200) -> NewSession:
    old = tuple(hash_session_id(each) for each in replaces)
    return NewSession(hash_session_id(name), "seed-of-" + name, expires_at, old)


def _fail(activity: Activity, attempt: Attempt, times: int, at: int = NOW) -> list[object]:
    return [_outcome(activity, attempt, at) for _ in range(times)]


def _outcome(activity: Activity, attempt: Attempt, at: int) -> object:
    try:
        activity.count_failure(attempt, None, at)
    except TooManyRequests as wait:
        return type(wait)
    return InvalidCredentials


# Sessions


def test_an_opened_session_is_found(activity: Activity, reader: SessionReader) -> None:
    activity.open_session(_attempt(), ACCOUNT, _session(), NOW)
    found = reader.find(hash_session_id("s1"), NOW)
    assert found is not None
    assert (found.tenant_id, found.username, found.csrf_seed, found.seen_at) == (3, "alice", "seed-of-s1", NOW)


def test_the_session_id_itself_is_not_stored(activity: Activity, engine: Engine) -> None:
    activity.open_session(_attempt(), ACCOUNT, _session("s1-very-secret"), NOW)
    (row,) = _rows(engine, sessions)
    assert row["id_hash"] == hashlib.sha256(b"s1-very-secret").digest()
    assert "very-secret" not in repr({name: value for name, value in row.items() if name != "csrf_seed"})


def test_an_unknown_session_is_not_found(activity: Activity, reader: SessionReader) -> None:
    activity.open_session(_attempt(), ACCOUNT, _session(), NOW)
    assert reader.find(hash_session_id("s2"), NOW) is None


def test_a_login_ends_the_sessions_it_replaces_and_no_other(activity: Activity, reader: SessionReader) -> None:
    for name in ("old", "other"):
        activity.open_session(_attempt(), ACCOUNT, _session(name), NOW)
    activity.open_session(_attempt(), ACCOUNT, _session("new", "old", "never-was"), NOW)
    live = [name for name in ("old", "other", "new") if reader.find(hash_session_id(name), NOW)]
    assert live == ["other", "new"]


def test_a_logout_ends_its_session_only(activity: Activity, reader: SessionReader) -> None:
    for name in ("one", "two"):
        activity.open_session(_attempt(), ACCOUNT, _session(name), NOW)
    activity.end_session(hash_session_id("one"), "alice", HERE, NOW)
    assert [reader.find(hash_session_id(name), NOW) is not None for name in ("one", "two")] == [False, True]


@pytest.mark.parametrize(("later", "live"), [(0, True), (1799, True), (1800, False), (5000, False)])
def test_a_session_ends_when_idle(activity: Activity, reader: SessionReader, later: int, live: bool) -> None:
    activity.open_session(_attempt(), ACCOUNT, _session(), NOW)
    assert (reader.find(hash_session_id("s1"), NOW + later) is not None) == live


@pytest.mark.parametrize(("later", "live"), [(99, True), (99.9, True), (100, False)])
def test_a_session_ends_at_its_end(activity: Activity, reader: SessionReader, later: float, live: bool) -> None:
    activity.open_session(_attempt(), ACCOUNT, _session(expires_at=NOW + 100), NOW)
    assert (reader.find(hash_session_id("s1"), NOW + later) is not None) == live


def test_use_keeps_a_session_alive(activity: Activity, reader: SessionReader) -> None:
    activity.open_session(_attempt(), ACCOUNT, _session(), NOW)
    activity.touch_sessions({hash_session_id("s1"): NOW + 1000})
    assert reader.find(hash_session_id("s1"), NOW + 2799) is not None


def test_a_late_note_of_use_does_not_turn_time_back(activity: Activity, engine: Engine) -> None:
    activity.open_session(_attempt(), ACCOUNT, _session(), NOW)
    for moment in (NOW + 1000, NOW + 1000 - 59):
        activity.touch_sessions({hash_session_id("s1"): moment})
    assert [row["seen_at"] for row in _rows(engine, sessions)] == [NOW + 1000]


def test_use_after_the_clock_was_set_back_counts_from_there(activity: Activity, engine: Engine) -> None:
    activity.open_session(_attempt(), ACCOUNT, _session(), NOW)
    activity.touch_sessions({hash_session_id("s1"): NOW - 60})
    assert [row["seen_at"] for row in _rows(engine, sessions)] == [NOW - 60]


def test_use_of_an_ended_session_does_not_revive_it(activity: Activity, engine: Engine) -> None:
    activity.touch_sessions({hash_session_id("s1"): NOW})
    assert _rows(engine, sessions) == []


@pytest.mark.parametrize("change", ["disabled = 1", "version = 42"])
def test_a_change_of_the_account_ends_its_sessions(
    activity: Activity, reader: SessionReader, folder: Path, change: str
) -> None:
    activity.open_session(_attempt(), ACCOUNT, _session(), NOW)
    cloud = open_engine(folder, "cloud")
    with cloud.begin() as connection:
        connection.execute(text(f"UPDATE accounts SET {change}"))
    cloud.dispose()
    assert reader.find(hash_session_id("s1"), NOW) is None


def test_a_login_sweeps_out_expired_sessions(activity: Activity, engine: Engine) -> None:
    activity.open_session(_attempt(), ACCOUNT, _session("old", expires_at=NOW + 10), NOW)
    activity.open_session(_attempt(), ACCOUNT, _session("new"), NOW + 10)
    assert [row["id_hash"] for row in _rows(engine, sessions)] == [hash_session_id("new")]


# Failed logins


def test_nine_failures_do_not_make_anyone_wait(activity: Activity) -> None:
    _fail(activity, _attempt(), 9)
    activity.check_throttle(_attempt(), NOW)


def test_after_ten_failures_the_user_waits(activity: Activity) -> None:
    assert _fail(activity, _attempt(), 10) == [InvalidCredentials] * 10
    with pytest.raises(TooManyRequests):
        activity.check_throttle(_attempt(), NOW)


def test_failures_of_a_clock_that_was_set_back_make_nobody_wait(activity: Activity) -> None:
    _fail(activity, _attempt(), 10)
    activity.check_throttle(_attempt(), NOW - 61)


def test_those_that_another_worker_counted_a_little_sooner_do(activity: Activity) -> None:
    _fail(activity, _attempt(), 10)
    with pytest.raises(TooManyRequests):
        activity.check_throttle(_attempt(), NOW - 60)


def test_the_eleventh_failure_is_told_to_wait_and_not_counted(activity: Activity, engine: Engine) -> None:
    _fail(activity, _attempt(), 10)
    assert _fail(activity, _attempt(), 3) == [TooManyRequests] * 3
    assert len(_rows(engine, login_failures)) == 10


def test_another_user_of_the_same_network_does_not_wait(activity: Activity) -> None:
    _fail(activity, _attempt(), 10)
    activity.check_throttle(_attempt("bob"), NOW)


def test_the_same_user_of_another_network_does_not_wait(activity: Activity) -> None:
    _fail(activity, _attempt(), 10)
    activity.check_throttle(_attempt(network="198.51.100.0/24"), NOW)


def test_after_a_hundred_failures_of_a_network_everyone_there_waits(activity: Activity) -> None:
    for number in range(99):
        _fail(activity, _attempt(f"user{number}"), 1)
    activity.check_throttle(_attempt("bob"), NOW)
    _fail(activity, _attempt("user99"), 1)
    with pytest.raises(TooManyRequests):
        activity.check_throttle(_attempt("bob"), NOW)
    activity.check_throttle(_attempt("bob", "198.51.100.0/24"), NOW)


def test_failures_count_for_five_minutes(activity: Activity) -> None:
    _fail(activity, _attempt(), 10)
    with pytest.raises(TooManyRequests):
        activity.check_throttle(_attempt(), NOW + 299)
    activity.check_throttle(_attempt(), NOW + 300)


@pytest.mark.parametrize(("later", "wait"), [(0, 60), (200, 60), (240, 60), (270, 30), (299, 1)])
def test_how_long_to_wait(activity: Activity, later: int, wait: int) -> None:
    _fail(activity, _attempt(), 10)
    with pytest.raises(TooManyRequests) as refusal:
        activity.check_throttle(_attempt(), NOW + later)
    assert refusal.value.retry_after == wait


def test_the_wait_is_for_the_failure_whose_ageing_frees_a_place(activity: Activity) -> None:
    _fail(activity, _attempt(), 1, NOW)
    _fail(activity, _attempt(), 9, NOW + 100)
    with pytest.raises(TooManyRequests) as refusal:
        activity.check_throttle(_attempt(), NOW + 290)
    assert refusal.value.retry_after == 10
    activity.check_throttle(_attempt(), NOW + 300)


def test_a_login_clears_the_users_failures_only(activity: Activity, engine: Engine) -> None:
    _fail(activity, _attempt(), 9)
    _fail(activity, _attempt("bob"), 2)
    _fail(activity, _attempt(network="198.51.100.0/24"), 1)
    activity.open_session(_attempt(), ACCOUNT, _session(), NOW)
    kept = {(row["network"], row["user_hash"]) for row in _rows(engine, login_failures)}
    assert kept == {
        ("192.0.2.0/24", hashlib.sha256(b"bob").digest()),
        ("198.51.100.0/24", hashlib.sha256(b"alice").digest()),
    }


def test_a_right_password_does_not_get_past_the_limit(activity: Activity, engine: Engine) -> None:
    _fail(activity, _attempt(), 10)
    with pytest.raises(TooManyRequests):
        activity.open_session(_attempt(), ACCOUNT, _session(), NOW)
    assert _rows(engine, sessions) == []


def test_logins_never_make_anyone_wait(activity: Activity) -> None:
    for number in range(30):
        activity.open_session(_attempt(), ACCOUNT, _session(f"s{number}"), NOW)
    activity.check_throttle(_attempt(), NOW)


def test_old_failures_are_swept_out(activity: Activity, engine: Engine) -> None:
    _fail(activity, _attempt(), 3)
    _fail(activity, _attempt("bob"), 1, NOW + 300)
    assert [row["at"] for row in _rows(engine, login_failures)] == [NOW + 300]


def test_what_was_typed_as_the_user_is_not_kept(activity: Activity, engine: Engine) -> None:
    _fail(activity, _attempt("my-password"), 1)
    assert "my-password" not in repr(_rows(engine, login_failures) + _rows(engine, access_audit))


def test_failures_at_once_are_counted_one_by_one(folder: Path, activity: Activity, engine: Engine) -> None:
    def one_worker(_number: int) -> list[object]:
        own = open_engine(folder, "activity")
        answers = _fail(Activity(own), _attempt(), 5)
        own.dispose()
        return answers

    with ThreadPoolExecutor(4) as workers:
        answers = [answer for each in workers.map(one_worker, range(4)) for answer in each]
    assert (answers.count(InvalidCredentials), answers.count(TooManyRequests)) == (10, 10)
    assert len(_rows(engine, login_failures)) == 10


# The access trail


def test_login_refusal_and_logout_are_noted(activity: Activity, engine: Engine) -> None:
    activity.count_failure(_attempt(), "alice", NOW)
    activity.count_failure(_attempt("nobody"), None, NOW + 1)
    activity.open_session(_attempt(), ACCOUNT, _session(), NOW + 2)
    activity.end_session(hash_session_id("s1"), "alice", Caller("192.0.2.9", "request-2"), NOW + 3)
    lines = [
        (row["at"] - NOW, row["event"], row["username"], row["address"], row["request_id"])
        for row in _rows(engine, access_audit)
    ]
    assert lines == [
        (0, "login_refused", "alice", "192.0.2.1", "request-1"),
        (1, "login_refused", None, "192.0.2.1", "request-1"),
        (2, "login", "alice", "192.0.2.1", "request-1"),
        (3, "logout", "alice", "192.0.2.9", "request-2"),
    ]


# Secrets and trouble


def test_a_secret_is_made_once(activity: Activity) -> None:
    assert activity.secret("csrf", b"first") == b"first"
    assert activity.secret("csrf", b"second") == b"first"


def test_secrets_are_told_apart_by_name(activity: Activity) -> None:
    assert (activity.secret("one", b"1"), activity.secret("two", b"2")) == (b"1", b"2")


def test_starting_at_once_all_get_the_same_secret(folder: Path) -> None:
    def one_worker(number: int) -> bytes:
        own = open_engine(folder, "activity")
        secret = Activity(own).secret("csrf", b"secret %d" % number)
        own.dispose()
        return secret

    with ThreadPoolExecutor(4) as workers:
        assert len(set(workers.map(one_worker, range(8)))) == 1


def test_a_broken_store_is_unavailable(activity: Activity, engine: Engine) -> None:
    with engine.begin() as connection:
        connection.execute(text("DROP TABLE sessions"))
    with pytest.raises(Unavailable):
        activity.open_session(_attempt(), ACCOUNT, _session(), NOW)


def test_a_login_that_fails_half_way_leaves_nothing(activity: Activity, engine: Engine) -> None:
    _fail(activity, _attempt(), 3)
    with engine.begin() as connection:
        connection.execute(text("DROP TABLE access_audit"))
    with pytest.raises(Unavailable):
        activity.open_session(_attempt(), ACCOUNT, _session(), NOW)
    assert _rows(engine, sessions) == []
    with engine.connect() as connection:
        assert connection.scalar(select(func.count()).select_from(login_failures)) == 3


# What is remembered of sessions


def test_a_session_is_found_again_without_reading_its_row(activity: Activity, reader: SessionReader) -> None:
    activity.open_session(_attempt(), ACCOUNT, _session("s1"), NOW)
    first = reader.find(hash_session_id("s1"), NOW)
    assert first is not None
    assert reader.find(hash_session_id("s1"), NOW) is first


def test_a_remembered_session_ends_with_its_time(activity: Activity, reader: SessionReader) -> None:
    activity.open_session(_attempt(), ACCOUNT, _session("s1"), NOW)
    assert reader.find(hash_session_id("s1"), NOW)
    assert reader.find(hash_session_id("s1"), NOW + IDLE) is None
    assert reader.find(hash_session_id("s1"), NOW + IDLE - 1)


def test_more_sessions_than_are_remembered_are_all_found(
    activity: Activity, engine: Engine, reader: SessionReader
) -> None:
    activity.open_session(_attempt(), ACCOUNT, _session("s1"), NOW)
    reader.find(hash_session_id("s1"), NOW)
    row = dict.fromkeys(("seen_at", "expires_at"), NOW + IDLE)
    rows: list[dict[str, Any]] = [
        {"id_hash": hash_session_id(str(number)), "account_id": ACCOUNT.id, "account_version": ACCOUNT.version, **row}
        for number in range(MOST_REMEMBERED)
    ]
    with engine.begin() as connection:
        connection.execute(insert(sessions), [{**each, "csrf_seed": str(place)} for place, each in enumerate(rows)])
    found = [reader.find(each["id_hash"], NOW) for each in rows]
    assert [session and session.csrf_seed for session in found] == [str(number) for number in range(MOST_REMEMBERED)]
    assert reader.find(hash_session_id("s1"), NOW)
    assert len(reader._remembered) <= MOST_REMEMBERED


def test_a_look_serves_what_had_arrived_before_it_and_nothing_later(activity: Activity, folder: Path) -> None:
    arrivals = Arrivals()
    store = Reader(folder)
    reader = SessionReader(store, IDLE, arrivals)
    activity.open_session(_attempt(), ACCOUNT, _session("s1"), NOW)
    first, second = arrivals.number(), arrivals.number()
    assert reader.find(hash_session_id("s1"), NOW, first)
    activity.end_session(hash_session_id("s1"), "alice", HERE, NOW)
    # It had arrived before the session was ended, so it may still find it.
    assert reader.find(hash_session_id("s1"), NOW, second)
    assert reader.find(hash_session_id("s1"), NOW, arrivals.number()) is None
    assert reader.find(hash_session_id("s1"), NOW, second) is None
    store.close()
