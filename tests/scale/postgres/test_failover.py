"""The primary dies and its standby takes over: calls are refused meanwhile, and nothing acknowledged is lost."""

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
from tests.harness import Caller, OverHttp, Reply
from tests.server.commands.conftest import Run

pytestmark = pytest.mark.long

CORES: Final = 4321
"""Of a quota that the sample does not have."""


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
def wire(primary: PostgresServer) -> Iterator[FaultyProxy]:
    """By which the console reaches the primary."""
    with FaultyProxy(primary.port) as wire:
        yield wire


@pytest.fixture
def address(primary: PostgresServer, standby: PostgresServer, wire: FaultyProxy) -> str:
    return primary.address("console", wire.port, standby.port)


@pytest.fixture
def caller(address: str) -> Iterator[Caller]:
    with Replica({"database": address}, flags=["--sample"]) as replica, closing(OverHttp(replica.base)) as http:
        yield Caller(http)


@pytest.mark.parametrize("says_so", [True, False], ids=["a process dies", "a machine dies"])
def test_a_console_follows_to_the_standby_with_all_that_was_acknowledged(
    says_so: bool,
    primary: PostgresServer,
    standby: PostgresServer,
    wire: FaultyProxy,
    address: str,
    caller: Caller,
    cloudconsole: Run,
) -> None:
    def usage() -> Reply:
        return caller.call("GetUsageLimits")

    assert caller.login().status == 200
    assert cloudconsole("admin", "quota", "change", "demo", "--cores", CORES, "--database", address).code == 0
    # In memory from now on: it is answered until the lease is over, and then not before there is another.
    assert usage().data["maxTotalCores"] == CORES
    if not says_so:
        wire.black_hole()
    primary.kill()
    eventually(lambda: usage().status == 503)
    assert standby.execute("SELECT pg_is_in_recovery()") == [(True,)]
    assert [usage().status for _ in range(20)] == [503] * 20
    assert Caller(caller.wire).login().status == 503
    standby.promote()
    served = eventually(lambda: reply if (reply := usage()).status == 200 else None)
    assert served.data["maxTotalCores"] == CORES
    cookies = dict(caller.cookies)
    assert caller.logout().status == 200
    assert Caller(caller.wire, cookies).call("GetUsageLimits").status == 401
    assert caller.login().status == 200
