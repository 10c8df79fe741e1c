"""Removal of outdated rows; `make test-postgresql` runs these tests on PostgreSQL."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Table, insert, update

from cloudconsole.core.login_throttle import WINDOW_SECONDS
from cloudconsole.operator.errors import OperatorError
from cloudconsole.operator.maintenance import retention
from cloudconsole.operator.maintenance.retention import DAY, MIN_DAYS, RetentionAges, count, in_batches, prune, rules
from cloudconsole.store import counters, tables
from cloudconsole.store.activity_writes import UNDECLARED_SECONDS
from cloudconsole.store.base import DatabaseName, Store
from tests.operator.clouds import SMALL, assert_counters_correct, rows
from tests.operator.transactions import NOW, last_entry
from tests.stores import copy_store, store_in

IDLE = 1800
DEFAULT_AGES = RetentionAges()


@pytest.fixture
def store(store_with: Callable[[str], Path], tmp_path: Path) -> Store:
    return store_in(copy_store(store_with(SMALL), tmp_path / "data"))


def add_rows(store: Store, table: Table, *values: dict[str, Any]) -> None:
    part: DatabaseName = "cloud" if table.metadata is tables.CLOUD else "activity"
    with store.opened(part) as engine, engine.begin() as connection:
        connection.execute(insert(table), list(values))


def primary_keys(store: Store, table: Table) -> list[Any]:
    with store.opened("cloud" if table.metadata is tables.CLOUD else "activity") as engine:
        return [next(iter(row.values())) for row in rows(engine, table)]


def run_prune(store: Store, ages: RetentionAges = DEFAULT_AGES, now: int = NOW) -> dict[str, int]:
    chosen = rules(ages, now=now, session_idle=IDLE)
    expected = count(store, chosen)
    removed = prune(store, chosen, actor="tester", now=now)
    assert removed == expected
    return {name: number for name, number in removed.items() if number}


def session_row(name: bytes, *, seen_at: int, expires_at: int) -> dict[str, Any]:
    row = {"id_hash": name, "account_id": 1, "account_version": 1, "csrf_seed": "seed"}
    return {**row, "seen_at": seen_at, "expires_at": expires_at}


def test_old_ended_resources_are_removed_without_changing_counters(store: Store) -> None:
    assert run_prune(store, RetentionAges(ended_resources=346)) == {}
    assert run_prune(store, RetentionAges(ended_resources=345)) == {"resources": 1}
    assert primary_keys(store, tables.resources) == ["i-1", "k-1", "v-1"]
    with store.opened("cloud") as engine:
        assert_counters_correct(engine)
        with engine.begin() as connection:
            assert counters.incorrect_counters(connection) == []


def test_resources_that_ended_recently_or_end_later_stay(store: Store) -> None:
    ends = {"i-1": NOW - MIN_DAYS * DAY, "k-1": NOW, "v-1": NOW + DAY}
    with store.opened("cloud") as engine, engine.begin() as connection:
        for key, ended in ends.items():
            connection.execute(update(tables.resources).where(tables.resources.c.id == key).values(ended_at=ended))
        counters.recount_all(connection)
    assert run_prune(store, RetentionAges(ended_resources=MIN_DAYS)) == {"resources": 1}
    assert primary_keys(store, tables.resources) == ["i-1", "k-1", "v-1"]


def test_only_configured_data_is_removed(store: Store) -> None:
    add_rows(store, tables.access_audit, {"at": 1, "event": "login", "address": "192.0.2.1", "request_id": "x"})
    assert run_prune(store, now=NOW + 9999 * DAY) == {}


@pytest.mark.parametrize("ages", [RetentionAges(6), RetentionAges(None, 0), RetentionAges(None, None, -400)])
def test_retention_of_less_than_a_week_is_rejected(ages: RetentionAges) -> None:
    with pytest.raises(OperatorError, match="must be at least 7 days"):
        rules(ages, now=NOW, session_idle=IDLE)


def test_old_audit_entries_are_removed_except_those_of_prunes(store: Store) -> None:
    access = {"event": "login", "address": "192.0.2.1", "request_id": "x"}
    add_rows(store, tables.access_audit, {"at": NOW, **access}, {"at": NOW - 8 * DAY, **access})
    assert run_prune(store, RetentionAges(access_audit=8)) == {}
    assert run_prune(store, RetentionAges(access_audit=7)) == {"access_audit": 1}
    assert run_prune(store, RetentionAges(audit=400), now=NOW + 399 * DAY) == {}
    before = len(primary_keys(store, tables.operator_audit))
    assert run_prune(store, RetentionAges(audit=400), now=NOW + 401 * DAY) == {"operator_audit": before - 1}
    with store.opened("cloud") as engine:
        assert [entry["change"] for entry in rows(engine, tables.operator_audit)] == ["prune", "prune"]


def test_prune_is_recorded_with_counts_and_cutoff_if_it_removes_anything(store: Store) -> None:
    before = primary_keys(store, tables.operator_audit)
    assert run_prune(store, RetentionAges(400, 400, 400)) == {}
    assert primary_keys(store, tables.operator_audit) == before
    run_prune(store, RetentionAges(ended_resources=300))
    with store.opened("cloud") as engine:
        entry = last_entry(engine)
    assert (entry["actor"], entry["change"], entry["at"]) == ("tester", "prune", NOW)
    assert entry["after"] == {"resources": {"rows": 1, "before": "2026-03-21T08:00:00Z"}}


def test_expired_sessions_and_their_federated_rows_are_removed(store: Store) -> None:
    add_rows(
        store,
        tables.sessions,
        session_row(b"expired", seen_at=NOW, expires_at=NOW - DAY - 1),
        session_row(b"idle", seen_at=NOW - DAY - IDLE - 1, expires_at=NOW + DAY),
        session_row(b"just idle", seen_at=NOW - DAY - IDLE, expires_at=NOW + DAY),
        session_row(b"live", seen_at=NOW, expires_at=NOW + DAY),
    )
    federated = {"tenant_id": 1, "username": "a", "opened_at": 1, "endpoint": "e", "user_id": "u", "project_id": "p"}
    federated_rows = [
        {"id_hash": key, **federated, "services": "{}", "sealed_token": b""} for key in (b"expired", b"live")
    ]
    add_rows(store, tables.federated_sessions, *federated_rows)
    assert run_prune(store) == {"sessions": 2}
    assert primary_keys(store, tables.sessions) == [b"just idle", b"live"]
    assert primary_keys(store, tables.federated_sessions) == [b"live"]


def test_old_failures_observed_resources_and_proxies_are_removed(store: Store) -> None:
    sighting = {"endpoint": "e", "project_id": "p", "region": "r", "kind": "volume", "size_gb": 1}
    for name, moment in (("kept", NOW - DAY), ("old", NOW - DAY - 1)):
        add_rows(store, tables.observed_resources, {**sighting, "resource_id": name, "seen_at": moment})
        add_rows(store, tables.login_failures, {"network": "n", "user_hash": b"u", "at": moment - WINDOW_SECONDS})
        add_rows(store, tables.undeclared_proxies, {"address": name, "seen_at": moment - UNDECLARED_SECONDS})
    assert run_prune(store) == {"sightings": 1, "login_failures": 1, "undeclared_proxies": 1}
    assert primary_keys(store, tables.undeclared_proxies) == ["kept"]


def test_rows_are_removed_in_several_transactions(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retention, "ROWS_PER_TRANSACTION", 3)
    add_rows(store, tables.sessions, *(session_row(bytes([n]), seen_at=1, expires_at=1) for n in range(10)))
    (rule,) = (rule for rule in rules(DEFAULT_AGES, now=NOW, session_idle=IDLE) if rule.table is tables.sessions)
    with store.opened("activity") as engine:
        assert list(in_batches(engine, rule)) == [3, 3, 3, 1]
    assert primary_keys(store, tables.sessions) == []
