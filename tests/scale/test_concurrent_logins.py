"""Concurrent logins on several replicas over PostgreSQL: exact counts, no deadlocks."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from threading import Barrier, Event
from typing import Any, Final

import pytest
from cluster.postgres import PostgresServer
from msgspec.structs import replace
from sqlalchemy import Connection, Engine, select
from sqlalchemy.exc import OperationalError

from cloudconsole.core.login_throttle import NETWORK_FAILURES
from cloudconsole.core.ports import Account, ClientInfo, CloudCredentials, FederatedUser
from cloudconsole.server.ip_addresses import throttle_address
from cloudconsole.spec.errors import TooManyRequests
from cloudconsole.store.activity_writes import ActivityStore, LoginAttempt, NewSession
from cloudconsole.store.postgres.dsn import Dsn
from cloudconsole.store.postgres.store import PostgresStore
from cloudconsole.store.session_lookup import hash_session_id
from cloudconsole.store.sql import retry_deadlocks
from cloudconsole.store.tables import access_audit, login_failures, sessions

NOW: Final = 1_800_000_000
LATER: Final = NOW + 43_200
ALICE: Final = Account(1, "alice", 41, "tenant")
FEDERATED: Final = FederatedUser(
    "alice", 7, CloudCredentials("https://cloud.example:5000", "user", "project", {}, b"token"), LATER
)
NETWORK: Final = "192.0.2.1"
CLIENT: Final = ClientInfo(NETWORK, "request")


@pytest.fixture
def engines(address: Dsn) -> Iterator[list[Engine]]:
    """One engine per replica, over the same database."""
    opened = [PostgresStore(address).open_engine("activity") for _ in range(2)]
    yield opened
    for engine in opened:
        engine.dispose()


def run_concurrently(tasks: list[Callable[[], Any]]) -> list[Any]:
    """Start all tasks together; return their results."""
    start = Barrier(len(tasks))

    def run(work: Callable[[], Any]) -> Any:
        start.wait()
        return work()

    with ThreadPoolExecutor(len(tasks)) as threads:
        return list(threads.map(run, tasks))


def column(engine: Engine, selected: Any) -> list[Any]:
    with engine.begin() as connection:
        return list(connection.scalars(select(selected)))


def session(name: str, *replaces: str) -> NewSession:
    return NewSession(hash_session_id(name), "seed", LATER, tuple(map(hash_session_id, replaces)))


def test_failures_in_a_wider_network_are_counted_up_to_the_limit(engines: list[Engine]) -> None:
    limit = NETWORK_FAILURES[56]
    # /64 networks within one /56.
    networks = [throttle_address(f"2001:db8:0:{number:x}::1") for number in range(30)]

    def fail(number: int) -> int:
        """Return how many attempts were counted."""
        activity, counted = ActivityStore(engines[number % 2]), 0
        for step in range(limit // 4):
            network = networks[(number * 7 + step) % len(networks)]
            attempt = LoginAttempt(f"user-{(number + step) % 30}", network, CLIENT)
            try:
                activity.record_failure(attempt, None, NOW)
                counted += 1
            except TooManyRequests:
                pass
        return counted

    counted = run_concurrently([partial(fail, number) for number in range(8)])
    assert sum(counted) == limit
    assert len(column(engines[0], login_failures.c.id)) == limit
    assert len(column(engines[0], access_audit.c.id)) == limit


@pytest.mark.parametrize("user", [ALICE, FEDERATED])
def test_concurrent_session_changes_lose_nothing(engines: list[Engine], user: Account | FederatedUser) -> None:
    shared = [f"shared-{number}" for number in range(20)]
    activity_store = ActivityStore(engines[0])
    for name in shared:
        activity_store.open_session(LoginAttempt("alice", NETWORK, CLIENT), user, session(name), NOW)

    def churn_sessions(number: int) -> str:
        """Replace the shared sessions, in different orders, while they are being touched."""
        activity, attempt = ActivityStore(engines[number % 2]), LoginAttempt("alice", f"192.0.2.{number}", CLIENT)
        for step in range(10):
            activity.open_session(attempt, user, session(f"s-{number}-{step}", f"s-{number}-{step - 1}"), NOW)
            activity.touch_sessions({hash_session_id(name): NOW + step + 1 for name in shared})
            older = shared[step::10]
            replaced = older if number % 2 else older[::-1]
            activity.open_session(attempt, user, session(f"t-{number}-{step}", *replaced), NOW)
            activity.end_session(hash_session_id(f"t-{number}-{step}"), "alice", CLIENT, NOW)
        return f"s-{number}-9"

    last = run_concurrently([partial(churn_sessions, number) for number in range(6)])
    assert set(column(engines[0], sessions.c.id_hash)) == {hash_session_id(name) for name in last}


def test_each_ended_sessions_token_is_taken_exactly_once(engines: list[Engine]) -> None:
    names = [f"ended-{number}" for number in range(40)]
    id_hashes = [hash_session_id(name) for name in names]
    attempt = LoginAttempt("alice", NETWORK, CLIENT)
    for name in names:
        user = replace(FEDERATED, credentials=replace(FEDERATED.credentials, encrypted_token=name.encode()))
        ActivityStore(engines[0]).open_session(attempt, user, session(name), NOW)

    def take_tokens(number: int) -> list[CloudCredentials]:
        return ActivityStore(engines[number % 2]).take_federated_sessions(id_hashes)

    def login(number: int) -> list[CloudCredentials]:
        replaced = session(f"new-{number}", *names[number::4])
        return ActivityStore(engines[number % 2]).open_session(attempt, FEDERATED, replaced, NOW)

    taken = run_concurrently([partial(work, number) for number in range(4) for work in (take_tokens, login)])
    assert sorted(credentials.encrypted_token.decode() for part in taken for credentials in part) == sorted(names)


def test_deadlock_victim_is_retried(engines: list[Engine]) -> None:
    for name in ("a", "b"):
        ActivityStore(engines[0]).open_session(LoginAttempt("alice", NETWORK, CLIENT), ALICE, session(name), NOW)
    both_locked = Barrier(2, timeout=120)
    survivor_done = Event()
    attempts: list[str] = []

    def lock(connection: Connection, name: str) -> None:
        held = select(sessions.c.id_hash).where(sessions.c.id_hash == hash_session_id(name)).with_for_update()
        connection.execute(held)

    def lock_both(first: str, second: str) -> str:
        def work(connection: Connection) -> str:
            attempts.append(first)
            if attempts.count(first) > 1:
                # Otherwise the retry could take its first row back before the survivor gets it: another deadlock.
                assert survivor_done.wait(120)
                lock(connection, first)
            else:
                lock(connection, first)
                both_locked.wait()
            lock(connection, second)
            return first

        result = retry_deadlocks(engines[first == "b"], work)
        survivor_done.set()
        return result

    assert run_concurrently([partial(lock_both, "a", "b"), partial(lock_both, "b", "a")]) == ["a", "b"]
    assert len(attempts) == 3


def test_other_errors_are_not_retried(engines: list[Engine]) -> None:
    attempts = []

    def work(connection: Connection) -> None:
        attempts.append(1)
        connection.exec_driver_sql("SET LOCAL statement_timeout = 50")
        connection.exec_driver_sql("SELECT pg_sleep(60)")

    with pytest.raises(OperationalError):
        retry_deadlocks(engines[0], work)
    assert len(attempts) == 1


@pytest.mark.parametrize(
    ("table", "row"),
    [
        ("access_audit", "(at, event, address, request_id) VALUES (1, 'login', 'a', 'r')"),
        ("login_failures", "(at, network, user_hash) VALUES (1, 'n', 'u')"),
        ("operator_audit", "(at, actor, change) VALUES (1, 'ann', 'load')"),
    ],
)
def test_log_table_ids_exceed_32_bits(postgres: PostgresServer, migrated_template: str, table: str, row: str) -> None:
    postgres.execute(f"SELECT setval('{table}_id_seq', {2**31})", migrated_template)
    assert postgres.execute(f"INSERT INTO {table} {row} RETURNING id", migrated_template) == [(2**31 + 1,)]
