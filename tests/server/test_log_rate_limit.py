"""Log rate limiting by kind, and reports of suppressed records."""

import pytest

from cloudconsole.server.logging import RateLimiter
from tests.harness import FakeClock


@pytest.fixture
def seconds() -> FakeClock:
    return FakeClock(100.5)


@pytest.fixture
def limiter(seconds: FakeClock) -> RateLimiter[str]:
    """Allows two records of each kind in ten seconds."""
    return RateLimiter(2, 10, seconds.now)


def test_each_kind_is_limited_separately(limiter: RateLimiter[str]) -> None:
    assert [limiter.allows(kind) for kind in "aaabbab"] == [True, True, False, True, True, False, False]


def test_suppressed_records_are_reported_when_the_period_ends(limiter: RateLimiter[str], seconds: FakeClock) -> None:
    for _ in range(5):
        limiter.allows("a")
    seconds.moment += 9.9
    assert list(limiter.suppressed()) == []
    seconds.moment += 0.1
    assert list(limiter.suppressed()) == [("a", 3)]
    assert list(limiter.suppressed()) == []
    assert limiter.allows("a")


def test_each_kind_has_its_own_period(limiter: RateLimiter[str], seconds: FakeClock) -> None:
    for kind in "aaabbb":
        limiter.allows(kind)
        seconds.moment += 1
    seconds.moment += 5
    assert list(limiter.suppressed()) == [("a", 1)]
    seconds.moment += 3
    assert list(limiter.suppressed()) == [("b", 1)]


def test_a_kind_within_its_limit_is_not_reported(limiter: RateLimiter[str], seconds: FakeClock) -> None:
    for kind in "aabbb":
        limiter.allows(kind)
    seconds.moment += 10
    assert list(limiter.suppressed()) == [("b", 1)]


def test_kinds_are_forgotten_after_their_period(limiter: RateLimiter[str], seconds: FakeClock) -> None:
    for number in range(1000):
        list(limiter.suppressed())
        limiter.allows(str(number))
        seconds.moment += 1
    assert len(limiter._used) == len(limiter._ends_at) == 10


def test_suppressed_records_can_be_reported_early(limiter: RateLimiter[str]) -> None:
    for kind in "aaabbbb":
        limiter.allows(kind)
    assert list(limiter.suppressed(until_now=True)) == [("a", 1), ("b", 2)]
