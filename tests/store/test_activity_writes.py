"""The activity database: sessions, failed logins and the access audit."""

import hashlib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, Table, func, select, text

from cloudconsole.core.ports import ClientInfo
from cloudconsole.spec.errors import InvalidCredentials, TooManyRequests, Unavailable
from cloudconsole.store import activity_writes as module
from cloudconsole.store.activity_writes import ActivityStore, LoginAttempt
from cloudconsole.store.session_lookup import hash_session_id
from cloudconsole.store.tables import access_audit, login_failures, sessions
from tests.store.conftest import Check
from tests.store.logins import ACCOUNT, NOW, attempt, new_session
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


def test_late_touch_does_not_move_last_use_back(activity: ActivityStore, engine: Engine) -> None:
    activity.open_session(attempt(), ACCOUNT, new_session(), NOW)
    for moment in (NOW + 1000, NOW + 1000 - 59):
        activity.touch_sessions({hash_session_id("s1"): moment})
    assert [row["seen_at"] for row in _rows(engine, sessions)] == [NOW + 1000]


def test_touch_after_the_clock_was_set_back_is_stored(activity: ActivityStore, engine: Engine) -> None:
    activity.open_session(attempt(), ACCOUNT, new_session(), NOW)
    activity.touch_sessions({hash_session_id("s1"): NOW - 60})
    assert [row["seen_at"] for row in _rows(engine, sessions)] == [NOW - 60]


def test_many_sessions_are_touched_with_their_own_times(
    activity: ActivityStore, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "SESSIONS_PER_STATEMENT", 2)
    moments = {f"s{number}": NOW + 60 + number % 2 for number in range(7)}
    for name in moments:
        activity.open_session(attempt(), ACCOUNT, new_session(name), NOW)
    activity.touch_sessions({hash_session_id(name): moment for name, moment in moments.items()})
    assert {row["id_hash"]: row["seen_at"] for row in _rows(engine, sessions)} == {
        hash_session_id(name): moment for name, moment in moments.items()
    }


def test_touch_does_not_revive_an_ended_session(activity: ActivityStore, engine: Engine) -> None:
    activity.touch_sessions({hash_session_id("s1"): NOW})
    assert _rows(engine, sessions) == []


def test_login_removes_expired_sessions(activity: ActivityStore, engine: Engine) -> None:
    activity.open_session(attempt(), ACCOUNT, new_session("old", expires_at=NOW + 10), NOW)
    activity.open_session(attempt(), ACCOUNT, new_session("new"), NOW + 10)
    assert [row["id_hash"] for row in _rows(engine, sessions)] == [hash_session_id("new")]


# Failed logins


def test_nine_failures_do_not_throttle(activity: ActivityStore, check: Check) -> None:
    _fail(activity, attempt(), 9)
    check(attempt(), NOW)


def test_ten_failures_throttle_the_user(activity: ActivityStore, check: Check) -> None:
    assert _fail(activity, attempt(), 10) == [InvalidCredentials] * 10
    with pytest.raises(TooManyRequests):
        check(attempt(), NOW)


def test_failures_in_the_future_do_not_throttle(activity: ActivityStore, check: Check) -> None:
    _fail(activity, attempt(), 10)
    check(attempt(), NOW - 61)


def test_failures_within_the_clock_skew_throttle(activity: ActivityStore, check: Check) -> None:
    _fail(activity, attempt(), 10)
    with pytest.raises(TooManyRequests):
        check(attempt(), NOW - 60)


def test_eleventh_failure_is_throttled_and_not_counted(activity: ActivityStore, engine: Engine) -> None:
    _fail(activity, attempt(), 10)
    assert _fail(activity, attempt(), 3) == [TooManyRequests] * 3
    assert len(_rows(engine, login_failures)) == 10


def test_another_user_of_the_same_network_is_not_throttled(activity: ActivityStore, check: Check) -> None:
    _fail(activity, attempt(), 10)
    check(attempt("bob"), NOW)


def test_the_same_user_of_another_network_is_not_throttled(activity: ActivityStore, check: Check) -> None:
    _fail(activity, attempt(), 10)
    check(attempt(network="198.51.100.0/24"), NOW)


