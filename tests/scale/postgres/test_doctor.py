"""The doctor's look at a real PostgreSQL: what it finds in order, and each thing that is not."""

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
from cloudconsole.server.doctor.postgres import check_database
from cloudconsole.server.doctor.results import DoctorContext, Finding
from cloudconsole.server.doctor.runner import run_checks as examine_all
from cloudconsole.store.postgres.dsn import Dsn, without_password
from tests.databases import Databases
from tests.harness import CERTIFICATES
from tests.scale.postgres.watching import execute

REGION = "https://identity.example.com/v3"

Examine = Callable[..., Finding]


@pytest.fixture(scope="module")
def durable() -> Iterator[Databases]:
    """Of a server that keeps its word, as that of most tests does not."""
    with PostgresServer() as server, closing(Databases(server)) as databases:
        yield databases


@pytest.fixture
def address(durable: Databases) -> Iterator[Dsn]:
    name = durable.take(durable.with_tables)
    yield Dsn(durable.address(name))
    durable.give_back(name)


@pytest.fixture
def examine(address: Dsn) -> Examine:
    def examine(*, database: str = address.given, **more: Any) -> Finding:
        settings = Settings(database=database, **more)
        (finding,) = check_database(DoctorContext(settings, [], time.time()))
        return finding

    return examine


def test_a_database_in_order_is_said_to_be(examine: Examine) -> None:
    finding = examine()
    assert finding.level == "ok"
    assert finding.text.endswith("is reachable and up to date, and records changes")


@pytest.mark.parametrize(
    ("harm", "level", "text"),
    [
        ("ALTER TABLE quotas DISABLE TRIGGER signal_changed", "problem", "change log triggers are active"),
        ("UPDATE alembic_version SET version_num = '0007'", "problem", "it has revision 0007"),
        ("UPDATE alembic_version SET version_num = '9999'", "problem", "created by a newer Cloud Console"),
        ("DROP TABLE alembic_version", "problem", "it has no Cloud Console tables"),
        ("DROP TABLE signals", "problem", 'relation "signals" does not exist'),
    ],
)
def test_what_is_not_in_order_is_told(examine: Examine, address: Dsn, harm: str, level: str, text: str) -> None:
    execute(address, harm)
    finding = examine()
    assert (finding.level, text in finding.text) == (level, True)
    assert finding.fix


@pytest.mark.parametrize("harm", ["DROP TABLE alembic_version", "UPDATE alembic_version SET version_num = '9999'"])
def test_no_check_looks_into_tables_that_are_not_this_programs(address: Dsn, harm: str) -> None:
    execute(address, harm)
    results = examine_all(DoctorContext(Settings(database=address.given, port=0), [], time.time()))
    unseen = [result.check for result in results if result.text == "skipped: the database cannot be used"]
    assert unseen == [
        "totals",
        "prices",
        "times in the store",
        "operators",
        "sample passwords",
        "login throttle",
        "proxies",
    ]
    assert [result.check for result in results if result.level == "problem"] == ["databases"]
    assert not [result.text for result in results if result.text.startswith("failed: ")]


def test_signals_that_nobody_sweeps_are_told(examine: Examine, address: Dsn, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postgres, "MAX_SIGNALS", 1)
    execute(address, "INSERT INTO tenants (name) VALUES ('Acme')")
    assert (examine().level, "change log" in examine().text) == ("warning", True)


def test_a_database_that_may_lose_what_it_acknowledged_is_told(durable: Databases) -> None:
    with PostgresServer(durable=False) as careless:
        databases = Databases(careless)
        given = databases.address(databases.take(databases.with_tables))
        (finding,) = check_database(DoctorContext(Settings(database=given), [], time.time()))
    assert (finding.level, "may lose" in finding.text) == ("warning", True)


@pytest.mark.parametrize(
    ("mode", "is_told"), [(0o644, True), (0o602, True), (0o660, True), (0o640, False), (0o400, False)]
)
def test_a_password_file_that_is_open_to_others_is_told(address: Dsn, tmp_path: Path, mode: int, is_told: bool) -> None:
    file = tmp_path / "password"
    file.write_text("console-database")
    file.chmod(mode)
    settings = Settings(database=address.given, database_password_file=file)
    (finding,) = check_database(DoctorContext(settings, [], time.time()))
    assert finding.level == ("warning" if is_told else "ok")
    assert (str(file) in finding.text) is is_told


