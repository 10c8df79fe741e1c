"""Doctor checks of the data directory, databases, prices and times."""

import ctypes
import os
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace

import pytest

from cloudconsole.server.config.settings import Settings
from cloudconsole.server.doctor import sqlite, store
from cloudconsole.server.doctor.context_and_findings import DoctorContext
from cloudconsole.server.doctor.runner import CHECKS, run_checks
from tests.conftest import SAMPLE_TIME
from tests.newer_version import CURRENT_REVISION, make_newer
from tests.server.doctor.conftest import Check, execute, levels


def test_healthy_store_has_no_problems_and_is_not_changed(data: Path) -> None:
    data.chmod(0o700)
    before = {file.name: file.read_bytes() for file in data.iterdir()}
    results = run_checks(DoctorContext(Settings(data=data, port=0), [], SAMPLE_TIME))
    assert {result.check for result in results} == set(CHECKS)
    assert [result for result in results if result.level == "problem"] == []
    assert {file.name: file.read_bytes() for file in data.iterdir()} == before


def test_every_check_runs_without_a_store_and_creates_none(tmp_path: Path) -> None:
    results = run_checks(DoctorContext(Settings(data=tmp_path / "none", port=0), ["a bad one"], SAMPLE_TIME))
    assert {result.check for result in results} == set(CHECKS)
    assert {result.check for result in results if result.level == "problem"} >= {
        "settings",
        "data directory",
        "databases",
    }
    assert all(result.fix for result in results if result.level != "ok")
    assert not (tmp_path / "none").exists()


# The data directory