def test_a_hundred_failures_throttle_the_whole_network(activity: ActivityStore, check: Check) -> None:
    for number in range(99):
        _fail(activity, attempt(f"user{number}"), 1)
    check(attempt("bob"), NOW)
    _fail(activity, attempt("user99"), 1)
    with pytest.raises(TooManyRequests):
        check(attempt("bob"), NOW)
    check(attempt("bob", "198.51.100.0/24"), NOW)


def test_failures_count_for_five_minutes(activity: ActivityStore, check: Check) -> None:
    _fail(activity, attempt(), 10)
    with pytest.raises(TooManyRequests):
        check(attempt(), NOW + 299)
    check(attempt(), NOW + 300)


@pytest.mark.parametrize(("later", "wait"), [(0, 60), (200, 60), (240, 60), (270, 30), (299, 1)])
def test_retry_after_is_the_rest_of_the_window_up_to_a_minute(
    activity: ActivityStore, check: Check, later: int, wait: int
) -> None:
    _fail(activity, attempt(), 10)
    with pytest.raises(TooManyRequests) as error:
        check(attempt(), NOW + later)
    assert error.value.retry_after == wait


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
    assert remaining == {
        ("192.0.2.0/24", hashlib.sha256(b"bob").digest()),
        ("198.51.100.0/24", hashlib.sha256(b"alice").digest()),
    }


def test_correct_password_does_not_bypass_the_throttle(activity: ActivityStore, engine: Engine) -> None:
    _fail(activity, attempt(), 10)
    with pytest.raises(TooManyRequests):
        activity.open_session(attempt(), ACCOUNT, new_session(), NOW)
    assert _rows(engine, sessions) == []


def test_successful_logins_never_throttle(activity: ActivityStore, check: Check) -> None:
    for number in range(30):
        activity.open_session(attempt(), ACCOUNT, new_session(f"s{number}"), NOW)
    check(attempt(), NOW)


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
    entries = [
        (row["at"] - NOW, row["event"], row["username"], row["address"], row["request_id"])
        for row in _rows(engine, access_audit)
    ]
    assert entries == [
        (0, "login_refused", "alice", "192.0.2.1", "request-1"),
        (1, "login_refused", None, "192.0.2.1", "request-1"),
        (2, "login", "alice", "192.0.2.1", "request-1"),
        (3, "logout", "alice", "192.0.2.9", "request-2"),
    ]


# Secrets and failures


def test_secret_is_created_once(activity: ActivityStore) -> None:
    assert activity.secret("csrf", b"first") == b"first"
    assert activity.secret("csrf", b"second") == b"first"


def test_secrets_are_distinguished_by_name(activity: ActivityStore) -> None:
    assert (activity.secret("one", b"1"), activity.secret("two", b"2")) == (b"1", b"2")


def test_workers_that_start_together_share_a_secret(folder: Path) -> None:
    def one_worker(number: int) -> bytes:
        worker_engine = open_engine(folder, "activity")
        secret = ActivityStore(worker_engine).secret("csrf", b"secret %d" % number)
        worker_engine.dispose()
        return secret

    with ThreadPoolExecutor(4) as workers:
        assert len(set(workers.map(one_worker, range(8)))) == 1


def test_a_broken_store_is_unavailable(activity: ActivityStore, engine: Engine) -> None:
    with engine.begin() as connection:
        connection.execute(text("ALTER TABLE sessions RENAME TO away"))
    with pytest.raises(Unavailable):
        activity.open_session(attempt(), ACCOUNT, new_session(), NOW)


def test_login_that_fails_midway_changes_nothing(activity: ActivityStore, engine: Engine) -> None:
    _fail(activity, attempt(), 3)
    with engine.begin() as connection:
        connection.execute(text("DROP TABLE access_audit"))
    with pytest.raises(Unavailable):
        activity.open_session(attempt(), ACCOUNT, new_session(), NOW)
    assert _rows(engine, sessions) == []
    with engine.connect() as connection:
        assert connection.scalar(select(func.count()).select_from(login_failures)) == 3
