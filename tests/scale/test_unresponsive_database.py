"""A console whose PostgreSQL hangs: clients get an error, nothing piles up, and the console can be stopped."""

from collections.abc import Iterator

import pytest
from cluster.postgres import PostgresServer
from cluster.replica import Replica

from cloudconsole.store.postgres.dsn import Dsn
from cloudconsole.store.postgres.store import PostgresStore
from tests.e2e.processes import eventually
from tests.harness import ApiClient, HttpTransport
from tests.scale.sites import log_lines
from tests.server.commands.conftest import Run

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    """A server to pause, with a database `console`."""
    with PostgresServer(durable=False) as running:
        PostgresStore(Dsn(running.create_database("console"))).migrate()
        yield running


@pytest.fixture
def replica(server: PostgresServer) -> Iterator[Replica]:
    with Replica({"database": server.address("console"), "stop_grace": 20}, flags=["--sample"]) as running:
        yield running
        server.resume()


@pytest.fixture
def client(replica: Replica) -> Iterator[ApiClient]:
    transport = HttpTransport(replica.base)
    yield ApiClient(transport)
    transport.close()


def trigger_write(client: ApiClient) -> None:
    """Send a request that makes the console write, but does not wait for the write."""
    assert ApiClient(client.transport).send("GET", "/api/", {"X-Forwarded-For": "192.0.2.1"}).status == 200


def test_logins_fail_until_the_database_resumes(server: PostgresServer, client: ApiClient) -> None:
    assert client.login().status == 200
    server.pause()
    trigger_write(client)
    assert client.login().status == 503
    server.resume()
    eventually(lambda: client.login().status == 200)


def test_console_stops_gracefully(server: PostgresServer, replica: Replica, client: ApiClient) -> None:
    assert client.login().status == 200
    server.pause()
    trigger_write(client)
    assert replica.stop() == 0
    assert [line["drained"] for line in log_lines(replica) if line.get("event") == "stop"] == [True]


def test_command_reports_a_connection_timeout(server: PostgresServer, cloudconsole: Run) -> None:
    server.pause()
    try:
        done = cloudconsole("admin", "node", "list", "--database", server.address("console"))
    finally:
        server.resume()
    assert done.code == 1
    assert "the database console on 127.0.0.1 cannot be used: connection timeout expired" in done.err
