"""Doctor checks of the data directory, also one that the user cannot access, of databases, prices, times and logins."""

import ctypes
import os
import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest

from cloudconsole.core import login_throttle
from cloudconsole.server.config.settings import Settings
from cloudconsole.server.doctor import sqlite, store
from cloudconsole.server.doctor.context_and_findings import DoctorContext, Finding
from cloudconsole.server.doctor.runner import CHECKS, run_checks
from cloudconsole.server.ip_addresses import throttle_address
from cloudconsole.store.sqlite.permissions import user_named
from tests.conftest import SAMPLE_TIME
from tests.newer_version import CURRENT_REVISION, make_newer
from tests.server.doctor.conftest import Check, execute, fail_logins, levels

HOUR = int(SAMPLE_TIME) // 3600 * 3600


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
    assert {"settings", "data directory", "databases"} <= {each.check for each in results if each.level == "problem"}
    assert all(result.fix for result in results if result.level != "ok")
    assert not (tmp_path / "none").exists()


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


def test_world_writable_directory_is_one_problem(check: Check, data: Path) -> None:
    data.chmod(0o777)
    assert levels(check("data directory")) == ["problem"]


def test_recent_directory_of_a_running_command_is_ok(check: Check, data: Path) -> None:
    data.chmod(0o700)
    (data / ".restore-abc").mkdir()
    os.utime(data / ".restore-abc", (SAMPLE_TIME - 3600, SAMPLE_TIME - 3600))
    assert levels(check("data directory")) == ["ok"]


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
        (lambda data: (data / "cloud.db").write_bytes(b"rubbish" * 1000), "is damaged: "),
        (_sql("UPDATE accounts SET tenant_id = 4711"), "a row of accounts refers to a missing row of tenants"),
        (_sql("UPDATE alembic_version SET version_num = '9999'"), "newer Cloud Console (revision 9999)"),
        (_sql("DROP TABLE alembic_version"), "has no Cloud Console tables"),
        (_sql("CREATE TRIGGER hush BEFORE INSERT ON nodes BEGIN SELECT RAISE(IGNORE); END"), "modified (trigger hush)"),
        (_add_trigger_with_reserved_name, "the schema of cloud.db was modified (trigger sqlite_stat_x)"),
    ],
)
def test_modified_database_is_a_problem(check: Check, data: Path, damage: Callable[[Path], object], text: str) -> None:
    damage(data)
    finding, rest = check("databases")
    assert (finding.level, text in finding.text, rest.level) == ("problem", True, "ok"), finding


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


def test_resources_without_a_price_are_reported_by_kind(check: Check, data: Path) -> None:
    execute(data, "cloud", "DELETE FROM prices WHERE kind IN ('instance', 'volume')")
    findings = check("prices")
    assert levels(findings) == ["problem", "problem"]
    assert ["instance" in findings[0].text, "volume" in findings[1].text] == [True, True]
    assert "admin price add --kind volume --unit gb --price 0 --from 2026-11-15T12:00:00Z" in findings[1].command


@pytest.mark.parametrize(
    ("started", "ended", "level"),
    [(HOUR - 7200, HOUR - 1, "ok"), (HOUR - 7200, HOUR, "problem"), (int(SAMPLE_TIME) + 60, "NULL", "ok")],
    ids=["ended before this hour", "ended in this hour", "starts later"],
)
def test_resources_of_this_hour_need_a_price(check: Check, data: Path, started: int, ended: object, level: str) -> None:
    execute(data, "cloud", "DELETE FROM prices WHERE kind = 'volume'")
    execute(data, "cloud", f"UPDATE resources SET started_at = {started}, ended_at = {ended} WHERE kind = 'volume'")
    assert levels(check("prices")) == [level]


def test_clock_far_in_the_past_is_a_problem(check: Check) -> None:
    assert levels(check("clock", now=1_000_000_000))[0] == "problem"


@pytest.mark.parametrize(
    ("kernel", "level"),
    [({"adjtimex": lambda _: 5}, "warning"), ({"adjtimex": lambda _: 0}, "ok"), ({}, "ok")],
    ids=["not synchronized", "synchronized", "unknown"],
)
def test_unsynchronized_clock_is_a_warning(
    check: Check, monkeypatch: pytest.MonkeyPatch, kernel: dict[str, object], level: str
) -> None:
    monkeypatch.setattr(ctypes, "CDLL", lambda _: SimpleNamespace(**kernel))
    assert levels(check("clock")) == [level]


