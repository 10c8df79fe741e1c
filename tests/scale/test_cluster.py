"""The PostgreSQL servers and proxies that the other scale tests use."""

import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from cluster.errors import ClusterError
from cluster.faulty_proxy import FaultyProxy
from cluster.postgres import PostgresServer

from tests.e2e.processes import children_of, eventually, is_running


@pytest.fixture(scope="module")
def shared_server() -> Iterator[PostgresServer]:
    with PostgresServer() as server:
        server.create_database("things")
        with psycopg.connect(server.address("things")) as connection:
            connection.execute("CREATE TABLE things (name text)")
        yield server


@pytest.fixture
def server(shared_server: PostgresServer) -> PostgresServer:
    """A running server with an empty table `things`, which a test may stop or kill."""
    shared_server.restart()
    shared_server.execute("TRUNCATE things", "things")
    return shared_server


def insert(server: PostgresServer, name: str) -> None:
    with psycopg.connect(server.address("things"), autocommit=True) as connection:
        connection.execute("INSERT INTO things VALUES (%s)", [name])


def names(server: PostgresServer) -> list[str]:
    return [name for (name,) in server.execute("SELECT name FROM things ORDER BY name", "things")]


def test_console_user_logs_in_with_its_password(postgres: PostgresServer, database: str) -> None:
    with psycopg.connect(postgres.address(database)) as connection:
        assert connection.execute("SELECT current_user, current_database()").fetchone() == ("console", database)


@pytest.mark.parametrize("password", ["", ":wrong"])
def test_missing_or_wrong_password_is_rejected(postgres: PostgresServer, database: str, password: str) -> None:
    address = postgres.address(database, password=False).replace("console@", f"console{password}@")
    with pytest.raises(psycopg.OperationalError, match="password"):
        psycopg.connect(address)


def test_console_user_can_create_tables(postgres: PostgresServer, database: str) -> None:
    with psycopg.connect(postgres.address(database)) as connection:
        connection.execute("CREATE TABLE mine (number integer)")


@pytest.mark.parametrize("run", ["first", "second"])
def test_each_test_has_an_empty_database(postgres: PostgresServer, database: str, run: str) -> None:
    assert postgres.execute("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'", database) == [(0,)]
    postgres.execute("CREATE TABLE left_behind (number integer)", database)


def test_database_can_be_created_from_a_template(postgres: PostgresServer, database: str) -> None:
    postgres.execute("CREATE TABLE numbers AS SELECT 7 AS number", database)
    postgres.create_database("a copy", template=database)
    try:
        assert postgres.execute("SELECT number FROM numbers", "a copy") == [(7,)]
        with psycopg.connect(postgres.address("a copy")) as connection:
            assert connection.info.dbname == "a copy"
    finally:
        postgres.drop_database("a copy")


def test_dropping_a_database_closes_its_connections(postgres: PostgresServer) -> None:
    with psycopg.connect(postgres.create_database("passing")) as connection:
        postgres.drop_database("passing")
        with pytest.raises(psycopg.OperationalError):
            connection.execute("SELECT 1")
    postgres.drop_database("passing")


def test_ports_in_a_dsn_are_tried_in_turn(postgres: PostgresServer, database: str) -> None:
    address = postgres.address(database, 1, postgres.port, connect_timeout="20")
    with psycopg.connect(address) as connection:
        assert connection.info.port == postgres.port


def test_dsn_accepts_libpq_parameters(postgres: PostgresServer, database: str) -> None:
    with psycopg.connect(postgres.address(database, application_name="a & b/c")) as connection:
        assert connection.execute("SHOW application_name").fetchone() == ("a & b/c",)


def test_proxy_can_hold_and_reset_connections(postgres: PostgresServer, database: str) -> None:
    results: list[object] = []
    with (
        FaultyProxy(postgres.port) as proxy,
        psycopg.connect(postgres.address(database, proxy.port), autocommit=True) as connection,
    ):
        proxy.black_hole()
        query = threading.Thread(target=lambda: results.append(connection.execute("SELECT 1").fetchone()))
        query.start()
        query.join(0.2)
        assert not results
        proxy.heal()
        query.join(60)
        assert results == [(1,)]
        proxy.reset()
        with pytest.raises(psycopg.OperationalError):
            connection.execute("SELECT 1")


