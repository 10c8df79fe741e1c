"""Database checks of the doctor on a real PostgreSQL."""

import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psycopg
import pytest
from cluster.postgres import PostgresServer
from psycopg.conninfo import conninfo_to_dict

from cloudconsole.server.config.identity_endpoints import KEYSTONE, IdentityEndpoint
from cloudconsole.server.config.settings import Settings
from cloudconsole.server.doctor import postgres
from cloudconsole.server.doctor.context_and_findings import DoctorContext, Finding
from cloudconsole.server.doctor.postgres import check_database
from cloudconsole.server.doctor.runner import run_checks
from cloudconsole.store.postgres.dsn import Dsn, without_password
from tests.databases import Databases
from tests.harness import CERTIFICATES
from tests.scale.postgres.manual_lease import execute

REGION = "https://identity.example.com/v3"

Check = Callable[..., Finding]


@pytest.fixture(scope="module")
def durable() -> Iterator[Databases]:
    """Databases of a durable server; most tests use a non-durable one."""
    with PostgresServer() as server, closing(Databases(server)) as databases:
        yield databases


@pytest.fixture
def address(durable: Databases) -> Iterator[Dsn]:
    name = durable.acquire(durable.migrated_template)
    yield Dsn(durable.address(name))
    durable.release(name)


@pytest.fixture
def check(address: Dsn) -> Check:
    def check(*, database: str = address.given, **settings: Any) -> Finding:
        context = DoctorContext(Settings(database=database, **settings), [], time.time())
        (finding,) = check_database(context)
        return finding

    return check


def password_file(directory: Path, password: str, mode: int = 0o600) -> Path:
    file = directory / "the password"
    file.write_text(password)
    file.chmod(mode)
    return file


def test_healthy_database_is_ok(check: Check) -> None:
    finding = check()
    assert finding.level == "ok"
    assert finding.text.endswith("is reachable and up to date, and records changes")


@pytest.mark.parametrize(
    ("damage", "text"),
    [
        ("ALTER TABLE quotas DISABLE TRIGGER signal_changed", "change log triggers are active"),
        ("UPDATE alembic_version SET version_num = '0007'", "it has revision 0007"),
        ("UPDATE alembic_version SET version_num = '9999'", "created by a newer Cloud Console"),
        ("DROP TABLE alembic_version", "it has no Cloud Console tables"),
        ("DROP TABLE signals", 'relation "signals" does not exist'),
    ],
)
def test_each_problem_is_reported_with_a_fix(check: Check, address: Dsn, damage: str, text: str) -> None:
    execute(address, damage)
    finding = check()
    assert (finding.level, text in finding.text, bool(finding.fix)) == ("problem", True, True)


@pytest.mark.parametrize("damage", ["DROP TABLE alembic_version", "UPDATE alembic_version SET version_num = '9999'"])
def test_other_checks_skip_an_unusable_database(address: Dsn, damage: str) -> None:
    execute(address, damage)
    results = run_checks(DoctorContext(Settings(database=address.given, port=0), [], time.time()))
    skipped = {result.check for result in results if result.text == "skipped: the database cannot be used"}
    cloud_checks = {"totals", "prices", "times in the store", "operators", "sample passwords"}
    assert skipped == cloud_checks | {"login throttle", "proxies"}
    assert [result.check for result in results if result.level == "problem"] == ["databases"]
    assert not [result.text for result in results if result.text.startswith("failed: ")]


def test_unpurged_change_log_is_reported(check: Check, address: Dsn, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postgres, "MAX_SIGNALS", 1)
    execute(address, "INSERT INTO tenants (name) VALUES ('Acme')")
    assert (check().level, "change log" in check().text) == ("warning", True)


def test_database_that_may_lose_commits_is_reported(check: Check, databases: Databases, migrated_template: str) -> None:
    finding = check(database=databases.address(migrated_template))
    assert (finding.level, "may lose" in finding.text) == ("warning", True)


