"""Doctor checks of the data directory, databases, totals and times."""

import ctypes
import os
import shutil
import sqlite3
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


def test_healthy_store_has_no_problems(data: Path) -> None:
    data.chmod(0o700)
    results = run_checks(DoctorContext(Settings(data=data, port=0), [], SAMPLE_TIME))
    assert {result.check for result in results} == set(CHECKS)
    assert [result for result in results if result.level == "problem"] == []


def test_the_doctor_changes_nothing(data: Path) -> None:
    before = {file.name: file.read_bytes() for file in data.iterdir()}
    run_checks(DoctorContext(Settings(data=data, port=0), [], SAMPLE_TIME))
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


def test_missing_directory_is_a_problem(check: Check, tmp_path: Path) -> None:
    assert levels(check("data directory", data=tmp_path / "none")) == ["problem"]


def test_readable_directory_warns_and_readable_database_is_a_problem(check: Check, data: Path) -> None:
    data.chmod(0o755)
    (data / "activity.db").chmod(0o640)
    findings = check("data directory")
    assert levels(findings) == ["warning", "problem"]
    assert findings[1].command == f"chmod 600 {data / 'activity.db'}"


@pytest.mark.skipif(os.getuid() != 0 and os.environ.get("CI") != "true", reason="only root can change file owners")
def test_a_file_of_another_user_is_a_problem(check: Check, data: Path) -> None:
    data.chmod(0o700)
    os.chown(data / "cloud.db", 4711, 4711)
    (finding,) = check("data directory")
    assert (finding.level, "another user owns cloud.db" in finding.text) == ("problem", True)


@pytest.mark.skipif(os.getuid() != 0 and os.environ.get("CI") != "true", reason="only root can change file owners")
def test_own_files_in_a_directory_of_root_are_ok(check: Check, data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data.chmod(0o2770)
    for file in data.iterdir():
        os.chown(file, 4711, -1)
    monkeypatch.setattr(os, "geteuid", lambda: 4711)
    assert [finding.text for finding in check("data directory")] == [f"other users can access {data}"]


@pytest.mark.parametrize(("min_free", "store_size", "level"), [(2**62, 1, "problem"), (1, 2**62, "warning")])
def test_low_disk_space_is_reported(
    check: Check, data: Path, monkeypatch: pytest.MonkeyPatch, min_free: int, store_size: int, level: str
) -> None:
    data.chmod(0o700)
    monkeypatch.setattr(sqlite, "MIN_FREE", min_free)
    if store_size > 1:
        # A sparse file has a size without using disk space.
        free = shutil.disk_usage(data).free
        with (data / "cloud.db-wal").open("wb") as log:
            log.truncate(free)
        (data / "cloud.db-wal").chmod(0o600)
    assert levels(check("data directory")) == [level]


def test_leftover_directory_of_a_killed_command_is_a_warning(check: Check, data: Path) -> None:
    data.chmod(0o700)
    leftover = data / ".restore-abc"
    leftover.mkdir()
    os.utime(leftover, (SAMPLE_TIME - 7200, SAMPLE_TIME - 7200))
    (finding,) = check("data directory")
    assert (finding.level, finding.command) == ("warning", f"rm -r {leftover}")
    os.utime(leftover, (SAMPLE_TIME - 60, SAMPLE_TIME - 60))
    assert levels(check("data directory")) == ["ok"]


# The databases


def test_corrupt_database_is_a_problem(check: Check, data: Path) -> None:
    (data / "activity.db").write_bytes(b"rubbish" * 1000)
    findings = check("databases")
    assert levels(findings) == ["ok", "problem"]
    assert "restore" in findings[1].fix


def test_compatible_newer_store_is_a_warning(check: Check, data: Path) -> None:
    make_newer(data, oldest_compatible=CURRENT_REVISION)
    assert {finding.level for finding in check("databases")} == {"warning"}


def test_dangling_foreign_key_is_a_problem(check: Check, data: Path) -> None:
    execute(data, "cloud", "UPDATE accounts SET tenant_id = 4711")
    (finding, _) = check("databases")
    assert "a row of accounts refers to a missing row of tenants" in finding.text


@pytest.mark.parametrize(
    ("sql", "text"),
    [
        ("UPDATE alembic_version SET version_num = '9999'", "newer Cloud Console (revision 9999)"),
        ("DROP TABLE alembic_version", "has no Cloud Console tables"),
        ("PRAGMA journal_mode = DELETE", "has journal mode delete, not WAL"),
    ],
)
def test_unexpected_database_state_is_a_problem(check: Check, data: Path, sql: str, text: str) -> None:
    execute(data, "cloud", sql)
    (finding, rest) = check("databases")
    assert (finding.level, rest.level) == ("problem", "ok")
    assert text in finding.text


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


def test_foreign_trigger_is_a_problem(check: Check, data: Path) -> None:
    execute(data, "cloud", "CREATE TRIGGER hush BEFORE INSERT ON operator_audit BEGIN SELECT RAISE(IGNORE); END")
    cloud, activity = check("databases")
    assert (cloud.level, activity.level) == ("problem", "ok")
    assert "the schema of cloud.db was modified (trigger hush)" in cloud.text


def test_a_trigger_with_a_reserved_name_in_the_live_schema_is_a_problem(check: Check, data: Path) -> None:
    with closing(sqlite3.connect(data / "cloud.db", isolation_level=None)) as connection:
        connection.execute("PRAGMA writable_schema = ON")
        connection.execute(
            "INSERT INTO sqlite_master VALUES ('trigger', 'sqlite_stat_x', 'accounts', 0, 'CREATE TRIGGER "
            "sqlite_stat_x AFTER UPDATE OF password_hash ON accounts BEGIN UPDATE accounts SET disabled = 0; END')"
        )
    cloud, _ = check("databases")
    assert cloud.level == "problem"
    assert "the schema of cloud.db was modified (trigger sqlite_stat_x)" in cloud.text


def test_the_schema_of_an_older_revision_is_compared_too(check: Check, data: Path) -> None:
    execute(data, "cloud", "UPDATE alembic_version SET version_num = '0001'")
    outdated, changed, _ = check("databases")
    assert "has revision 0001, but this version needs" in outdated.text
    assert "the schema of cloud.db was modified" in changed.text


def test_wrong_totals_are_a_problem(check: Check, data: Path) -> None:
    assert levels(check("totals")) == ["ok"]
    execute(data, "cloud", "UPDATE totals SET items = items + 1 WHERE kind = 'volume'")
    (finding,) = check("totals")
    assert finding.level == "problem"
    assert finding.command.endswith("cloudconsole admin recount")


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


def test_kernel_of_this_machine_can_be_queried(check: Check) -> None:
    assert "problem" not in levels(check("clock"))


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
