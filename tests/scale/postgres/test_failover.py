"""Failover from a dead primary to its standby: requests fail in between, and no acknowledged change is lost."""

from collections.abc import Iterator
from contextlib import closing
from typing import Final

import pytest
from cluster.faulty_proxy import FaultyProxy
from cluster.postgres import PostgresServer
from cluster.replica import Replica

from cloudconsole.store.postgres.dsn import Dsn
from cloudconsole.store.postgres.store import PostgresStore
from tests.e2e.processes import eventually
from tests.harness import ApiClient, HttpTransport, Reply
from tests.server.commands.conftest import Run

pytestmark = pytest.mark.slow

CORES: Final = 4321
"""A quota value that does not occur in the sample."""


@pytest.fixture
def primary() -> Iterator[PostgresServer]:
    with PostgresServer(durable=False) as server:
        PostgresStore(Dsn(server.create_database("console"))).migrate()
        yield server


@pytest.fixture
def standby(primary: PostgresServer) -> Iterator[PostgresServer]:
    with primary.standby() as server:
        yield server


@pytest.fixture
def proxy(primary: PostgresServer) -> Iterator[FaultyProxy]:
    """The proxy between the console and the primary."""
    with FaultyProxy(primary.port) as proxy:
        yield proxy


@pytest.fixture
def address(primary: PostgresServer, standby: PostgresServer, proxy: FaultyProxy) -> str:
    return primary.address("console", proxy.port, standby.port)


@pytest.fixture
def client(address: str) -> Iterator[ApiClient]:
    with Replica({"database": address}, flags=["--sample"]) as replica, closing(HttpTransport(replica.base)) as http:
        yield ApiClient(http)


@pytest.mark.parametrize("closes_connections", [True, False], ids=["process dies", "machine dies"])
def test_failover_to_the_standby_loses_no_commit(
    closes_connections: bool,
    primary: PostgresServer,
    standby: PostgresServer,
    proxy: FaultyProxy,
    address: str,
    client: ApiClient,
    cloudconsole: Run,
) -> None:
    def usage() -> Reply:
        return client.call("GetUsageLimits")

    assert client.login().status == 200
    assert cloudconsole("admin", "quota", "change", "demo", "--cores", CORES, "--database", address).code == 0
    # From now on cached: served until the lease expires, and then not before there is a new one.
    assert usage().data["maxTotalCores"] == CORES
    if not closes_connections:
        proxy.black_hole()
    primary.kill()
    eventually(lambda: usage().status == 503)
    assert standby.execute("SELECT pg_is_in_recovery()") == [(True,)]
    assert [usage().status for _ in range(20)] == [503] * 20
    assert ApiClient(client.transport).login().status == 503
    standby.promote()
    reply_after_failover = eventually(lambda: reply if (reply := usage()).status == 200 else None)
    assert reply_after_failover.data["maxTotalCores"] == CORES
    cookies = dict(client.cookies)
    assert client.logout().status == 200
    assert ApiClient(client.transport, cookies).call("GetUsageLimits").status == 401
    assert client.login().status == 200
