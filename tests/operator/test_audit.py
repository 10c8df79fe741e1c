"""Reading of the audit logs: newest first, paginated, filtered by actor, change and time."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, insert

from cloudconsole.operator.audit import AuditQuery, describe_change, find_accesses, find_changes, record_change
from cloudconsole.operator.entities.accounts import clear_throttle, end_all_sessions
from cloudconsole.operator.transaction import operator_transaction
from cloudconsole.store.activity_writes import hash_username
from cloudconsole.store.tables import access_audit, login_failures, sessions
from tests.operator.clouds import rows
from tests.operator.transactions import NOW, last_change, rejected, transaction
from tests.stores import copy_store, open_engine


@pytest.fixture
def store(engine: Engine) -> Engine:
    entries = (
        (10, "ann", "flavor.add", "1", None, {"id": "1"}),
        (20, "bob", "flavor.change", "1", {"ram": 1}, {"ram": 2}),
        (30, "ann", "flavors", None, None, {"odd": "1.50"}),
        (40, "ann", "tenant.remove", "t", {"name": "t"}, None),
    )
    for at, actor, change, subject, before, after in entries:
        with operator_transaction(engine, actor=actor, now=at) as tx:
            record_change(tx, change, subject, before, after)
    return engine


@pytest.fixture
def activity(empty_store: Path, tmp_path: Path) -> Iterator[Engine]:
    opened = open_engine(copy_store(empty_store, tmp_path / "other"), "activity")
    yield opened
    opened.dispose()


@pytest.mark.parametrize(
    ("query", "found"),
    [
        (AuditQuery(), [4, 3, 2, 1]),
        (AuditQuery(limit=2), [4, 3]),
        (AuditQuery(limit=2, after=3), [2, 1]),
        (AuditQuery(actor="ann"), [4, 3, 1]),
        (AuditQuery(actor="an"), []),
        (AuditQuery(change="flavor"), [3, 2, 1]),
        (AuditQuery(change="flavor."), [2, 1]),
        (AuditQuery(change="Flavor"), []),
        (AuditQuery(subject="1"), [2, 1]),
        (AuditQuery(since=20), [4, 3, 2]),
        (AuditQuery(until=20), [1]),
        (AuditQuery(since=20, until=40, actor="ann"), [3]),
    ],
)
def test_changes_are_found_newest_first(store: Engine, query: AuditQuery, found: list[int]) -> None:
    with store.begin() as connection:
        assert [entry["id"] for entry in find_changes(connection, query)] == found


def test_entry_has_actor_change_time_before_and_after(store: Engine) -> None:
    with store.begin() as connection:
        (entry,) = find_changes(connection, AuditQuery(actor="bob"))
    head = {"id": 2, "at": "1970-01-01T00:00:20Z", "actor": "bob", "change": "flavor.change", "subject": "1"}
    assert entry == head | {"before": {"ram": 1}, "after": {"ram": 2}}


@pytest.mark.parametrize(
    ("before", "after", "text"),
    [
        (None, {"id": "1", "ram": 2}, "id: 1, ram: 2"),
        ({"id": "1"}, None, "id: 1"),
        ({"id": "1", "ram": 1}, {"id": "1", "ram": 2}, "ram: 1 -> 2"),
        ({"ram": 1}, {"disabled": True}, "ram: 1 -> nothing, disabled: nothing -> yes"),
    ],
)
def test_change_is_described_by_differing_fields(before: Any, after: Any, text: str) -> None:
    assert describe_change(before, after) == text


def test_access_audit_is_filtered_by_account_event_and_time(activity: Engine) -> None:
    with activity.begin() as connection:
        for at, event, username in ((10, "login", "ann"), (20, "login_refused", None), (30, "logout", "ann")):
            entry = {"at": at, "event": event, "username": username, "address": "192.0.2.1", "request_id": "r"}
            connection.execute(insert(access_audit).values(entry))

        def found(**query: Any) -> list[int]:
            return [entry["id"] for entry in find_accesses(connection, AuditQuery(**query))]

        assert found() == [3, 2, 1]
        assert found(actor="ann") == [3, 1]
        assert found(change="login") == [2, 1]
        assert found(since=15, until=30) == [2]
        assert found(after=3, limit=1) == [2]


def test_clearing_a_throttle_removes_failures_of_that_account(small: Engine, activity: Engine) -> None:
    with activity.begin() as failures:
        for username, network in (("ann", "192.0.2.1"), ("ann", "192.0.2.2"), ("bob", "192.0.2.1"), ("nobody", "n")):
            row = {"network": network, "user_hash": hash_username(username), "at": NOW}
            failures.execute(insert(login_failures).values(row))
    for which, address in ((["ann", "192.0.2.2"], {"address": "192.0.2.2"}), (["ann"], {})):
        with activity.begin() as failures, transaction(small) as tx:
            assert clear_throttle(tx, failures, *which).after == {**address, "failures": 1}
        assert last_change(small) == ("account.clear-throttle", "ann", None, {**address, "failures": 1})
    with activity.begin() as failures, rejected(small, "there is no account nobody") as tx:
        clear_throttle(tx, failures, "nobody")
    left = {row["user_hash"] for row in rows(activity, login_failures)}
    assert left == {hash_username("bob"), hash_username("nobody")}


def test_ending_all_sessions_is_recorded_with_their_number(engine: Engine, activity: Engine) -> None:
    row = {"account_id": 1, "account_version": 1, "csrf_seed": "seed", "seen_at": NOW, "expires_at": NOW + 60}
    with activity.begin() as connection, transaction(engine) as tx:
        connection.execute(insert(sessions), [{**row, "id_hash": name} for name in (b"a", b"b")])
        assert end_all_sessions(tx, connection) == 2
    assert rows(activity, sessions) == []
    assert last_change(engine) == ("end-sessions", None, None, {"sessions": 2})
