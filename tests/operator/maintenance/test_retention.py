"""Forgetting what nothing needs any more; the same tests run over PostgreSQL."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, Table, insert, update

from cloudconsole.operator.errors import OperatorError
from cloudconsole.operator.maintenance import retention
from cloudconsole.operator.maintenance.retention import DAY, MIN_DAYS, RetentionAges, count, in_batches, prune, rules
from cloudconsole.store import counters, tables
from cloudconsole.store.base import DatabaseName, Store
from tests.operator.clouds import SMALL, assert_all_counted, load_text, rows
from tests.operator.transactions import NOW, last_line
from tests.stores import copy_store, store_in

IDLE = 1800
NOTHING_MORE = RetentionAges()


@pytest.fixture
def store(empty_store: Path, tmp_path: Path) -> Store:
    return store_in(copy_store(empty_store, tmp_path / "data"))


@contextmanager
def changing(store: Store, part: DatabaseName) -> Iterator[Connection]:
    with store.opened(part) as engine, engine.begin() as connection:
        yield connection


def put(store: Store, table: Table, *values: dict[str, Any]) -> None:
    with changing(store, "cloud" if table.metadata is tables.CLOUD else "activity") as connection:
        connection.execute(insert(table), list(values))


def fill(store: Store, folder: Path) -> None:
    with store.opened("cloud") as engine:
        load_text(engine, folder, SMALL)


def keys(store: Store, table: Table) -> list[Any]:
    with store.opened("cloud" if table.metadata is tables.CLOUD else "activity") as engine:
        return [next(iter(row.values())) for row in rows(engine, table)]


def pruned(store: Store, ages: RetentionAges = NOTHING_MORE, now: int = NOW) -> dict[str, int]:
    chosen = rules(ages, now=now, session_idle=IDLE)
    foreseen = count(store, chosen)
    removed = prune(store, chosen, actor="tester", now=now)
    assert removed == foreseen
    return {name: number for name, number in removed.items() if number}


def session(name: bytes, *, seen_at: int, expires_at: int) -> dict[str, Any]:
    row = {"id_hash": name, "account_id": 1, "account_version": 1, "csrf_seed": "seed"}
    return {**row, "seen_at": seen_at, "expires_at": expires_at}


def test_resources_that_ended_long_ago_go_and_no_figure_changes(store: Store, tmp_path: Path) -> None:
    fill(store, tmp_path)
    assert pruned(store, RetentionAges(ended_resources=346)) == {}
    assert pruned(store, RetentionAges(ended_resources=345)) == {"resources": 1}
    assert keys(store, tables.resources) == ["i-1", "k-1", "v-1"]
    with store.opened("cloud") as engine:
        assert_all_counted(engine)
        with engine.begin() as connection:
            assert counters.incorrect_counters(connection) == []


def test_what_ended_in_these_days_or_ends_later_stays(store: Store, tmp_path: Path) -> None:
    fill(store, tmp_path)
    ends = {"i-1": NOW - MIN_DAYS * DAY, "k-1": NOW, "v-1": NOW + DAY}
    with changing(store, "cloud") as connection:
        for key, ended in ends.items():
            connection.execute(update(tables.resources).where(tables.resources.c.id == key).values(ended_at=ended))
        counters.recount_all(connection)
    assert pruned(store, RetentionAges(ended_resources=MIN_DAYS)) == {"resources": 1}
    assert keys(store, tables.resources) == ["i-1", "k-1", "v-1"]


def test_nothing_that_was_not_asked_for_goes(store: Store, tmp_path: Path) -> None:
    fill(store, tmp_path)
    put(store, tables.access_audit, {"at": 1, "event": "login", "address": "192.0.2.1", "request_id": "x"})
    assert pruned(store, now=NOW + 9999 * DAY) == {}


@pytest.mark.parametrize("ages", [RetentionAges(6), RetentionAges(None, 0), RetentionAges(None, None, -400)])
def test_what_people_may_still_look_for_is_not_removed(ages: RetentionAges) -> None:
    with pytest.raises(OperatorError, match="must be at least 7 days"):
        rules(ages, now=NOW, session_idle=IDLE)


def test_old_lines_of_the_trails_go_but_for_those_of_prunings(store: Store, tmp_path: Path) -> None:
    fill(store, tmp_path)
    access = {"event": "login", "address": "192.0.2.1", "request_id": "x"}
    put(store, tables.access_audit, {"at": NOW, **access}, {"at": NOW - 8 * DAY, **access})
    assert pruned(store, RetentionAges(access_audit=8)) == {}
    assert pruned(store, RetentionAges(access_audit=7)) == {"access_audit": 1}
    assert pruned(store, RetentionAges(audit=400), now=NOW + 399 * DAY) == {}
    before = len(keys(store, tables.operator_audit))
    assert pruned(store, RetentionAges(audit=400), now=NOW + 401 * DAY) == {"operator_audit": before - 1}
    with store.opened("cloud") as engine:
        assert [line["change"] for line in rows(engine, tables.operator_audit)] == ["prune", "prune"]


def test_the_trail_says_what_was_removed_and_how_far_back(store: Store, tmp_path: Path) -> None:
    fill(store, tmp_path)
    pruned(store, RetentionAges(ended_resources=300))
    with store.opened("cloud") as engine:
        line = last_line(engine)
    assert (line["actor"], line["change"], line["at"]) == ("tester", "prune", NOW)
    assert line["after"] == {"resources": {"rows": 1, "before": "2026-03-21T08:00:00Z"}}


def test_where_nothing_goes_nothing_is_noted(store: Store, tmp_path: Path) -> None:
    fill(store, tmp_path)
    before = keys(store, tables.operator_audit)
    assert pruned(store, RetentionAges(400, 400, 400)) == {}
    assert keys(store, tables.operator_audit) == before


def test_sessions_that_are_over_go_with_what_hangs_on_them(store: Store) -> None:
    put(
        store,
        tables.sessions,
        session(b"expired", seen_at=NOW, expires_at=NOW - DAY - 1),
        session(b"idle", seen_at=NOW - DAY - IDLE - 1, expires_at=NOW + DAY),
        session(b"just idle", seen_at=NOW - DAY - IDLE, expires_at=NOW + DAY),
        session(b"live", seen_at=NOW, expires_at=NOW + DAY),
    )
    guest = {"tenant_id": 1, "username": "a", "opened_at": 1, "endpoint": "e", "user_id": "u", "project_id": "p"}
    hanging = [{"id_hash": key, **guest, "services": "{}", "sealed_token": b""} for key in (b"expired", b"live")]
    put(store, tables.federated_sessions, *hanging)
    assert pruned(store) == {"sessions": 2}
    assert keys(store, tables.sessions) == [b"just idle", b"live"]
    assert keys(store, tables.federated_sessions) == [b"live"]


def test_failures_sightings_and_proxies_go_once_they_no_longer_count(store: Store) -> None:
    sighting = {"endpoint": "e", "project_id": "p", "region": "r", "kind": "volume", "size_gb": 1}
    old, new = NOW - 3 * DAY, NOW
    for resource, moment in (("old", old), ("new", new)):
        put(store, tables.observed_resources, {**sighting, "resource_id": resource, "seen_at": moment})
        put(store, tables.login_failures, {"network": "n", "user_hash": b"u", "at": moment})
        put(store, tables.undeclared_proxies, {"address": resource, "seen_at": moment})
    assert pruned(store) == {"sightings": 1, "login_failures": 1, "undeclared_proxies": 1}
    assert keys(store, tables.undeclared_proxies) == ["new"]


def test_many_go_in_several_transactions(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retention, "ROWS_PER_TRANSACTION", 3)
    put(store, tables.sessions, *(session(bytes([n]), seen_at=1, expires_at=1) for n in range(10)))
    (rule,) = (rule for rule in rules(NOTHING_MORE, now=NOW, session_idle=IDLE) if rule.table is tables.sessions)
    with store.opened("activity") as engine:
        assert list(in_batches(engine, rule)) == [3, 3, 3, 1]
    assert keys(store, tables.sessions) == []
