"""Connections to PostgreSQL: settings, idle timeouts, writes to a server that hangs, accepted certificates."""

import math
import signal
import time
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC
from pathlib import Path
from shutil import copytree
from threading import Timer

import psycopg
import pytest
from cluster.certificates import make_certificate
from cluster.postgres import PostgresServer
from cluster.replica import Replica
from sqlalchemy import Connection, Engine
from sqlalchemy.exc import DBAPIError, OperationalError

from cloudconsole.operator.cloud_file.loader import apply_cloud_file, read_cloud_file
from cloudconsole.operator.sample import SAMPLE_FILE
from cloudconsole.server.commands.admin.store import reading_transaction
from cloudconsole.server.config.settings import Settings
from cloudconsole.store.base import read_only_engine, write_deadline
from cloudconsole.store.postgres.dsn import Dsn
from cloudconsole.store.postgres.store import opened
from tests.e2e.processes import command, eventually
from tests.harness import ApiClient, HttpTransport

COUNT = "SELECT count(*) FROM resources"


# Settings


@pytest.mark.parametrize(("options", "expected"), [("", "on"), ("-c synchronous_commit=remote_apply", "remote_apply")])
def test_role_defaults_override_no_required_settings_and_the_dsn_only_with_stricter_ones(
    postgres: PostgresServer, database: str, options: str, expected: str
) -> None:
    defaults = f"ALTER ROLE {postgres.user} IN DATABASE {database}"
    for setting in ("synchronous_commit = off", "default_transaction_isolation = 'serializable'"):
        postgres.execute(f"{defaults} SET {setting}")
    with psycopg.connect(Dsn(postgres.address(database, options=options)).conninfo()) as connection:
        assert connection.execute("SHOW synchronous_commit").fetchone() == (expected,)
        assert connection.execute("SHOW transaction_isolation").fetchone() == ("read committed",)
    postgres.execute(f"{defaults} RESET ALL")


def test_load_has_a_longer_idle_timeout(address: Dsn) -> None:
    """The load of a very large file may take minutes between two statements."""
    timeouts = list[object]()

    def record_timeout(connection: Connection) -> None:
        timeouts.append(connection.exec_driver_sql("SHOW idle_in_transaction_session_timeout").scalar())

    with opened(address, "cloud") as engine:
        apply_cloud_file(
            engine,
            *read_cloud_file(SAMPLE_FILE, UTC),
            name="sample",
            now=0,
            actor="tests",
            zone=UTC,
            require=record_timeout,
        )
        with engine.begin() as connection:
            record_timeout(connection)
    assert timeouts == ["10min", "30s"]


@pytest.fixture
def short_timeout(address: Dsn) -> Dsn:
    """A DSN with a short timeout for idle transactions."""
    return Dsn(f"{address.given}?options=-c%20idle_in_transaction_session_timeout%3D200ms")


def test_paused_listing_keeps_its_transaction(short_timeout: Dsn) -> None:
    """Reading a list page by page may pause."""
    with opened(short_timeout, "cloud") as engine, reading_transaction(engine, Settings()) as transaction:
        transaction.connection.exec_driver_sql(COUNT)
        # Several times the idle timeout of the server; a shorter pause never fails a correct listing.
        time.sleep(0.6)
        transaction.connection.exec_driver_sql(COUNT)


def test_other_idle_transactions_time_out(short_timeout: Dsn, address: Dsn) -> None:
    with opened(short_timeout, "cloud") as engine, read_only_engine(engine).connect() as connection:
        pid = connection.exec_driver_sql("SELECT pg_backend_pid()").scalar()
        with psycopg.connect(address.given, autocommit=True) as observer:
            found = "SELECT 1 FROM pg_stat_activity WHERE pid = %s"
            eventually(lambda: observer.execute(found, [pid]).fetchone() is None)
        with pytest.raises(DBAPIError, match="idle-in-transaction"):
            connection.exec_driver_sql(COUNT)


# A server that hangs


@pytest.fixture
def engine(private_server: PostgresServer, private_address: Dsn) -> Iterator[Engine]:
    """An engine of the private server, which works again after the test."""
    with opened(private_address, None) as engine:
        assert select_one(engine) == 1
        yield engine
        private_server.resume()
        write_deadline.set(math.inf)
        assert select_one(engine) == 1


def select_one(engine: Engine) -> object:
    with engine.begin() as connection:
        return connection.exec_driver_sql("SELECT 1").scalar()


def test_idle_connection_times_out(private_server: PostgresServer, engine: Engine) -> None:
    private_server.pause()
    write_deadline.set(time.monotonic() + 0.3)
    with pytest.raises(OperationalError, match="no response from the database in time"):
        select_one(engine)


def test_transaction_in_progress_times_out(private_server: PostgresServer, engine: Engine) -> None:
    def run_transaction() -> None:
        with engine.begin() as connection:
            connection.exec_driver_sql("CREATE TABLE left_over (id int)")
            private_server.pause()
            write_deadline.set(time.monotonic() + 0.3)
            connection.exec_driver_sql("SELECT 1")

    with pytest.raises(OperationalError, match="no response from the database in time"):
        run_transaction()
    private_server.resume()
    write_deadline.set(math.inf)
    with engine.begin() as connection:
        assert connection.exec_driver_sql("SELECT to_regclass('left_over')").scalar() is None


