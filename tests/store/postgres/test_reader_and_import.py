"""Units of the PostgreSQL store: placeholders, positions in the change log, and values rejected by an import."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from cloudconsole.store.base import DATABASE_NAMES, DatabaseName
from cloudconsole.store.postgres.change_log_reader import RETENTION_SECONDS, LogPosition
from cloudconsole.store.postgres.import_sqlite import first_incompatible_value
from cloudconsole.store.postgres.reader import to_psycopg_placeholders
from cloudconsole.store.tables import ACTIVITY, CLOUD


@pytest.mark.parametrize(
    ("written", "sent"),
    [
        ("SELECT 1", "SELECT 1"),
        ("a = ? AND b = ?", "a = %s AND b = %s"),
        ("a = :name AND b > :idle_since", "a = %(name)s AND b > %(idle_since)s"),
        ("ram_mb % 1024", "ram_mb %% 1024"),
    ],
)
def test_placeholders_are_converted_for_psycopg(written: str, sent: str) -> None:
    assert to_psycopg_placeholders(written) == sent


BEFORE = LogPosition(snapshot="10:12:10", floor=10, server="one", clock=1000.0, shared=5, news=frozenset())


@pytest.mark.parametrize(
    ("later", "follows"),
    [
        ({}, True),
        ({"floor": 11, "snapshot": "11:15:", "clock": 1000.25, "news": frozenset({1})}, True),
        ({"clock": 999 + RETENTION_SECONDS / 2}, True),
        ({"news": None}, False),
        ({"server": "two"}, False),
        ({"shared": 6}, False),
        ({"floor": 9}, False),
        ({"clock": 1000 + RETENTION_SECONDS / 2}, False),
        ({"clock": 999.0}, False),
    ],
)
def test_poll_follows_only_soon_after_on_the_same_server(later: dict[str, Any], follows: bool) -> None:
    """Only then its news list all changes since the previous poll."""
    assert BEFORE._replace(**later).follows(BEFORE) == follows


# Values that SQLite accepts in a column and PostgreSQL rejects

Databases = dict[DatabaseName, sqlite3.Connection]
TABLES = {"cloud": CLOUD.tables, "activity": ACTIVITY.tables}
SESSION = "INSERT INTO sessions VALUES (x'0aff', 1, 1, {seed}, 1, {expires})"


@pytest.fixture
def store(data: Path) -> Iterator[Databases]:
    cloud, activity = (sqlite3.connect(data / f"{part}.db") for part in DATABASE_NAMES)
    with closing(cloud), closing(activity):
        yield {"cloud": cloud, "activity": activity}


@pytest.mark.embedded_only
@pytest.mark.parametrize("part", DATABASE_NAMES)
def test_values_written_by_a_console_are_compatible(store: Databases, part: DatabaseName) -> None:
    store["activity"].execute(SESSION.format(seed="'爱'", expires=2**63 - 1))
    for table in TABLES[part].values():
        assert first_incompatible_value(store[part], table) is None


@pytest.mark.embedded_only
@pytest.mark.parametrize(
    ("part", "statement", "message"),
    [
        ("cloud", "UPDATE nodes SET name = 'a' || char(0) WHERE id = 1", "nodes 1: name is not text, or contains a "),
        ("cloud", "UPDATE nodes SET name = x'61' WHERE id = 1", "nodes 1: name is not text"),
        ("cloud", "UPDATE tenants SET project = x'61' WHERE id = 1", "tenants 1: project is not text"),
        ("cloud", "UPDATE resources SET ram_mb = 2147483648", "ram_mb is not a 32-bit whole number"),
        ("cloud", "UPDATE resources SET size_gb = -2147483649", "size_gb is not a 32-bit whole number"),
        ("cloud", "UPDATE quotas SET cores = 'many' WHERE tenant_id = 1", "quotas 1: cores is not a whole number"),
        ("cloud", "UPDATE quotas SET cores = 1e300 WHERE tenant_id = 1", "quotas 1: cores is not a whole number"),
        ("cloud", "UPDATE tenants SET disabled = 2 WHERE id = 1", "tenants 1: disabled is neither true nor false"),
        ("activity", SESSION.format(seed="x'00'", expires=1), "sessions 0aff: csrf_seed is not text"),
        ("activity", "INSERT INTO secrets VALUES ('a', 'text')", "secrets a: value is not binary"),
    ],
)
def test_incompatible_value_is_reported(store: Databases, part: DatabaseName, statement: str, message: str) -> None:
    store[part].execute(statement)
    found = [first_incompatible_value(store[part], table) for table in TABLES[part].values()]
    (problem,) = (each for each in found if each is not None)
    assert message in problem
