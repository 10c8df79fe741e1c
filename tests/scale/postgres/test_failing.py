"""A PostgreSQL that takes no writes, or no connections, and who stands still in the middle of a change."""

import os
import signal
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

import psycopg
import pytest
from cluster.errors import ClusterError
from cluster.faulty_proxy import FaultyProxy
from cluster.postgres import PostgresServer
from cluster.replica import Replica
from sqlalchemy import Engine, select

from cloudconsole.operator.entities import TENANTS
from cloudconsole.operator.transaction import operator_transaction
from cloudconsole.server.app import Console
from cloudconsole.server.config.settings import Settings
from cloudconsole.server.metrics.layout import STORE_ERRORS
from cloudconsole.server.metrics.shared_memory import SharedMetrics
from cloudconsole.store import tables
from cloudconsole.store.postgres.dsn import Dsn
from cloudconsole.store.postgres.store import PostgresStore
from tests.e2e.processes import command, eventually
from tests.fork_server import forking
from tests.harness import Caller, InProcess, OverHttp

NOW = 1_800_000_000
CONNECTIONS = 40
DISCONNECT = "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE datname = 'cloud'"


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    """With few connections, and a database `cloud`."""
    with PostgresServer(durable=False, settings={"max_connections": CONNECTIONS}) as running:
        PostgresStore(Dsn(running.create_database("cloud"))).migrate()
        yield running


@pytest.fixture(scope="module")
def replica(server: PostgresServer) -> Iterator[Replica]:
    with Replica({"database": server.address("cloud")}, flags=["--sample"]) as running:
        yield running


@contextmanager
def calling(replica: Replica) -> Iterator[Caller]:
    with closing(OverHttp(replica.base)) as wire:
        yield Caller(wire)


@contextmanager
def read_only(server: PostgresServer) -> Iterator[None]:
    """For all, and for connections that are open already, too."""
    _set_read_only(server, "on")
    try:
        yield
    finally:
        _set_read_only(server, "off")


def _set_read_only(server: PostgresServer, value: str) -> None:
    server.execute(f"ALTER SYSTEM SET default_transaction_read_only = {value}")
    with psycopg.connect(server.address("cloud"), autocommit=True) as witness:
        server.execute("SELECT pg_reload_conf()")
        eventually(lambda: witness.execute("SHOW default_transaction_read_only").fetchone() == (value,))


def test_while_nothing_can_be_written_sessions_are_served_and_nothing_is_confirmed(
    server: PostgresServer, replica: Replica
) -> None:
    with calling(replica) as known, calling(replica) as newcomer:
        assert known.login().status == 200
        assert known.call("GetUsageLimits").status == 200
        with read_only(server):
            assert known.call("GetUsageLimits").status == 200
            assert newcomer.open().status == 200
            assert newcomer.login().status == 503
            assert known.logout().status == 503
            refused = command("admin", "tenant", "add", "late", CLOUDCONSOLE_DATABASE=server.address("cloud"))
            assert refused.returncode == 1
        assert known.call("GetUsageLimits").status == 200
        eventually(lambda: newcomer.login().status == 200)
        assert known.logout().status == 200


def test_a_replica_that_is_started_meanwhile_refuses(server: PostgresServer, replica: Replica) -> None:
    with read_only(server), pytest.raises(ClusterError, match="session is read-only"):
        Replica({"database": server.address("cloud")}).start()
    assert replica.is_ready()


@contextmanager
def all_taken(server: PostgresServer) -> Iterator[None]:
    """Every connection that anybody but a superuser could have."""
    with ExitStack() as taken:
        for _ in range(CONNECTIONS):
            try:
                taken.enter_context(closing(psycopg.connect(server.address("cloud"))))
            except psycopg.OperationalError:
                break
        else:
            raise AssertionError("there are always more")
        yield


def test_without_connections_a_worker_goes_on_with_its_own(server: PostgresServer, replica: Replica) -> None:
    with calling(replica) as known, calling(replica) as newcomer:
        assert known.login().status == 200
        assert known.call("GetUsageLimits").status == 200
        with all_taken(server):
            assert known.call("GetUsageLimits").status == 200
            assert newcomer.login().status == 200


def test_without_connections_a_worker_that_needs_another_says_so(server: PostgresServer, replica: Replica) -> None:
    with calling(replica) as known, calling(replica) as newcomer:
        assert known.login().status == 200
        replica.pause()
        server.execute(DISCONNECT)
        with all_taken(server):
            replica.resume()
            assert newcomer.open().status == 200
            assert newcomer.login().status == 503
            assert known.call("GetUsageLimits").status == 503
        eventually(lambda: known.call("GetUsageLimits").status == 200)
        eventually(lambda: newcomer.login().status == 200)


# Who stands still


def halt_in_the_middle(address: str) -> None:
    """Someone who stops where a change is made and not yet kept."""
    with (
        PostgresStore(Dsn(address)).opened("cloud") as engine,
        operator_transaction(engine, actor="a", now=NOW) as desk,
    ):
        TENANTS.add(desk, {"name": "halted"})
        os.kill(os.getpid(), signal.SIGSTOP)


def names(engine: Engine) -> set[str]:
    with engine.connect() as connection:
        return set(connection.scalars(select(tables.tenants.c.name)))


def test_who_stands_still_in_the_middle_of_a_change_loses_it_and_holds_up_nobody(address: Dsn) -> None:
    patience = "options=-c%20idle_in_transaction_session_timeout%3D500"
    halted = forking().Process(target=halt_in_the_middle, args=(f"{address.given}?{patience}",))
    halted.start()
    assert halted.pid is not None
    stat = Path(f"/proc/{halted.pid}/stat")
    try:
        eventually(lambda: stat.read_text().rpartition(")")[2].split()[0] == "T")
        with PostgresStore(address).opened("cloud") as engine:
            # It waits for the lock that the other has.
            with operator_transaction(engine, actor="b", now=NOW) as desk:
                TENANTS.add(desk, {"name": "other"})
            os.kill(halted.pid, signal.SIGCONT)
            halted.join(60)
            assert halted.exitcode == 1
            assert names(engine) == {"other"}
    finally:
        halted.kill()


def test_every_request_that_an_outage_rejects_is_counted_as_a_store_error(
    server: PostgresServer, replica: Replica
) -> None:
    assert replica.is_ready()
    board = SharedMetrics(1)
    with FaultyProxy(server.port) as wire:
        settings = Settings(database=server.address("cloud", wire.port))
        with closing(InProcess(Console(settings, metrics=board.worker(0)))) as console:
            caller = Caller(console)
            assert caller.login().status == 200
            wire.reset()
            answers: list[int] = []

            def call() -> int:
                answers.append(caller.call("GetUsageLimits").status)
                return answers[-1]

            eventually(lambda: call() == 503)
            assert {call() for _ in range(100)} == {503}
    assert sum(cells[STORE_ERRORS] for cells in board.read()) == answers.count(503)
