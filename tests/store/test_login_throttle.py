"""Login throttle: waits, decisions from memory, limits for IPv6 networks of several sizes, and recent logins."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Engine, delete, insert

from cloudconsole.core.login_throttle import NETWORK_FAILURES, USER_FAILURES, wait_seconds
from cloudconsole.server.ip_addresses import throttle_address
from cloudconsole.spec.errors import TooManyRequests
from cloudconsole.store import login_throttle as module
from cloudconsole.store.activity_writes import ActivityStore, LoginAttempt, hash_username
from cloudconsole.store.base import Parameters, Reader, RowTuple
from cloudconsole.store.login_throttle import LoginThrottle, RecentLogins
from cloudconsole.store.tables import login_failures
from tests.store.conftest import ACCOUNT, CLIENT, NOW, Check, attempt, new_session
from tests.stores import open_reader, run

USER = hash_username("alice")
NETWORK = "192.0.2.1"


class CountingThrottle:
    """A throttle that counts its reads."""

    def __init__(self, reader: Reader, monkeypatch: pytest.MonkeyPatch) -> None:
        # Long enough that decisions in memory do not expire on a slow machine.
        self._throttle = LoginThrottle(reader, replication_wait_seconds=3600)
        self.read_count = 0
        seek = reader.seek

        async def counted_seek(sql: str, parameters: Parameters = ()) -> RowTuple | None:
            self.read_count += 1
            return await seek(sql, parameters)

        monkeypatch.setattr(reader, "seek", counted_seek)

    def rejects(self, now: int = NOW) -> bool:
        try:
            run(self._throttle.check(NETWORK, USER, now))
        except TooManyRequests:
            return True
        return False


@pytest.fixture
def throttle(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[CountingThrottle]:
    with open_reader(folder) as reader:
        yield CountingThrottle(reader, monkeypatch)


@pytest.fixture
def failed_logins(activity: ActivityStore) -> None:
    for _ in range(USER_FAILURES):
        activity.record_failure(attempt(network=NETWORK), None, NOW)


@pytest.mark.parametrize(
    ("failed_before", "wait"), [(0, 60), (240, 60), (241, 59), (298.5, 2), (299, 1), (300, 1), (4000, 1)]
)
def test_wait_lasts_until_failure_expires_at_most_a_minute(failed_before: float, wait: int) -> None:
    assert repr(wait_seconds(1_000_000, 1_000_000 + failed_before)) == repr(wait)


@pytest.mark.usefixtures("failed_logins")
def test_throttled_attempt_is_then_decided_from_memory(throttle: CountingThrottle) -> None:
    assert [throttle.rejects(NOW + later) for later in range(20)] == [True] * 20
    assert throttle.read_count == 1


@pytest.mark.usefixtures("failed_logins")
@pytest.mark.parametrize("moment", [NOW - 1, NOW + 300], ids=["clock set back", "window over"])
def test_memory_is_not_used_outside_the_window(throttle: CountingThrottle, moment: int) -> None:
    assert throttle.rejects()
    throttle.rejects(moment)
    assert throttle.read_count == 2


@pytest.mark.usefixtures("failed_logins")
@pytest.mark.embedded_only
def test_commit_takes_effect_at_once(throttle: CountingThrottle, engine: Engine) -> None:
    assert throttle.rejects()
    with engine.begin() as connection:
        connection.execute(delete(login_failures))
    assert not throttle.rejects()


@pytest.mark.parametrize(("bits", "step"), [(56, 1), (48, 256)])
def test_failures_across_subnets_throttle_the_wider_network(check: Check, engine: Engine, bits: int, step: int) -> None:
    def fail(times: int, first: int = 0) -> None:
        addresses = (f"2001:db8:0:{number % 200 * step:x}::1" for number in range(first, first + times))
        rows = [{"network": throttle_address(each), "user_hash": each.encode(), "at": NOW} for each in addresses]
        with engine.begin() as connection:
            connection.execute(insert(login_failures), rows)

    inside = attempt(network=throttle_address(f"2001:db8:0:{255 * step:x}::1"))
    fail(1)
    assert check(inside, NOW)
    fail(NETWORK_FAILURES[bits] - 2, first=1)
    assert check(inside, NOW)
    fail(1, first=7)
    with pytest.raises(TooManyRequests):
        check(inside, NOW + 1)
    assert not check(attempt(network=throttle_address("2001:db8:1::1")), NOW + 1)


# Recent logins of all workers, also after a restart


@pytest.fixture
def recent(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[RecentLogins]:
    monkeypatch.setattr(module, "READ_EVERY_SECONDS", 0)
    with open_reader(folder) as reader:
        yield RecentLogins(reader, throttle_address)


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


def test_failures_and_logins_a_month_ago_are_not_known(activity: ActivityStore, recent: RecentLogins) -> None:
    month = 30 * 24 * 3600
    activity.record_failure(attempt(), "alice", NOW)
    activity.open_session(attempt(), ACCOUNT, new_session(), NOW - month)
    run(recent.read(NOW))
    assert not recent.has_network(NETWORK)
    run(recent.read(NOW - 1))
    assert recent.has_network(NETWORK)


def test_number_of_remembered_logins_is_limited(recent: RecentLogins, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_ENTRIES", 2)
    for name in ("ann", "bob", "ann", "carl"):
        recent.record(name, name)
    assert [recent.has(name, name) for name in ("ann", "bob", "carl")] == [True, False, True]
    assert [recent.has_network(name) for name in ("ann", "bob", "carl")] == [True, False, True]