def test_whole_transaction_has_one_deadline(engine: Engine) -> None:
    def run_transaction() -> None:
        with engine.begin() as connection:
            for _ in range(100):
                connection.exec_driver_sql("SELECT pg_sleep(0.1)")

    write_deadline.set(time.monotonic() + 1)
    with pytest.raises(OperationalError, match="no response from the database in time"):
        run_transaction()


@pytest.mark.usefixtures("engine")
def test_expired_deadline_prevents_connecting(private_address: Dsn) -> None:
    write_deadline.set(time.monotonic())
    with opened(private_address, None) as new_engine, pytest.raises(OperationalError, match="in time"):
        select_one(new_engine)


@pytest.mark.usefixtures("engine")
def test_connecting_to_several_hosts_stops_at_the_deadline(private_server: PostgresServer) -> None:
    address = Dsn(private_server.address("postgres", private_server.port, private_server.port))
    private_server.pause()
    write_deadline.set(time.monotonic() + 0.3)
    with opened(address, None) as new_engine, pytest.raises(OperationalError, match="no response from the database"):
        select_one(new_engine)


def test_interrupt_ends_the_wait(private_server: PostgresServer, engine: Engine) -> None:
    private_server.pause()
    # Late enough to interrupt the wait; an earlier interrupt also ends the test correctly.
    interruption = Timer(0.5, signal.raise_signal, [signal.SIGINT])

    def wait_and_interrupt() -> None:
        interruption.start()
        select_one(engine)

    with pytest.raises(KeyboardInterrupt):
        wait_and_interrupt()
    interruption.join()


# TLS

ENCRYPTED = """
    SELECT ssl, count(*) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE datname = 'cloud' GROUP BY ssl
"""


@pytest.fixture(scope="module")
def tls_server(fast_hash_store: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[PostgresServer]:
    """A TLS server with the sample cloud in the database `cloud`, copied there over TLS."""
    directory = tmp_path_factory.mktemp("tls")
    data, password = copytree(fast_hash_store, directory / "data"), directory / "password"
    with PostgresServer(tls=True, durable=False) as running:
        running.create_database("cloud")
        password.write_text(running.password)
        target = running.address("cloud", password=False)
        done = command("admin", "copy-to", target, "--password-file", str(password), "--data", str(data))
        assert (done.returncode, done.stderr) == (0, "")
        yield running


def dsn_of(tls_server: PostgresServer, **parameters: str) -> str:
    """Return the DSN with only the given TLS parameters."""
    plain = tls_server.address("cloud").partition("?")[0]
    return f"{plain}?{'&'.join(f'{name}={value}' for name, value in parameters.items())}"


def assert_served(tls_server: PostgresServer, database: str) -> None:
    """Check that a session works, and that all database connections are encrypted."""
    with (
        Replica({"database": database, "insecure_sample": True}) as replica,
        closing(HttpTransport(replica.base)) as transport,
    ):
        client = ApiClient(transport)
        assert client.login().status == 200
        assert client.call("GetUsageLimits").status == 200
        ((is_encrypted, count),) = tls_server.execute(ENCRYPTED)
        assert is_encrypted
        assert count > 1


def test_dsn_can_name_a_private_ca(tls_server: PostgresServer) -> None:
    assert_served(tls_server, dsn_of(tls_server, sslmode="verify-full", sslrootcert=str(tls_server.certificate)))


def test_system_cas_are_trusted(tls_server: PostgresServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("SSL_CERT_FILE", str(tls_server.certificate))
    assert_served(tls_server, dsn_of(tls_server, sslmode="verify-full"))


@pytest.mark.parametrize(
    ("arguments", "source"), [(("serve",), "in the address"), (("admin", "tenant", "list"), "by the system")]
)
def test_untrusted_server_is_rejected(
    tls_server: PostgresServer, tmp_path: Path, arguments: tuple[str, ...], source: str
) -> None:
    other, _ = make_certificate(tmp_path)
    trust, variables = {"sslrootcert": str(other)}, {"HOME": str(tmp_path)}
    if source == "by the system":
        trust, variables = {}, variables | {"SSL_CERT_FILE": str(other)}
    done = command(*arguments, CLOUDCONSOLE_DATABASE=dsn_of(tls_server, sslmode="verify-full", **trust), **variables)
    assert (done.returncode, done.stdout) == (1, "")
    assert "certificate verify failed" in done.stderr
    assert tls_server.password not in done.stderr


def test_certificate_for_another_name_is_rejected(tls_server: PostgresServer) -> None:
    dsn = dsn_of(tls_server, sslmode="verify-full", sslrootcert=str(tls_server.certificate), hostaddr="127.0.0.1")
    done = command("admin", "tenant", "list", CLOUDCONSOLE_DATABASE=dsn.replace("@127.0.0.1", "@db.example.com"))
    assert done.returncode == 1
    assert 'does not match host name "db.example.com"' in done.stderr
