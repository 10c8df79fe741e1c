"""The activity database: sessions, failed logins and the access audit."""

import hashlib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, Table, insert, select, text

from cloudconsole.core.ports import ClientInfo
from cloudconsole.spec.errors import InvalidCredentials, TooManyRequests, Unavailable
from cloudconsole.store import activity_writes as module
from cloudconsole.store.activity_writes import ActivityStore, LoginAttempt
from cloudconsole.store.session_lookup import hash_session_id
from cloudconsole.store.tables import access_audit, login_failures, sessions
from tests.store.conftest import ACCOUNT, NOW, Check, attempt, new_session
from tests.stores import open_engine


def _rows(engine: Engine, table: Table) -> list[dict[str, Any]]:
    with engine.connect() as connection:
        return [dict(row) for row in connection.execute(select(table)).mappings()]


def _fail(activity: ActivityStore, login: LoginAttempt, times: int, at: int = NOW) -> list[object]:
    return [_outcome(activity, login, at) for _ in range(times)]


def _outcome(activity: ActivityStore, login: LoginAttempt, at: int) -> object:
    try:
        activity.record_failure(login, None, at)
    except TooManyRequests as wait:
        return type(wait)
    return InvalidCredentials


# Sessions


def test_the_session_id_itself_is_not_stored(activity: ActivityStore, engine: Engine) -> None:
    activity.open_session(attempt(), ACCOUNT, new_session("s1-very-secret"), NOW)
    (row,) = _rows(engine, sessions)
    assert row["id_hash"] == hashlib.sha256(b"s1-very-secret").digest()
    assert "very-secret" not in repr({name: value for name, value in row.items() if name != "csrf_seed"})


@pytest.mark.parametrize(
    ("touches", "seen_at"),
    [
        pytest.param([1000, 1000 - 59], 1000, id="late touch does not move it back"),
        pytest.param([-60], -60, id="the clock was set back"),
    ],
)
def test_touch_stores_the_last_use(activity: ActivityStore, engine: Engine, touches: list[int], seen_at: int) -> None:
    activity.open_session(attempt(), ACCOUNT, new_session(), NOW)
    for later in touches:
        activity.touch_sessions({hash_session_id("s1"): NOW + later})
    assert [row["seen_at"] for row in _rows(engine, sessions)] == [NOW + seen_at]


def test_many_sessions_are_touched_with_their_own_times(
    activity: ActivityStore, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "SESSIONS_PER_STATEMENT", 2)
    moments = {f"s{number}": NOW + 60 + number % 2 for number in range(7)}
    for name in moments:
        activity.open_session(attempt(), ACCOUNT, new_session(name), NOW)
    hashed = {hash_session_id(name): moment for name, moment in moments.items()}
    activity.touch_sessions({**hashed, hash_session_id("ended"): NOW})
    assert {row["id_hash"]: row["seen_at"] for row in _rows(engine, sessions)} == hashed


def test_login_removes_expired_sessions(activity: ActivityStore, engine: Engine) -> None:
    activity.open_session(attempt(), ACCOUNT, new_session("old", expires_at=NOW + 10), NOW)
    activity.open_session(attempt(), ACCOUNT, new_session("new"), NOW + 10)
    assert [row["id_hash"] for row in _rows(engine, sessions)] == [hash_session_id("new")]


# Failed logins


@pytest.mark.parametrize(
    ("count", "login", "later", "wait"),
    [
        pytest.param(9, attempt(), 0, None, id="nine failures"),
        pytest.param(10, attempt(), 0, 60, id="ten failures"),
        pytest.param(10, attempt("bob"), 0, None, id="another user"),
        pytest.param(10, attempt(network="198.51.100.0/24"), 0, None, id="another network"),
        pytest.param(10, attempt(), 299, 1, id="end of the window"),
        pytest.param(10, attempt(), 300, None, id="after the window"),
        pytest.param(10, attempt(), -60, 60, id="within the clock skew"),
        pytest.param(10, attempt(), -61, None, id="in the future"),
    ],
)
def test_ten_failures_in_five_minutes_throttle_a_user_of_a_network(
    activity: ActivityStore, check: Check, count: int, login: LoginAttempt, later: int, wait: int | None
) -> None:
    assert _fail(activity, attempt(), count) == [InvalidCredentials] * count
    if wait is None:
        check(login, NOW + later)
    else:
        with pytest.raises(TooManyRequests) as error:
            check(login, NOW + later)
        assert error.value.retry_after == wait


def test_eleventh_failure_is_throttled_and_not_counted(activity: ActivityStore, engine: Engine) -> None:
    _fail(activity, attempt(), 10)
    assert _fail(activity, attempt(), 3) == [TooManyRequests] * 3
    assert len(_rows(engine, login_failures)) == 10


