"""PostgreSQL of one's own, as the other tests of many machines need it."""

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
def harmed() -> Iterator[PostgresServer]:
    with PostgresServer() as server:
        server.create_database("things")
        with psycopg.connect(server.address("things")) as connection:
            connection.execute("CREATE TABLE things (name text)")
        yield server


@pytest.fixture
def own(harmed: PostgresServer) -> PostgresServer:
    """A server that one may harm."""
    harmed.restart()
    harmed.execute("TRUNCATE things", "things")
    return harmed


def note(server: PostgresServer, name: str) -> None:
    with psycopg.connect(server.address("things"), autocommit=True) as connection:
        connection.execute("INSERT INTO things VALUES (%s)", [name])


def noted(server: PostgresServer) -> list[str]:
    return [name for (name,) in server.execute("SELECT name FROM things ORDER BY name", "things")]


def test_the_console_comes_in_by_its_password(postgres: PostgresServer, database: str) -> None:
    with psycopg.connect(postgres.address(database)) as connection:
        assert connection.execute("SELECT current_user, current_database()").fetchone() == ("console", database)


@pytest.mark.parametrize("password", ["", ":wrong"])
def test_nobody_comes_in_without_the_password(postgres: PostgresServer, database: str, password: str) -> None:
    address = postgres.address(database, password=False).replace("console@", f"console{password}@")
    with pytest.raises(psycopg.OperationalError, match="password"):
        psycopg.connect(address)


def test_the_console_may_make_tables_in_its_database(postgres: PostgresServer, database: str) -> None:
    with psycopg.connect(postgres.address(database)) as connection:
        connection.execute("CREATE TABLE mine (number integer)")


@pytest.mark.parametrize("turn", ["first", "second"])
def test_each_test_has_an_empty_database(postgres: PostgresServer, database: str, turn: str) -> None:
    assert postgres.execute("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'", database) == [(0,)]
    postgres.execute("CREATE TABLE left_behind (number integer)", database)


def test_a_database_can_be_a_copy(postgres: PostgresServer, database: str) -> None:
    postgres.execute("CREATE TABLE numbers AS SELECT 7 AS number", database)
    postgres.create_database("a copy", template=database)
    try:
        assert postgres.execute("SELECT number FROM numbers", "a copy") == [(7,)]
        with psycopg.connect(postgres.address("a copy")) as connection:
            assert connection.info.dbname == "a copy"
    finally:
        postgres.drop_database("a copy")


def test_a_database_goes_with_those_connected_to_it(postgres: PostgresServer) -> None:
    with psycopg.connect(postgres.create_database("passing")) as connection:
        postgres.drop_database("passing")
        with pytest.raises(psycopg.OperationalError):
            connection.execute("SELECT 1")
    postgres.drop_database("passing")


def test_the_ports_of_an_address_are_tried_in_turn(postgres: PostgresServer, database: str) -> None:
    address = postgres.address(database, 1, postgres.port, connect_timeout="20")
    with psycopg.connect(address) as connection:
        assert connection.info.port == postgres.port


def test_an_address_takes_parameters_of_libpq(postgres: PostgresServer, database: str) -> None:
    with psycopg.connect(postgres.address(database, application_name="a & b/c")) as connection:
        assert connection.execute("SHOW application_name").fetchone() == ("a & b/c",)


def test_a_wire_between_can_hold_and_cut(postgres: PostgresServer, database: str) -> None:
    answers: list[object] = []
    with (
        FaultyProxy(postgres.port) as wire,
        psycopg.connect(postgres.address(database, wire.port), autocommit=True) as connection,
    ):
        wire.black_hole()
        asking = threading.Thread(target=lambda: answers.append(connection.execute("SELECT 1").fetchone()))
        asking.start()
        asking.join(0.2)
        assert not answers
        wire.heal()
        asking.join(60)
        assert answers == [(1,)]
        wire.reset()
        with pytest.raises(psycopg.OperationalError):
            connection.execute("SELECT 1")


def test_with_tls_the_server_is_told_from_others() -> None:
    with PostgresServer(tls=True, durable=False) as server:
        address = server.create_database("things")
        with psycopg.connect(address) as connection:
            assert connection.pgconn.ssl_in_use
        with pytest.raises(psycopg.OperationalError, match="no encryption"):
            psycopg.connect(server.address("things", sslmode="disable"))
        with PostgresServer(tls=True, durable=False) as other:
            strange = server.address("things", sslrootcert=str(other.certificate))
            with pytest.raises(psycopg.OperationalError, match="certificate verify failed"):
                psycopg.connect(strange)


