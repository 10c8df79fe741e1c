"""Recent logins of all workers, also after a restart."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from cloudconsole.server.ip_addresses import throttle_address
from cloudconsole.store import login_throttle as module
from cloudconsole.store.activity_writes import ActivityStore, LoginAttempt
from cloudconsole.store.login_throttle import RECENT_SECONDS, RecentLogins
from tests.store.logins import ACCOUNT, CLIENT, NOW, attempt, new_session
from tests.stores import open_reader, run


@pytest.fixture
def recent(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[RecentLogins]:
    monkeypatch.setattr(module, "READ_EVERY_SECONDS", 0)
    with open_reader(folder) as reader:
        yield RecentLogins(reader, throttle_address)


NETWORK = throttle_address(CLIENT.address)


@pytest.mark.parametrize("event", ["login", "operator_login"])
def test_logins_of_other_workers_are_known(activity: ActivityStore, recent: RecentLogins, event: str) -> None:
    run(recent.read(NOW))
    assert not recent.has("alice", NETWORK)
    activity.open_session(LoginAttempt("alice", NETWORK, CLIENT, event), ACCOUNT, new_session(), NOW)
    run(recent.read(NOW))
    assert recent.has("alice", NETWORK)
    assert recent.has_network(NETWORK)
    assert not recent.has("bob", NETWORK)
    assert not recent.has_network("192.0.2.2")


def test_failures_and_old_logins_are_not_known(activity: ActivityStore, recent: RecentLogins) -> None:
    activity.record_failure(attempt(), "alice", NOW)
    activity.open_session(attempt(), ACCOUNT, new_session(), NOW - RECENT_SECONDS)
    run(recent.read(NOW))
    assert not recent.has_network(NETWORK)


def test_number_of_remembered_logins_is_limited(recent: RecentLogins, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_ENTRIES", 2)
    for name in ("ann", "bob", "ann", "carl"):
        recent.record(name, name)
    assert [recent.has(name, name) for name in ("ann", "bob", "carl")] == [True, False, True]
    assert [recent.has_network(name) for name in ("ann", "bob", "carl")] == [True, False, True]