def test_a_hundred_failures_throttle_the_whole_network(activity: ActivityStore, engine: Engine, check: Check) -> None:
    failures = [{"network": attempt().network, "user_hash": b"%d" % number, "at": NOW} for number in range(99)]
    with engine.begin() as connection:
        connection.execute(insert(login_failures), failures)
    check(attempt("bob"), NOW)
    _fail(activity, attempt("user99"), 1)
    with pytest.raises(TooManyRequests):
        check(attempt("bob"), NOW)
    check(attempt("bob", "198.51.100.0/24"), NOW)


def test_retry_after_depends_on_the_deciding_failure(activity: ActivityStore, check: Check) -> None:
    _fail(activity, attempt(), 1, NOW)
    _fail(activity, attempt(), 9, NOW + 100)
    with pytest.raises(TooManyRequests) as error:
        check(attempt(), NOW + 290)
    assert error.value.retry_after == 10
    check(attempt(), NOW + 300)


def test_a_login_clears_the_users_failures_only(activity: ActivityStore, engine: Engine) -> None:
    _fail(activity, attempt(), 9)
    _fail(activity, attempt("bob"), 2)
    _fail(activity, attempt(network="198.51.100.0/24"), 1)
    activity.open_session(attempt(), ACCOUNT, new_session(), NOW)
    remaining = {(row["network"], row["user_hash"]) for row in _rows(engine, login_failures)}
    bob, alice = (hashlib.sha256(name).digest() for name in (b"bob", b"alice"))
    assert remaining == {("192.0.2.0/24", bob), ("198.51.100.0/24", alice)}


def test_correct_password_does_not_bypass_the_throttle(activity: ActivityStore, engine: Engine) -> None:
    _fail(activity, attempt(), 10)
    with pytest.raises(TooManyRequests):
        activity.open_session(attempt(), ACCOUNT, new_session(), NOW)
    assert _rows(engine, sessions) == []


def test_expired_failures_are_removed(activity: ActivityStore, engine: Engine) -> None:
    _fail(activity, attempt(), 3)
    _fail(activity, attempt("bob"), 1, NOW + 300)
    assert [row["at"] for row in _rows(engine, login_failures)] == [NOW + 300]


def test_username_of_a_failed_login_is_not_stored(activity: ActivityStore, engine: Engine) -> None:
    _fail(activity, attempt("my-password"), 1)
    assert "my-password" not in repr(_rows(engine, login_failures) + _rows(engine, access_audit))


def test_concurrent_failures_are_counted_exactly(folder: Path, activity: ActivityStore, engine: Engine) -> None:
    def one_worker(_number: int) -> list[object]:
        worker_engine = open_engine(folder, "activity")
        outcomes = _fail(ActivityStore(worker_engine), attempt(), 5)
        worker_engine.dispose()
        return outcomes

    with ThreadPoolExecutor(4) as workers:
        outcomes = [outcome for each in workers.map(one_worker, range(4)) for outcome in each]
    assert (outcomes.count(InvalidCredentials), outcomes.count(TooManyRequests)) == (10, 10)
    assert len(_rows(engine, login_failures)) == 10


# Access audit


def test_failures_logins_and_logouts_are_audited(activity: ActivityStore, engine: Engine) -> None:
    activity.record_failure(attempt(), "alice", NOW)
    activity.record_failure(attempt("nobody"), None, NOW + 1)
    activity.open_session(attempt(), ACCOUNT, new_session(), NOW + 2)
    activity.end_session(hash_session_id("s1"), "alice", ClientInfo("192.0.2.9", "request-2"), NOW + 3)
    columns = ("at", "event", "username", "address", "request_id")
    entries = [tuple(row[name] for name in columns) for row in _rows(engine, access_audit)]
    assert entries == [
        (NOW, "login_refused", "alice", "192.0.2.1", "request-1"),
        (NOW + 1, "login_refused", None, "192.0.2.1", "request-1"),
        (NOW + 2, "login", "alice", "192.0.2.1", "request-1"),
        (NOW + 3, "logout", "alice", "192.0.2.9", "request-2"),
    ]


# Secrets and failures


def test_each_secret_is_created_once(activity: ActivityStore) -> None:
    assert (activity.secret("one", b"1"), activity.secret("two", b"2")) == (b"1", b"2")
    assert activity.secret("one", b"another") == b"1"


def test_workers_that_start_together_share_a_secret(folder: Path) -> None:
    def one_worker(number: int) -> bytes:
        worker_engine = open_engine(folder, "activity")
        secret = ActivityStore(worker_engine).secret("csrf", b"secret %d" % number)
        worker_engine.dispose()
        return secret

    with ThreadPoolExecutor(4) as workers:
        assert len(set(workers.map(one_worker, range(8)))) == 1


def test_login_that_fails_midway_changes_nothing(activity: ActivityStore, engine: Engine) -> None:
    _fail(activity, attempt(), 3)
    with engine.begin() as connection:
        connection.execute(text("DROP TABLE access_audit"))
    with pytest.raises(Unavailable):
        activity.open_session(attempt(), ACCOUNT, new_session(), NOW)
    assert _rows(engine, sessions) == []
    assert len(_rows(engine, login_failures)) == 3