@pytest.mark.parametrize(
    ("mode", "level"), [(0o644, "warning"), (0o602, "problem"), (0o660, "warning"), (0o640, "ok"), (0o400, "ok")]
)
def test_password_file_open_to_others_is_reported_once(check: Check, tmp_path: Path, mode: int, level: str) -> None:
    file = password_file(tmp_path, "console-database", mode)
    finding = check(database_password_file=file)
    assert finding.level == level
    assert (str(file) in finding.text) is (level != "ok")


def test_missing_password_file_is_reported_once(check: Check, tmp_path: Path) -> None:
    finding = check(database_password_file=tmp_path / "none")
    assert (finding.level, "cannot be read" in finding.text) == ("problem", True)


@pytest.mark.parametrize(("identity", "needed"), [((), 1800), ((IdentityEndpoint(REGION, KEYSTONE),), 2000)])
def test_too_few_connections_are_reported(check: Check, identity: tuple[IdentityEndpoint, ...], needed: int) -> None:
    finding = check(workers=200, identity=identity, token_keys=Path("token-keys"))
    assert (finding.level, f"200 workers may need {needed} more" in finding.text) == ("warning", True)


@pytest.mark.parametrize("seconds", [-5, 5])
def test_clock_difference_is_reported(check: Check, monkeypatch: pytest.MonkeyPatch, seconds: int) -> None:
    monkeypatch.setattr(postgres, "time", SimpleNamespace(time=lambda: time.time() + seconds))
    finding = check()
    assert (finding.level, "differ by 5 s" in finding.text) == ("warning", True)


def test_slow_response_is_not_a_clock_difference(check: Check, monkeypatch: pytest.MonkeyPatch) -> None:
    clock_readings = iter([time.time() - 60, time.time() + 60])
    monkeypatch.setattr(postgres, "time", SimpleNamespace(time=lambda: next(clock_readings)))
    assert check().level == "ok"


def test_wrong_password_is_no_outage(check: Check, address: Dsn, tmp_path: Path) -> None:
    file = password_file(tmp_path, "wrong")
    finding = check(database_password_file=file)
    assert (finding.level, finding.fix) == ("problem", f"write the role's password to {file}")
    finding = check(database=f"{address.given}?password=wrong")
    assert (finding.level, finding.fix.endswith("set database_password_file")) == ("problem", True)


def test_untrusted_certificate_is_no_outage(check: Check, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    with PostgresServer(tls=True, durable=False) as server:
        server.create_database("cloud")
        plain = server.address("cloud").partition("?")[0]
        for parameters in ("sslmode=verify-full", f"sslmode=verify-full&sslrootcert={CERTIFICATES / 'rsa.pem'}"):
            finding = check(database=f"{plain}?{parameters}")
            assert (finding.level, "sslrootcert" in finding.fix) == ("problem", True), finding


def test_suggested_command_ends_the_locking_transaction(
    check: Check, address: Dsn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres, "BUSY_SECONDS", 0)
    file = password_file(tmp_path, str(conninfo_to_dict(address.given)["password"]))
    settings: dict[str, Any] = {"database": without_password(address.given), "database_password_file": file}
    with psycopg.connect(address.given) as holder:
        holder.execute("LOCK TABLE sessions")
        finding = check(**settings)
        assert "locks the login tables: logins get 503" in finding.text
        subprocess.run(["sh", "-c", finding.command], check=True, capture_output=True, timeout=120)
        with pytest.raises(psycopg.OperationalError):
            holder.execute("SELECT 1")
    assert check(**settings).level == "ok"


def test_missing_database_is_reported_without_its_password(check: Check, address: Dsn) -> None:
    finding = check(database=f"{address.given.rpartition('/')[0]}/no_such?password=hunter2")
    assert (finding.level, "no_such" in finding.text) == ("problem", True)
    assert "hunter2" not in finding.text
