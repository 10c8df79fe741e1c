"""The activity database of an empty store."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from sqlalchemy import Engine

from cloudconsole.store.activity_writes import ActivityStore, LoginAttempt
from cloudconsole.store.login_throttle import LoginThrottle
from tests.stores import open_engine, open_reader, run, store_in

Check = Callable[[LoginAttempt, int], bool]


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
