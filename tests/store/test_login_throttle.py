"""What is decided before a password is checked: from memory where possible, and by IPv6 networks of several sizes."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Engine, delete, insert

from cloudconsole.core.login_throttle import NETWORK_FAILURES, USER_FAILURES
from cloudconsole.server.net import throttle_address
from cloudconsole.spec.errors import TooManyRequests
from cloudconsole.store.activity import ActivityStore, hash_username
from cloudconsole.store.base import Parameters, Reader, Row
from cloudconsole.store.login_throttle import LoginThrottle
from cloudconsole.store.tables import login_failures
from tests.store.conftest import Check
from tests.store.logins import NOW, attempt
from tests.stores import reading, run

USER = hash_username("alice")
NETWORK = "192.0.2.1"


class Reads:
    """A throttle over a reader, and how often it read."""

    def __init__(self, reader: Reader, monkeypatch: pytest.MonkeyPatch) -> None:
        # So long that no machine is too slow for what is remembered.
        self.throttle = LoginThrottle(reader, replication_wait_seconds=3600)
        self.number = 0
        seek = reader.seek

        async def count(sql: str, parameters: Parameters = ()) -> Row | None:
            self.number += 1
            return await seek(sql, parameters)

        monkeypatch.setattr(reader, "seek", count)

    def throttles(self, now: int = NOW) -> bool:
        try:
            run(self.throttle.check(NETWORK, USER, now))
        except TooManyRequests:
            return True
        return False


@pytest.fixture
def reads(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Reads]:
    with reading(folder) as reader:
        yield Reads(reader, monkeypatch)


@pytest.fixture
def failed(activity: ActivityStore) -> None:
    for _ in range(USER_FAILURES):
        activity.record_failure(attempt(network=NETWORK), None, NOW)


@pytest.mark.usefixtures("failed")
def test_an_attempt_that_must_wait_is_decided_from_memory_from_then_on(reads: Reads) -> None:
    assert [reads.throttles(NOW + later) for later in range(20)] == [True] * 20
    assert reads.number == 1


@pytest.mark.usefixtures("failed")
@pytest.mark.parametrize("moment", [NOW - 1, NOW + 300], ids=["a clock set back", "the window is over"])
def test_memory_decides_nothing_of_another_time(reads: Reads, moment: int) -> None:
    assert reads.throttles()
    reads.throttles(moment)
    assert reads.number == 2


@pytest.mark.usefixtures("failed")
@pytest.mark.embedded_only
def test_a_commit_is_known_at_once(reads: Reads, engine: Engine) -> None:
    assert reads.throttles()
    with engine.begin() as connection:
        connection.execute(delete(login_failures))
    assert not reads.throttles()


@pytest.mark.parametrize(("bits", "step"), [(56, 1), (48, 256)])
def test_failures_from_many_networks_in_a_wider_one_make_all_of_it_wait(
    check: Check, engine: Engine, bits: int, step: int
) -> None:
    def fail(times: int, first: int = 0) -> None:
        networks = (
            throttle_address(f"2001:db8:0:{number % 200 * step:x}::1") for number in range(first, first + times)
        )
        rows = [{"network": each, "user_hash": b"%d" % at, "at": NOW} for at, each in enumerate(networks)]
        with engine.begin() as connection:
            connection.execute(insert(login_failures), rows)

    inside = attempt(network=throttle_address(f"2001:db8:0:{255 * step:x}::1"))
    fail(NETWORK_FAILURES[bits] - 1)
    assert check(inside, NOW)
    fail(1, first=7)
    with pytest.raises(TooManyRequests):
        check(inside, NOW + 1)
    assert not check(attempt(network=throttle_address("2001:db8:1::1")), NOW + 1)


def test_failures_nearby_are_told_of_an_attempt_that_need_not_wait(activity: ActivityStore, check: Check) -> None:
    home, elsewhere = throttle_address("2001:db8:0:1::1"), throttle_address("2001:db8:1:1::1")
    activity.record_failure(attempt(network=home), None, NOW)
    assert check(attempt(network=throttle_address("2001:db8:0:ff00::1")), NOW)
    assert not check(attempt(network=elsewhere), NOW)