@pytest.mark.skipif(os.getuid() != 0 and os.environ.get("CI") != "true", reason="only root can change file owners")
def test_own_files_in_a_directory_of_root_are_ok(check: Check, data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data.chmod(0o2770)
    for file in data.iterdir():
        os.chown(file, 4711, -1)
    monkeypatch.setattr(os, "geteuid", lambda: 4711)
    assert [finding.text for finding in check("data directory")] == [f"other users can access {data}"]


@pytest.mark.parametrize(("stores", "more", "level"), [(0, 999, "problem"), (2, -1, "warning"), (2, 0, "ok")])
def test_low_disk_space_is_reported(
    check: Check, data: Path, monkeypatch: pytest.MonkeyPatch, stores: int, more: int, level: str
) -> None:
    """A restore needs twice the size of the store."""
    data.chmod(0o700)
    free = stores * sum(file.stat().st_size for file in data.iterdir()) + more
    monkeypatch.setattr(sqlite, "MIN_FREE", 1000)
    monkeypatch.setattr(shutil, "disk_usage", lambda _path: SimpleNamespace(free=free))
    assert levels(check("data directory")) == [level]


def test_recent_directory_of_a_running_command_is_ok(check: Check, data: Path) -> None:
    data.chmod(0o700)
    (data / ".restore-abc").mkdir()
    os.utime(data / ".restore-abc", (SAMPLE_TIME - 3600, SAMPLE_TIME - 3600))
    assert levels(check("data directory")) == ["ok"]


# The databases


def _overwrite(data: Path) -> None:
    (data / "cloud.db").write_bytes(b"rubbish" * 1000)


def _sql(statement: str) -> Callable[[Path], None]:
    return lambda data: execute(data, "cloud", statement)


def _add_trigger_with_reserved_name(data: Path) -> None:
    with closing(sqlite3.connect(data / "cloud.db", isolation_level=None)) as connection:
        connection.execute("PRAGMA writable_schema = ON")
        connection.execute(
            "INSERT INTO sqlite_master VALUES ('trigger', 'sqlite_stat_x', 'accounts', 0, 'CREATE TRIGGER "
            "sqlite_stat_x AFTER UPDATE OF password_hash ON accounts BEGIN UPDATE accounts SET disabled = 0; END')"
        )


@pytest.mark.parametrize(
    ("damage", "text"),
    [
        (_overwrite, "is damaged: "),
        (_sql("UPDATE accounts SET tenant_id = 4711"), "a row of accounts refers to a missing row of tenants"),
        (_sql("UPDATE alembic_version SET version_num = '9999'"), "newer Cloud Console (revision 9999)"),
        (_sql("DROP TABLE alembic_version"), "has no Cloud Console tables"),
        (
            _sql("CREATE TRIGGER hush BEFORE INSERT ON operator_audit BEGIN SELECT RAISE(IGNORE); END"),
            "the schema of cloud.db was modified (trigger hush)",
        ),
        (_add_trigger_with_reserved_name, "the schema of cloud.db was modified (trigger sqlite_stat_x)"),
    ],
)
def test_modified_database_is_a_problem(check: Check, data: Path, damage: Callable[[Path], None], text: str) -> None:
    damage(data)
    (finding, rest) = check("databases")
    assert (finding.level, rest.level) == ("problem", "ok")
    assert text in finding.text


def test_compatible_newer_store_is_a_warning(check: Check, data: Path) -> None:
    make_newer(data, oldest_compatible=CURRENT_REVISION)
    assert {finding.level for finding in check("databases")} == {"warning"}


def test_schema_of_an_older_revision_is_compared_too(check: Check, data: Path) -> None:
    execute(data, "cloud", "UPDATE alembic_version SET version_num = '0001'")
    outdated, changed, _ = check("databases")
    assert "has revision 0001, but this version needs" in outdated.text
    assert "the schema of cloud.db was modified" in changed.text


def test_large_write_ahead_log_is_a_warning(check: Check, data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "MAX_WAL", 1000)
    assert levels(check("databases")) == ["ok", "ok"]
    with closing(sqlite3.connect(data / "activity.db", isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT * FROM secrets").fetchall()
        execute(data, "activity", "INSERT INTO secrets VALUES ('large', zeroblob(1000000))")
        findings = check("databases")
    assert levels(findings) == ["ok", "warning"]
    assert "activity.db-wal has grown" in findings[1].text


# Prices

HOUR = int(SAMPLE_TIME) // 3600 * 3600


def test_resources_without_a_price_are_reported_by_kind(check: Check, data: Path) -> None:
    execute(data, "cloud", "DELETE FROM prices WHERE kind IN ('instance', 'volume')")
    findings = check("prices")
    assert levels(findings) == ["problem", "problem"]
    assert ["instance" in findings[0].text, "volume" in findings[1].text] == [True, True]
    assert "admin price add --kind volume --unit gb --price 0 --from 2026-11-15T12:00:00Z" in findings[1].command


@pytest.mark.parametrize(
    ("started", "ended", "level"),
    [
        (HOUR - 7200, HOUR - 1, "ok"),
        (HOUR - 7200, HOUR, "problem"),
        (int(SAMPLE_TIME) + 60, None, "ok"),
    ],
    ids=["ended before this hour", "ended in this hour", "starts later"],
)
def test_only_resources_of_this_hour_need_a_price(
    check: Check, data: Path, started: int, ended: int | None, level: str
) -> None:
    execute(data, "cloud", "DELETE FROM prices WHERE kind = 'volume'")
    end = "NULL" if ended is None else ended
    execute(data, "cloud", f"UPDATE resources SET started_at = {started}, ended_at = {end} WHERE kind = 'volume'")
    assert levels(check("prices")) == [level]


# Times


def test_clock_far_in_the_past_is_a_problem(check: Check) -> None:
    assert levels(check("clock", now=1_000_000_000))[0] == "problem"


@pytest.mark.parametrize(
    ("kernel", "level"),
    [
        (SimpleNamespace(adjtimex=lambda _: 5), "warning"),
        (SimpleNamespace(adjtimex=lambda _: 0), "ok"),
        (SimpleNamespace(), "ok"),
    ],
    ids=["not synchronized", "synchronized", "unknown"],
)
def test_unsynchronized_clock_is_a_warning(
    check: Check, monkeypatch: pytest.MonkeyPatch, kernel: SimpleNamespace, level: str
) -> None:
    monkeypatch.setattr(ctypes, "CDLL", lambda _: kernel)
    assert levels(check("clock")) == [level]


@pytest.mark.parametrize(
    ("part", "sql"),
    [
        ("cloud", "UPDATE operator_audit SET at = {later}"),
        ("activity", "INSERT INTO access_audit (at, event, address, request_id) VALUES ({later}, 'login', 'a', 'r')"),
        ("activity", "INSERT INTO sessions VALUES (x'00', 1, 1, 's', {later}, {later})"),
    ],
)
def test_rows_from_the_future_are_a_problem(check: Check, data: Path, part: str, sql: str) -> None:
    assert levels(check("times in the store")) == ["ok"]
    execute(data, part, sql.format(later=int(SAMPLE_TIME) + 60))
    (finding,) = check("times in the store")
    assert finding.level == "problem"
    assert "2026-11-15T12:21:00Z, in the future" in finding.text


@pytest.mark.parametrize("moment", [1_763_204_400_000_000, 2**62, -1])
def test_invalid_time_is_reported(check: Check, data: Path, moment: int) -> None:
    execute(data, "cloud", f"UPDATE operator_audit SET at = {moment}")
    (finding,) = check("times in the store")
    assert finding.level == "problem"
    assert f"invalid time of a change by an operator: {moment} is not between the years" in finding.text


def test_the_time_zone_is_shown(check: Check) -> None:
    (finding,) = check("time zones", time_zone="Asia/Shanghai")
    assert finding.text == "in Asia/Shanghai it is 2026-11-15 20:20"
