"""How many lines of a kind there may be, and what becomes of the rest."""

import pytest

from cloudconsole.server.logging import RateLimiter
from tests.harness import HeldClock


@pytest.fixture
def seconds() -> HeldClock:
    return HeldClock(100.5)


@pytest.fixture
def allowance(seconds: HeldClock) -> RateLimiter[str]:
    """Two lines of each kind in ten seconds."""
    return RateLimiter(2, 10, seconds.now)


def test_so_many_of_each_kind_are_taken(allowance: RateLimiter[str]) -> None:
    assert [allowance.allows(kind) for kind in "aaabbab"] == [True, True, False, True, True, False, False]


def test_the_rest_is_told_when_the_time_is_over_and_then_it_begins_anew(
    allowance: RateLimiter[str], seconds: HeldClock
) -> None:
    for _ in range(5):
        allowance.allows("a")
    seconds.moment += 9.9
    assert list(allowance.suppressed()) == []
    seconds.moment += 0.1
    assert list(allowance.suppressed()) == [("a", 3)]
    assert list(allowance.suppressed()) == []
    assert allowance.allows("a")


def test_each_kind_has_a_time_of_its_own(allowance: RateLimiter[str], seconds: HeldClock) -> None:
    for kind in "aaabbb":
        allowance.allows(kind)
        seconds.moment += 1
    seconds.moment += 5
    assert list(allowance.suppressed()) == [("a", 1)]
    seconds.moment += 3
    assert list(allowance.suppressed()) == [("b", 1)]


def test_a_kind_that_kept_to_its_lines_is_not_told(allowance: RateLimiter[str], seconds: HeldClock) -> None:
    for kind in "aabbb":
        allowance.allows(kind)
    seconds.moment += 10
    assert list(allowance.suppressed()) == [("b", 1)]


def test_nothing_is_kept_of_kinds_whose_time_is_over(allowance: RateLimiter[str], seconds: HeldClock) -> None:
    for number in range(1000):
        list(allowance.suppressed())
        allowance.allows(str(number))
        seconds.moment += 1
    assert len(allowance._used) == len(allowance._ends_at) == 10


def test_all_can_be_told_before_their_time(allowance: RateLimiter[str]) -> None:
    for kind in "aaabbbb":
        allowance.allows(kind)
    assert list(allowance.suppressed(until_now=True)) == [("a", 1), ("b", 2)]