def test_one_that_is_not_there_is_told_once(address: Dsn, tmp_path: Path) -> None:
    settings = Settings(database=address.given, database_password_file=tmp_path / "none")
    (finding,) = check_database(DoctorContext(settings, [], time.time()))
    assert (finding.level, "cannot be read" in finding.text) == ("problem", True)


@pytest.mark.parametrize(("identity", "needed"), [((), 1800), ((IdentityEndpoint(REGION, KEYSTONE),), 2000)])
def test_more_workers_than_connections_are_told(
    examine: Examine, identity: tuple[IdentityEndpoint, ...], needed: int
) -> None:
    finding = examine(workers=200, identity=identity, token_keys=Path("token-keys"))
    assert (finding.level, f"200 workers may need {needed} more" in finding.text) == ("warning", True)


@pytest.mark.parametrize("seconds", [-5, 5])
def test_clocks_apart_are_told(examine: Examine, monkeypatch: pytest.MonkeyPatch, seconds: int) -> None:
    monkeypatch.setattr(postgres, "time", SimpleNamespace(time=lambda: time.time() + seconds))
    finding = examine()
    assert (finding.level, "differ by 5 s" in finding.text) == ("warning", True)


def test_a_database_that_takes_long_to_answer_has_no_other_time(
    examine: Examine, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked_and_answered = iter([time.time() - 60, time.time() + 60])
    monkeypatch.setattr(postgres, "time", SimpleNamespace(time=lambda: next(asked_and_answered)))
    assert examine().level == "ok"


@pytest.mark.parametrize("has_file", [False, True], ids=["address", "file"])
def test_a_wrong_password_is_told_from_a_server_that_is_down(
    examine: Examine, address: Dsn, tmp_path: Path, has_file: bool
) -> None:
    file = tmp_path / "password"
    file.write_text("wrong")
    file.chmod(0o600)
    if has_file:
        finding = examine(database_password_file=file)
        assert finding.fix == f"write the role's password to {file}"
    else:
        finding = examine(database=f"{address.given}?password=wrong")
        assert finding.fix.endswith("set database_password_file")
    assert finding.level == "problem"


def test_an_untrusted_certificate_is_told_from_a_server_that_is_down(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    with PostgresServer(tls=True, durable=False) as server:
        server.create_database("cloud")
        plain = server.address("cloud").partition("?")[0]
        for parameters in ("sslmode=verify-full", f"sslmode=verify-full&sslrootcert={CERTIFICATES / 'rsa.pem'}"):
            (finding,) = check_database(DoctorContext(Settings(database=f"{plain}?{parameters}"), [], time.time()))
            assert (finding.level, "sslrootcert" in finding.fix) == ("problem", True), finding


def test_the_command_ends_the_transaction_that_locks_the_tables_of_logins(
    examine: Examine, address: Dsn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres, "BUSY_SECONDS", 0)
    file = tmp_path / "the password"
    file.write_text(str(conninfo_to_dict(address.given)["password"]))
    file.chmod(0o600)
    given: dict[str, Any] = {"database": without_password(address.given), "database_password_file": file}
    with psycopg.connect(address.given) as holder:
        holder.execute("LOCK TABLE sessions")
        finding = examine(**given)
        assert "locks the login tables: logins get 503" in finding.text
        subprocess.run(["sh", "-c", finding.command], check=True, capture_output=True, timeout=60)
        with pytest.raises(psycopg.OperationalError):
            holder.execute("SELECT 1")
    assert examine(**given).level == "ok"


def test_a_database_that_is_not_there_is_told_without_its_password(examine: Examine, address: Dsn) -> None:
    finding = examine(database=f"{address.given.rpartition('/')[0]}/no_such?password=hunter2")
    assert (finding.level, "no_such" in finding.text) == ("problem", True)
    assert "hunter2" not in finding.text
