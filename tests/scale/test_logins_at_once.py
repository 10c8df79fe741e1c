"""What logins write on PostgreSQL while others log in by other replicas: counted exactly, and never in a deadlock."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from threading import Barrier
from typing import Any, Final

import pytest
from cluster.postgres import PostgresServer
from msgspec.structs import replace
from sqlalchemy import Connection, Engine, select
from sqlalchemy.exc import OperationalError

from cloudconsole.core.login_throttle import ADDRESS_FAILURES, NETWORK_FAILURES, USER_FAILURES
from cloudconsole.core.ports import Account, ClientInfo, CloudCredentials, FederatedUser
from cloudconsole.server.net import throttle_address
from cloudconsole.spec.errors import TooManyRequests
from cloudconsole.store.activity import ActivityStore, LoginAttempt, NewSession
from cloudconsole.store.postgres.dsn import Dsn
from cloudconsole.store.postgres.store import PostgresStore
from cloudconsole.store.sessions import hash_session_id
from cloudconsole.store.sql import retry_deadlocks
from cloudconsole.store.tables import access_audit, login_failures, sessions

NOW: Final = 1_800_000_000
LATER: Final = NOW + 43_200
ALICE: Final = Account(1, "alice", 41, "tenant")
FEDERATED: Final = FederatedUser(
    "alice", 7, CloudCredentials("https://cloud.example:5000", "user", "project", {}, b"token"), LATER
)
NETWORK: Final = "192.0.2.1"
HERE: Final = ClientInfo(NETWORK, "request")


@pytest.fixture
def stores(postgres: PostgresServer, with_tables: str) -> list[PostgresStore]:
    """The store of two replicas."""
    return [PostgresStore(Dsn(postgres.address(with_tables))) for _ in range(2)]


@pytest.fixture
def engines(stores: list[PostgresStore]) -> Iterator[list[Engine]]:
    opened = [store.open_engine("activity") for store in stores]
    yield opened
    for engine in opened:
        engine.dispose()


def at_once(works: list[Callable[[], Any]]) -> list[Any]:
    """What each of them gives; all begin together."""
    start = Barrier(len(works))

    def run(work: Callable[[], Any]) -> Any:
        start.wait()
        return work()

    with ThreadPoolExecutor(len(works)) as threads:
        return list(threads.map(run, works))


def column(engine: Engine, wanted: Any) -> list[Any]:
    with engine.begin() as connection:
        return list(connection.scalars(select(wanted)))


def session(name: str, *replaces: str) -> NewSession:
    return NewSession(hash_session_id(name), "seed", LATER, tuple(map(hash_session_id, replaces)))


USERS: Final = [f"user-{number}" for number in range(30)]
HOME: Final = [throttle_address(f"2001:db8:0:{number:x}::1") for number in range(30)]
"""IPv6 networks of 64 bits in one of 56 bits."""


@pytest.mark.parametrize(
    ("users", "networks", "limit"),
    [
        (["alice"], [NETWORK], USER_FAILURES),
        (USERS, [NETWORK], ADDRESS_FAILURES),
        (USERS, HOME, NETWORK_FAILURES[56]),
    ],
)
def test_so_many_failures_are_counted_as_the_limit_allows(
    engines: list[Engine], users: list[str], networks: list[str], limit: int
) -> None:
    def fail(number: int) -> int:
        """How many of some attempts were counted."""
        activity, counted = ActivityStore(engines[number % 2]), 0
        for turn in range(limit // 4):
            network = networks[(number * 7 + turn) % len(networks)]
            attempt = LoginAttempt(users[(number + turn) % len(users)], network, HERE)
            try:
                activity.record_failure(attempt, None, NOW)
                counted += 1
            except TooManyRequests:
                pass
        return counted

    counted = at_once([partial(fail, number) for number in range(8)])
    assert sum(counted) == limit
    assert len(column(engines[0], login_failures.c.id)) == limit
    assert len(column(engines[0], access_audit.c.id)) == limit


def test_nobody_is_let_in_once_the_limit_is_reached_elsewhere(engines: list[Engine]) -> None:
    attempt = LoginAttempt("alice", NETWORK, HERE)
    for _ in range(USER_FAILURES):
        ActivityStore(engines[0]).record_failure(attempt, None, NOW)
    with pytest.raises(TooManyRequests):
        ActivityStore(engines[1]).open_session(attempt, ALICE, session("late"), NOW)
    assert column(engines[0], sessions.c.id_hash) == []


@pytest.mark.parametrize("user", [ALICE, FEDERATED])
def test_sessions_that_are_opened_touched_and_ended_at_once_are_all_as_was_told(
    engines: list[Engine], user: Account | FederatedUser
) -> None:
    shared = [f"shared-{number}" for number in range(20)]
    everyone = ActivityStore(engines[0])
    for name in shared:
        everyone.open_session(LoginAttempt("alice", NETWORK, HERE), user, session(name), NOW)

    def come_and_go(number: int) -> str:
        """Each replaces the same sessions, in another order, in the midst of those being touched."""
        activity, attempt = ActivityStore(engines[number % 2]), LoginAttempt("alice", f"192.0.2.{number}", HERE)
        for turn in range(10):
            activity.open_session(attempt, user, session(f"s-{number}-{turn}", f"s-{number}-{turn - 1}"), NOW)
            activity.touch_sessions({hash_session_id(name): NOW + turn + 1 for name in shared})
            older = shared[turn::10]
            replaced = older if number % 2 else older[::-1]
            activity.open_session(attempt, user, session(f"t-{number}-{turn}", *replaced), NOW)
            activity.end_session(hash_session_id(f"t-{number}-{turn}"), "alice", HERE, NOW)
        return f"s-{number}-9"

    last = at_once([partial(come_and_go, number) for number in range(6)])
    assert set(column(engines[0], sessions.c.id_hash)) == {hash_session_id(name) for name in last}


def test_each_token_of_a_session_that_ends_is_handed_to_one(engines: list[Engine]) -> None:
    names = [f"ended-{number}" for number in range(40)]
    id_hashes = [hash_session_id(name) for name in names]
    attempt = LoginAttempt("alice", NETWORK, HERE)
    for name in names:
        own = replace(FEDERATED, credentials=replace(FEDERATED.credentials, encrypted_token=name.encode()))
        ActivityStore(engines[0]).open_session(attempt, own, session(name), NOW)

    def sweep(number: int) -> list[CloudCredentials]:
        return ActivityStore(engines[number % 2]).take_federated_sessions(id_hashes)

    def log_in(number: int) -> list[CloudCredentials]:
        replaced = session(f"new-{number}", *names[number::4])
        return ActivityStore(engines[number % 2]).open_session(attempt, FEDERATED, replaced, NOW)

    taken = at_once([partial(work, number) for number in range(4) for work in (sweep, log_in)])
    assert sorted(access.encrypted_token.decode() for part in taken for access in part) == sorted(names)


def test_of_two_that_wait_for_each_other_one_gives_way_and_tries_again(engines: list[Engine]) -> None:
    for name in ("a", "b"):
        ActivityStore(engines[0]).open_session(LoginAttempt("alice", NETWORK, HERE), ALICE, session(name), NOW)
    both_hold = Barrier(2, timeout=60)
    tries: list[str] = []

    def lock(connection: Connection, name: str) -> None:
        held = select(sessions.c.id_hash).where(sessions.c.id_hash == hash_session_id(name)).with_for_update()
        connection.execute(held)

    def cross(first: str, second: str) -> str:
        def work(connection: Connection) -> str:
            tries.append(first)
            lock(connection, first)
            if tries.count(first) == 1:
                both_hold.wait()
            lock(connection, second)
            return first

        return retry_deadlocks(engines[first == "b"], work)

    assert at_once([partial(cross, "a", "b"), partial(cross, "b", "a")]) == ["a", "b"]
    assert len(tries) == 3


def test_other_troubles_are_not_tried_again(engines: list[Engine]) -> None:
    tries = []

    def work(connection: Connection) -> None:
        tries.append(1)
        connection.exec_driver_sql("SET LOCAL statement_timeout = 50")
        connection.exec_driver_sql("SELECT pg_sleep(60)")

    with pytest.raises(OperationalError):
        retry_deadlocks(engines[0], work)
    assert len(tries) == 1


@pytest.mark.parametrize("table", ["access_audit", "login_failures", "operator_audit"])
def test_trails_do_not_run_out_of_numbers(postgres: PostgresServer, with_tables: str, table: str) -> None:
    postgres.execute(f"SELECT setval('{table}_id_seq', {2**31})", with_tables)
    values = {
        "access_audit": "(at, event, address, request_id) VALUES (1, 'login', 'a', 'r')",
        "login_failures": "(at, network, user_hash) VALUES (1, 'n', 'u')",
        "operator_audit": "(at, actor, change) VALUES (1, 'ann', 'load')",
    }
    assert postgres.execute(f"INSERT INTO {table} {values[table]} RETURNING id", with_tables) == [(2**31 + 1,)]
