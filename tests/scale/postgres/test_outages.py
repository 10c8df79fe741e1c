"""A PostgreSQL that accepts no writes or no connections, and clients paused in a transaction."""

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
from tests.fork_server import fork_context
from tests.harness import ApiClient, HttpTransport, InProcessTransport

NOW = 1_800_000_000
CONNECTIONS = 40
DISCONNECT = "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE datname = 'cloud'"


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    """A server with few connections and a database `cloud`."""
    with PostgresServer(durable=False, settings={"max_connections": CONNECTIONS}) as running:
        PostgresStore(Dsn(running.create_database("cloud"))).migrate()
        yield running


@pytest.fixture(scope="module")
def replica(server: PostgresServer) -> Iterator[Replica]:
    with Replica({"database": server.address("cloud")}, flags=["--sample"]) as running:
        yield running


@contextmanager
def connected_client(replica: Replica) -> Iterator[ApiClient]:
    with closing(HttpTransport(replica.base)) as http:
        yield ApiClient(http)


@contextmanager
def read_only(server: PostgresServer) -> Iterator[None]:
    """Make the server read-only, including for open connections."""
    _set_read_only(server, "on")
    try:
        yield
    finally:
        _set_read_only(server, "off")


def _set_read_only(server: PostgresServer, value: str) -> None:
    server.execute(f"ALTER SYSTEM SET default_transaction_read_only = {value}")
    with psycopg.connect(server.address("cloud"), autocommit=True) as observer:
        server.execute("SELECT pg_reload_conf()")
        eventually(lambda: observer.execute("SHOW default_transaction_read_only").fetchone() == (value,))


def test_read_only_database_serves_reads_and_rejects_writes(server: PostgresServer, replica: Replica) -> None:
    with connected_client(replica) as client, connected_client(replica) as other:
        assert client.login().status == 200
        assert client.call("GetUsageLimits").status == 200
        with read_only(server):
            assert client.call("GetUsageLimits").status == 200
            assert other.open().status == 200
            assert other.login().status == 503
            assert client.logout().status == 503
            rejected = command("admin", "tenant", "add", "late", CLOUDCONSOLE_DATABASE=server.address("cloud"))
            assert rejected.returncode == 1
        assert client.call("GetUsageLimits").status == 200
        eventually(lambda: other.login().status == 200)
        assert client.logout().status == 200


def test_replica_does_not_start_on_a_read_only_database(server: PostgresServer, replica: Replica) -> None:
    with read_only(server), pytest.raises(ClusterError, match="session is read-only"):
        Replica({"database": server.address("cloud")}).start()
    assert replica.is_ready()


@contextmanager
def all_connections_taken(server: PostgresServer) -> Iterator[None]:
    """Take every connection that is not reserved for superusers."""
    with ExitStack() as connections:
        for _ in range(CONNECTIONS):
            try:
                connections.enter_context(closing(psycopg.connect(server.address("cloud"))))
            except psycopg.OperationalError:
                break
        else:
            raise AssertionError("the connections never run out")
        yield


def test_worker_keeps_its_connections_when_none_are_free(server: PostgresServer, replica: Replica) -> None:
    with connected_client(replica) as client, connected_client(replica) as other:
        assert client.login().status == 200
        assert client.call("GetUsageLimits").status == 200
        with all_connections_taken(server):
            assert client.call("GetUsageLimits").status == 200
            assert other.login().status == 200


def test_worker_without_connections_responds_503(server: PostgresServer, replica: Replica) -> None:
    with connected_client(replica) as client, connected_client(replica) as other:
        assert client.login().status == 200
        replica.pause()
        server.execute(DISCONNECT)
        with all_connections_taken(server):
            replica.resume()
            assert other.open().status == 200
            assert other.login().status == 503
            assert client.call("GetUsageLimits").status == 503
        eventually(lambda: client.call("GetUsageLimits").status == 200)
        eventually(lambda: other.login().status == 200)


# Paused clients


def pause_in_transaction(address: str) -> None:
    """Stop this process between a change and its commit."""
    with (
        PostgresStore(Dsn(address)).opened("cloud") as engine,
        operator_transaction(engine, actor="a", now=NOW) as transaction,
    ):
        TENANTS.add(transaction, {"name": "halted"})
        os.kill(os.getpid(), signal.SIGSTOP)


def tenant_names(engine: Engine) -> set[str]:
    with engine.connect() as connection:
        return set(connection.scalars(select(tables.tenants.c.name)))


def test_paused_transaction_is_rolled_back_and_unblocks_others(address: Dsn) -> None:
    timeout = "options=-c%20idle_in_transaction_session_timeout%3D500"
    paused = fork_context().Process(target=pause_in_transaction, args=(f"{address.given}?{timeout}",))
    paused.start()
    assert paused.pid is not None
    stat = Path(f"/proc/{paused.pid}/stat")
    try:
        eventually(lambda: stat.read_text().rpartition(")")[2].split()[0] == "T")
        with PostgresStore(address).opened("cloud") as engine:
            # This waits for the lock of the paused process.
            with operator_transaction(engine, actor="b", now=NOW) as transaction:
                TENANTS.add(transaction, {"name": "other"})
            os.kill(paused.pid, signal.SIGCONT)
            paused.join(120)
            assert paused.exitcode == 1
            assert tenant_names(engine) == {"other"}
    finally:
        paused.kill()


def test_every_request_that_an_outage_rejects_is_counted_as_a_store_error(
    server: PostgresServer, replica: Replica
) -> None:
    assert replica.is_ready()
    metrics = SharedMetrics(1)
    with FaultyProxy(server.port) as proxy:
        settings = Settings(database=server.address("cloud", proxy.port))
        with closing(InProcessTransport(Console(settings, metrics=metrics.worker(0)))) as console:
            client = ApiClient(console)
            assert client.login().status == 200
            proxy.reset()
            statuses: list[int] = []

            def send() -> int:
                statuses.append(client.call("GetUsageLimits").status)
                return statuses[-1]

            eventually(lambda: send() == 503)
            assert {send() for _ in range(100)} == {503}
    assert sum(cells[STORE_ERRORS] for cells in metrics.read()) == statuses.count(503)