def test_settings_of_ones_own_go_before_ours() -> None:
    with PostgresServer(durable=False, settings={"max_connections": 17}) as server:
        assert server.execute("SHOW max_connections") == [("17",)]


def test_a_restart_keeps_address_and_data(own: PostgresServer) -> None:
    note(own, "before")
    own.restart()
    note(own, "after")
    assert noted(own) == ["after", "before"]


def test_a_standby_has_what_was_committed_and_takes_writes_once_promoted() -> None:
    with PostgresServer() as server:
        server.create_database("things")
        server.execute("CREATE TABLE things (name text); GRANT ALL ON things TO console", "things")
        with server.standby() as standby:
            note(server, "before")
            server.kill()
            with pytest.raises(psycopg.errors.ReadOnlySqlTransaction):
                note(standby, "too early")
            standby.promote()
            note(standby, "later")
            assert noted(standby) == ["before", "later"]


def test_what_was_committed_survives_a_kill(own: PostgresServer) -> None:
    with psycopg.connect(own.address("things")) as connection:
        connection.execute("INSERT INTO things VALUES ('never committed')")
        note(own, "committed")
        own.kill()
        assert not own.is_running
        with pytest.raises(psycopg.OperationalError):
            connection.execute("SELECT 1")
    own.start()
    assert noted(own) == ["committed"]


def test_a_kill_leaves_no_process(own: PostgresServer) -> None:
    with psycopg.connect(own.address("things")):
        processes = own.processes
        assert set(processes) == {processes[0], *children_of(processes[0])}
        assert len(processes) > 3
        own.kill()
    assert not own.processes
    assert not [process for process in processes if is_running(process)]


def test_a_halted_server_answers_when_it_goes_on(own: PostgresServer) -> None:
    answers: list[object] = []
    with psycopg.connect(own.address("things"), autocommit=True) as connection:
        asking = threading.Thread(target=lambda: answers.append(connection.execute("SELECT 1").fetchone()))
        own.pause()
        asking.start()
        with pytest.raises(psycopg.errors.ConnectionTimeout):
            psycopg.connect(own.address("things", connect_timeout="2"))
        assert not answers
        own.resume()
        asking.join(60)
    assert answers == [(1,)]


@pytest.mark.parametrize("way", ["stop", "kill", "restart"])
def test_a_halted_server_can_be_ended(own: PostgresServer, way: str) -> None:
    own.pause()
    getattr(own, way)()
    assert own.is_running == (way == "restart")


def test_a_server_that_died_of_itself_starts_again(own: PostgresServer) -> None:
    note(own, "committed")
    processes = own.processes
    os.kill(processes[0], signal.SIGKILL)
    eventually(lambda: not any(is_running(process) for process in processes))
    assert not own.is_running
    own.start()
    assert noted(own) == ["committed"]


def test_a_server_that_cannot_start_says_why() -> None:
    with pytest.raises(ClusterError, match="no_such_setting"), PostgresServer(settings={"no_such_setting": 1}):
        pass


def test_what_does_not_run_cannot_be_halted(own: PostgresServer) -> None:
    assert own.stop() == 0
    assert own.stop() is None
    with pytest.raises(ClusterError, match="is not running"):
        own.pause()
    with pytest.raises(ClusterError, match="is not running"):
        own.resume()


def test_what_runs_cannot_be_started_again(own: PostgresServer) -> None:
    with pytest.raises(ClusterError, match="is already running"):
        own.start()


def test_a_folder_of_its_own_goes_with_it() -> None:
    with PostgresServer(durable=False) as server:
        server.pause()
        assert server.folder.exists()
    assert not server.is_running
    assert not server.folder.exists()


def test_a_folder_that_was_given_stays(own: PostgresServer) -> None:
    note(own, "kept")
    own.stop()
    with PostgresServer(own.folder, tls=True) as again:
        assert noted(again) == ["kept"]
        note(again, "and more")
    assert again.folder.exists()


def test_a_folder_that_cannot_be_used_is_told(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "something").touch()
    with pytest.raises(ClusterError, match="initdb: "), PostgresServer(tmp_path):
        pass
