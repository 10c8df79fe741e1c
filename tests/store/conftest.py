"""The activity database of an empty store, and login attempts and sessions for its tests."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from sqlalchemy import Engine

from cloudconsole.core.ports import Account, ClientInfo
from cloudconsole.store.activity_writes import ActivityStore, LoginAttempt, NewSession
from cloudconsole.store.login_throttle import LoginThrottle
from cloudconsole.store.session_lookup import hash_session_id
from tests.stores import open_engine, open_reader, run, store_in

Check = Callable[[LoginAttempt, int], bool]
NOW = 1_800_000_000
ACCOUNT = Account(1, "alice", 41, "tenant")
CLIENT = ClientInfo("192.0.2.1", "request-1")


def attempt(username: str = "alice", network: str = "192.0.2.0/24") -> LoginAttempt:
    return LoginAttempt(username, network, CLIENT)


def new_session(name: str = "s1", *replaces: str, expires_at: int = NOW + 43_200) -> NewSession:
    replaced = tuple(hash_session_id(each) for each in replaces)
    return NewSession(hash_session_id(name), "seed-of-" + name, expires_at, replaced)


@pytest.fixture
def engine(folder: Path) -> Iterator[Engine]:
    engine = open_engine(folder, "activity")
    yield engine
    engine.dispose()


@pytest.fixture
def activity(engine: Engine) -> ActivityStore:
    return ActivityStore(engine)


@pytest.fixture
def check(folder: Path) -> Iterator[Check]:
    """Return whether the throttle knows failures of the network at this time; raise if the attempt is throttled."""
    with open_reader(folder) as reader:
        throttle = LoginThrottle(reader, store_in(folder).replication_wait_seconds)
        yield lambda attempt, now: run(throttle.check(attempt.network, attempt.user_hash, now))