LATER, FUTURE = int(SAMPLE_TIME) + 60, "2026-11-15T12:21:00Z, in the future"
AUDIT, ACCESS = "UPDATE operator_audit SET at = {}", "INSERT INTO access_audit (at, event, address, request_id) VALUES"


@pytest.mark.parametrize(
    ("part", "sql", "text"),
    [
        ("cloud", AUDIT.format(LATER), FUTURE),
        ("activity", f"{ACCESS} ({LATER}, 'login', 'a', 'r')", FUTURE),
        ("activity", f"INSERT INTO sessions VALUES (x'00', 1, 1, 's', {LATER}, {LATER})", FUTURE),
        *(
            ("cloud", AUDIT.format(moment), f"invalid time of a change by an operator: {moment} is not between")
            for moment in (1_763_204_400_000_000, 2**62, -1)
        ),
    ],
)
def test_future_or_invalid_time_is_a_problem(check: Check, data: Path, part: str, sql: str, text: str) -> None:
    assert levels(check("times in the store")) == ["ok"]
    execute(data, part, sql)
    (finding,) = check("times in the store")
    assert (finding.level, text in finding.text) == ("problem", True), finding


def test_the_time_zone_is_shown(check: Check) -> None:
    (finding,) = check("time zones", time_zone="Asia/Shanghai")
    assert finding.text == "in Asia/Shanghai it is 2026-11-15 20:20"


@pytest.mark.parametrize("table", ["accounts", "tenants"])
def test_disabled_sample_accounts_are_ok_on_any_host(check: Check, data: Path, table: str) -> None:
    execute(data, "cloud", f"UPDATE {table} SET disabled = 1")
    assert levels(check("sample passwords", host="0.0.0.0")) == ["ok"]


@pytest.mark.parametrize(("failures", "level"), [(9, "ok"), (10, "warning")])
def test_throttled_logins_are_reported(check: Check, data: Path, failures: int, level: str) -> None:
    fail_logins(data, "nobody-we-know", "192.0.2.7", failures)
    (finding,) = check("login throttle")
    assert finding.level == level
    assert ("an unknown user from 192.0.2.7" in finding.text) is (level == "warning")
    assert levels(check("login throttle", now=SAMPLE_TIME + 300)) == ["ok"]


def test_throttled_address_is_reported_once_for_all_users(check: Check, data: Path) -> None:
    for number in range(10):
        fail_logins(data, f"user{number}", "192.0.2.7")
    (finding,) = check("login throttle")
    assert finding.text == "all logins from 192.0.2.7 are throttled"
    assert "add it to proxies" in finding.fix


