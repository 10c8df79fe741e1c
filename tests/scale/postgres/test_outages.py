"""A PostgreSQL that accepts no writes or no connections, hangs or dies, and clients paused in a transaction."""

import asyncio
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
from cloudconsole.spec.errors import Unavailable
from cloudconsole.store import tables
from cloudconsole.store.base import run_with_reader
from cloudconsole.store.postgres.dsn import Dsn
from cloudconsole.store.postgres.store import PostgresStore
from tests.e2e.processes import command, eventually
from tests.fork_server import fork_context
from tests.harness import ApiClient, HttpTransport, InProcessTransport, Reply, async_test
from tests.scale.postgres.manual_lease import TIMEOUT
from tests.scale.sites import log_lines
from tests.server.commands.conftest import Run

pytestmark = pytest.mark.slow

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


def test_worker_keeps_its_connections_when_no_others_are_free(server: PostgresServer, replica: Replica) -> None:
    """If it has lost them, it responds 503 until there are free ones."""
    with connected_client(replica) as client, connected_client(replica) as other:
        assert client.login().status == 200
        assert client.call("GetUsageLimits").status == 200
        with all_connections_taken(server):
            assert client.call("GetUsageLimits").status == 200
            assert ApiClient(other.transport).login().status == 200
        replica.pause()
        server.execute(DISCONNECT)
        with all_connections_taken(server):
            replica.resume()
            assert other.open().status == 200
            assert other.login().status == 503
            assert client.call("GetUsageLimits").status == 503
        eventually(lambda: client.call("GetUsageLimits").status == 200)
        eventually(lambda: other.login().status == 200)


def test_every_request_rejected_by_an_outage_counts_as_a_store_error(server: PostgresServer, replica: Replica) -> None:
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


# A server that hangs


@pytest.fixture
def other_replica(server: PostgresServer) -> Iterator[Replica]:
    """A replica that a test may stop; a paused server is resumed afterwards."""
    with Replica({"database": server.address("cloud"), "stop_grace": 20}, flags=["--sample"]) as running:
        yield running
        server.resume()


def trigger_write(client: ApiClient) -> None:
    """Send a request that makes the console write, but does not wait for the write."""
    assert ApiClient(client.transport).send("GET", "/api/", {"X-Forwarded-For": "192.0.2.1"}).status == 200


def test_logins_fail_until_the_database_resumes(server: PostgresServer, other_replica: Replica) -> None:
    with connected_client(other_replica) as client:
        assert client.login().status == 200
        server.pause()
        trigger_write(client)
        assert client.login().status == 503
        server.resume()
        eventually(lambda: client.login().status == 200)


def test_console_stops_gracefully_while_the_database_hangs(server: PostgresServer, other_replica: Replica) -> None:
    with connected_client(other_replica) as client:
        assert client.login().status == 200
        server.pause()
        trigger_write(client)
        assert other_replica.stop() == 0
    assert [line["drained"] for line in log_lines(other_replica) if line.get("event") == "stop"] == [True]


def test_command_reports_a_connection_timeout(server: PostgresServer, cloudconsole: Run) -> None:
    server.pause()
    try:
        done = cloudconsole("admin", "node", "list", "--database", server.address("cloud"))
    finally:
        server.resume()
    assert done.code == 1
    assert "the database cloud on 127.0.0.1 cannot be used: connection timeout expired" in done.err


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


# Several hosts in the DSN: failover from a dead primary to its standby


@pytest.mark.parametrize("closes_connections", [True, False], ids=["process dies", "machine dies"])
def test_failover_to_the_standby_loses_no_commit(closes_connections: bool, cloudconsole: Run) -> None:
    # A value that does not occur in the sample.
    cores = 4321

    def usage() -> Reply:
        return client.call("GetUsageLimits")

    with ExitStack() as running:
        primary = running.enter_context(PostgresServer(durable=False))
        PostgresStore(Dsn(primary.create_database("cloud"))).migrate()
        standby = running.enter_context(primary.standby())
        proxy = running.enter_context(FaultyProxy(primary.port))
        address = primary.address("cloud", proxy.port, standby.port)
        replica = running.enter_context(Replica({"database": address}, flags=["--sample"]))
        client = running.enter_context(connected_client(replica))
        assert client.login().status == 200
        assert cloudconsole("admin", "quota", "change", "demo", "--cores", cores, "--database", address).code == 0
        # From now on cached: served until the lease expires, and then not before there is a new one.
        assert usage().data["maxTotalCores"] == cores
        if not closes_connections:
            proxy.black_hole()
        primary.kill()
        eventually(lambda: usage().status == 503)
        assert standby.execute("SELECT pg_is_in_recovery()") == [(True,)]
        assert [usage().status for _ in range(20)] == [503] * 20
        assert ApiClient(client.transport).login().status == 503
        standby.promote()
        reply_after_failover = eventually(lambda: reply if (reply := usage()).status == 200 else None)
        assert reply_after_failover.data["maxTotalCores"] == cores
        cookies = dict(client.cookies)
        assert client.logout().status == 200
        assert ApiClient(client.transport, cookies).call("GetUsageLimits").status == 401
        assert client.login().status == 200


@async_test
async def test_silent_first_host_is_skipped(postgres: PostgresServer, migrated_template: str) -> None:
    with FaultyProxy(postgres.port) as proxy:
        proxy.black_hole()
        address = Dsn(postgres.address(migrated_template, proxy.port, postgres.port))
        async with run_with_reader(PostgresStore(address)) as reader, asyncio.timeout(TIMEOUT):
            while True:
                try:
                    await reader.changes.poll()
                    assert await reader.one("SELECT count(*) FROM accounts") == (0,)
                    break
                except Unavailable:
                    await asyncio.sleep(0.05)
