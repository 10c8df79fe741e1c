"""A console whose PostgreSQL stands still: callers are told so, nothing piles up, and it can be stopped."""

from collections.abc import Iterator

import pytest
from cluster.postgres import PostgresServer
from cluster.replica import Replica

from cloudconsole.store.postgres.dsn import Dsn
from cloudconsole.store.postgres.store import PostgresStore
from tests.e2e.processes import eventually
from tests.harness import Caller, OverHttp
from tests.scale.sites import log_lines
from tests.server.commands.conftest import Run

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def own() -> Iterator[PostgresServer]:
    """A server to halt, with a database `console`."""
    with PostgresServer(durable=False) as server:
        PostgresStore(Dsn(server.create_database("console"))).migrate()
        yield server


@pytest.fixture
def replica(own: PostgresServer) -> Iterator[Replica]:
    with Replica({"database": own.address("console"), "stop_grace": 20}, flags=["--sample"]) as running:
        yield running
        own.resume()


@pytest.fixture
def caller(replica: Replica) -> Iterator[Caller]:
    wire = OverHttp(replica.base)
    yield Caller(wire)
    wire.close()


def write_something(caller: Caller) -> None:
    """What the console writes for a visitor without a session, whom it answers all the same."""
    assert Caller(caller.wire).send("GET", "/api/", {"X-Forwarded-For": "192.0.2.1"}).status == 200


def test_logins_are_refused_meanwhile_and_taken_afterwards(own: PostgresServer, caller: Caller) -> None:
    assert caller.login().status == 200
    own.pause()
    write_something(caller)
    assert caller.login().status == 503
    own.resume()
    eventually(lambda: caller.login().status == 200)


def test_the_console_stops_in_good_order(own: PostgresServer, replica: Replica, caller: Caller) -> None:
    assert caller.login().status == 200
    own.pause()
    write_something(caller)
    assert replica.stop() == 0
    assert [line["drained"] for line in log_lines(replica) if line.get("event") == "stop"] == [True]


def test_a_command_that_cannot_connect_says_so(own: PostgresServer, cloudconsole: Run) -> None:
    own.pause()
    try:
        done = cloudconsole("admin", "node", "list", "--database", own.address("console"))
    finally:
        own.resume()
    assert done.code == 1
    assert "the database console on 127.0.0.1 cannot be used: connection timeout expired" in done.err