@pytest.mark.parametrize(("bits", "step"), [(56, 1), (48, 256)])
def test_throttled_ipv6_network_replaces_its_subnets(check: Check, data: Path, bits: int, step: int) -> None:
    for number in range(login_throttle.NETWORK_FAILURES[bits] // 50):
        fail_logins(data, "demo", throttle_address(f"2001:db8:0:{number * step:x}::1"), 50)
    (finding,) = check("login throttle")
    assert finding.text == f"all logins from 2001:db8::/{bits} are throttled"


def test_only_a_few_throttled_logins_are_listed(check: Check, data: Path) -> None:
    for number in range(8):
        fail_logins(data, "demo", f"192.0.2.{number}")
    findings = check("login throttle")
    assert len(findings) == 6
    assert findings[-1].text == "3 more are throttled"


IS_ROOT = os.geteuid() == 0
OWNER, OTHER_USER = (4711, 4712) if IS_ROOT else (os.geteuid(), os.geteuid())
"""Only root can switch users; other users lock themselves out of their own directory."""
OWNER_NAME = user_named(OWNER)


def chown_to_owner(path: Path) -> None:
    if IS_ROOT:
        os.chown(path, OWNER, OWNER)


def lock_out(directory: Path) -> tuple[str, str]:
    """Deny another user access to a directory; return the fix that doctor suggests, as text and command."""
    if IS_ROOT:
        return f"run doctor as {user_named(directory.stat().st_uid)}", ""
    directory.chmod(0)
    return "grant its owner access", f"chmod 700 {directory}"


@pytest.fixture
def foreign(data: Path) -> Iterator[Path]:
    """A store of another user, below directories that every user can access: those of pytest are private."""
    with tempfile.TemporaryDirectory() as name:
        parent = Path(name)
        parent.chmod(0o755)
        shutil.copytree(data, parent / "data")
        (parent / "data").chmod(0o700)
        for path in (parent / "data", *(parent / "data").iterdir()):
            chown_to_owner(path)
        yield parent / "data"
        for directory in (parent, parent / "data"):
            directory.chmod(0o700)


@contextmanager
def as_user(user: int) -> Iterator[None]:
    """Switch to this user; the saved user id stays root's, to switch back."""
    if not IS_ROOT:
        yield
        return
    groups = os.getgroups()
    os.setgroups([])
    os.setresgid(user, user, 0)
    os.setresuid(user, user, 0)
    try:
        yield
    finally:
        os.setresuid(0, 0, 0)
        os.setresgid(0, 0, 0)
        os.setgroups(groups)


def context(directory: Path) -> DoctorContext:
    return DoctorContext(Settings(data=directory, port=0), [], SAMPLE_TIME, quick=True)


def access_finding(user: int, directory: Path) -> Finding:
    """Return the only problem that this user has, and check that the checks of the store are skipped."""
    with as_user(user):
        results = run_checks(context(directory))
    skipped = {result.check for result in results if result.text == "skipped: the data directory cannot be used"}
    assert skipped == {name for name, check in CHECKS.items() if "data" in check.needs} - {"data directory"}
    (found,) = (result for result in results if result.level == "problem")
    assert found.check == "data directory"
    return Finding(*found[1:])


def test_read_only_directory_is_not_reported_as_damaged(foreign: Path) -> None:
    foreign.chmod(0o500)
    finding = access_finding(OWNER, foreign)
    assert finding.text == f"this user cannot write to {foreign}, which belongs to {OWNER_NAME}"
    assert finding.command == f"chmod 700 {foreign}"


@pytest.mark.parametrize("name", ["data", "link"])
def test_inaccessible_directory_is_reported_with_its_owner(foreign: Path, name: str) -> None:
    (foreign.parent / "link").symlink_to(foreign)
    fix = lock_out(foreign)
    finding = access_finding(OTHER_USER, foreign.parent / name)
    assert finding.text == f"this user cannot access {foreign}, which belongs to {OWNER_NAME}"
    assert (finding.fix, finding.command) == fix


def test_inaccessible_parent_directory_is_the_one_reported(foreign: Path) -> None:
    foreign.parent.chmod(0o700)
    lock_out(foreign.parent)
    owner = user_named(os.geteuid())
    assert access_finding(OWNER, foreign).text == f"this user cannot access {foreign.parent}, which belongs to {owner}"


@pytest.mark.parametrize("suffix", ["", "-wal"])
def test_read_only_file_is_not_reported_as_damaged(foreign: Path, suffix: str) -> None:
    check = CHECKS["databases"].run
    # Imports everything: the user may not be able to read Python's files.
    list(check(context(foreign)))
    file = Path(f"{foreign / 'cloud.db'}{suffix}")
    file.touch()
    file.chmod(0o400)
    for path in foreign.iterdir():
        chown_to_owner(path)
    with as_user(OWNER):
        cloud, activity = check(context(foreign))
    assert (cloud.level, cloud.command) == ("problem", f"chmod 600 {file}")
    assert cloud.text == f"this user cannot write to {file}, which belongs to {OWNER_NAME}"
    assert activity.level == "ok"


def test_read_only_file_system_is_reported(foreign: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    access = os.access
    monkeypatch.setattr(os, "access", lambda path, mode: not mode & os.W_OK and access(path, mode))
    monkeypatch.setattr(os, "statvfs", lambda _path: SimpleNamespace(f_flag=os.ST_RDONLY))
    finding = access_finding(os.geteuid(), foreign)
    assert finding.text == f"{foreign} is on a read-only file system, where no store can be used"