def test_tls_certificate_is_verified() -> None:
    with PostgresServer(tls=True, durable=False) as server:
        address = server.create_database("things")
        with psycopg.connect(address) as connection:
            assert connection.pgconn.ssl_in_use
        with pytest.raises(psycopg.OperationalError, match="no encryption"):
            psycopg.connect(server.address("things", sslmode="disable"))
        with PostgresServer(tls=True, durable=False) as other:
            wrong_ca = server.address("things", sslrootcert=str(other.certificate))
            with pytest.raises(psycopg.OperationalError, match="certificate verify failed"):
                psycopg.connect(wrong_ca)


def test_given_settings_override_the_defaults() -> None:
    with PostgresServer(durable=False, settings={"max_connections": 17}) as server:
        assert server.execute("SHOW max_connections") == [("17",)]


def test_a_restart_keeps_address_and_data(server: PostgresServer) -> None:
    insert(server, "before")
    server.restart()
    insert(server, "after")
    assert names(server) == ["after", "before"]


def test_promoted_standby_has_all_commits_and_accepts_writes() -> None:
    with PostgresServer() as server:
        server.create_database("things")
        server.execute("CREATE TABLE things (name text); GRANT ALL ON things TO console", "things")
        with server.standby() as standby:
            insert(server, "before")
            server.kill()
            with pytest.raises(psycopg.errors.ReadOnlySqlTransaction):
                insert(standby, "too early")
            standby.promote()
            insert(standby, "later")
            assert names(standby) == ["before", "later"]


def test_commits_survive_a_kill(server: PostgresServer) -> None:
    with psycopg.connect(server.address("things")) as connection:
        connection.execute("INSERT INTO things VALUES ('never committed')")
        insert(server, "committed")
        server.kill()
        assert not server.is_running
        with pytest.raises(psycopg.OperationalError):
            connection.execute("SELECT 1")
    server.start()
    assert names(server) == ["committed"]


def test_a_kill_leaves_no_process(server: PostgresServer) -> None:
    with psycopg.connect(server.address("things")):
        processes = server.processes
        assert set(processes) == {processes[0], *children_of(processes[0])}
        assert len(processes) > 3
        server.kill()
    assert not server.processes
    assert not [process for process in processes if is_running(process)]


def test_paused_server_responds_after_resume(server: PostgresServer) -> None:
    results: list[object] = []
    with psycopg.connect(server.address("things"), autocommit=True) as connection:
        query = threading.Thread(target=lambda: results.append(connection.execute("SELECT 1").fetchone()))
        server.pause()
        query.start()
        with pytest.raises(psycopg.errors.ConnectionTimeout):
            psycopg.connect(server.address("things", connect_timeout="2"))
        assert not results
        server.resume()
        query.join(60)
    assert results == [(1,)]


@pytest.mark.parametrize("action", ["stop", "kill", "restart"])
def test_paused_server_can_be_stopped_killed_or_restarted(server: PostgresServer, action: str) -> None:
    server.pause()
    getattr(server, action)()
    assert server.is_running == (action == "restart")


def test_crashed_server_can_be_started_again(server: PostgresServer) -> None:
    insert(server, "committed")
    processes = server.processes
    os.kill(processes[0], signal.SIGKILL)
    eventually(lambda: not any(is_running(process) for process in processes))
    assert not server.is_running
    server.start()
    assert names(server) == ["committed"]


def test_failed_start_reports_the_reason() -> None:
    with pytest.raises(ClusterError, match="no_such_setting"), PostgresServer(settings={"no_such_setting": 1}):
        pass


def test_stopped_server_cannot_be_paused_or_resumed(server: PostgresServer) -> None:
    assert server.stop() == 0
    assert server.stop() is None
    with pytest.raises(ClusterError, match="is not running"):
        server.pause()
    with pytest.raises(ClusterError, match="is not running"):
        server.resume()


def test_running_server_cannot_be_started_again(server: PostgresServer) -> None:
    with pytest.raises(ClusterError, match="is already running"):
        server.start()


def test_temporary_directory_is_removed() -> None:
    with PostgresServer(durable=False) as server:
        server.pause()
        assert server.folder.exists()
    assert not server.is_running
    assert not server.folder.exists()


def test_given_directory_is_kept(server: PostgresServer) -> None:
    insert(server, "kept")
    server.stop()
    with PostgresServer(server.folder, tls=True) as again:
        assert names(again) == ["kept"]
        insert(again, "and more")
    assert again.folder.exists()


def test_unusable_directory_is_reported(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "something").touch()
    with pytest.raises(ClusterError, match="initdb: "), PostgresServer(tmp_path):
        pass
