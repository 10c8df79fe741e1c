"""Repeats and time: how long is waited, how often, and when no more."""

from itertools import pairwise

import pytest

from cloudconsole import ConnectionFailed, RateLimited, ServerError
from cloudconsole.client.retry import MAX_CONNECT_ATTEMPTS, MAX_WAIT, RetryPolicy

BUSY = ServerError("busy", code=503)


def waits(problem: ServerError | ConnectionFailed, number: int) -> list[float | None]:
    policy = RetryPolicy(600)
    return [policy.wait_after(problem, may_repeat=True) for _ in range(number)]


def test_waits_are_spread() -> None:
    first = [RetryPolicy(60).wait_after(BUSY, may_repeat=True) or 0 for _ in range(100)]
    assert 0.05 <= min(first) < max(first) <= 0.1


def test_waits_grow_up_to_a_longest() -> None:
    grown = [wait or 0 for wait in waits(BUSY, 12)]
    assert grown[-1] <= MAX_WAIT
    # Each is between half and all of twice the one before it.
    assert all(after >= before / 2 for before, after in pairwise(grown))
    assert grown[6] > 2 * grown[0]


def test_the_consoles_wait_is_the_least() -> None:
    wait = RetryPolicy(60).wait_after(ServerError("busy", code=503, retry_after=7), may_repeat=True)
    assert wait is not None
    assert 7 <= wait < 8


def test_no_wait_is_begun_that_is_longer_than_the_time_left() -> None:
    assert RetryPolicy(1).wait_after(RateLimited("busy", code=429, retry_after=2), may_repeat=True) is None


def test_where_nobody_listens_is_tried_a_few_times_only() -> None:
    nobody = ConnectionFailed("refused", was_sent=False)
    *tries, last = waits(nobody, MAX_CONNECT_ATTEMPTS + 1)
    assert None not in tries
    assert last is None


def test_which_does_not_count_what_else_went_wrong() -> None:
    policy = RetryPolicy(600)
    for _ in range(9):
        policy.wait_after(BUSY, may_repeat=True)
    assert policy.wait_after(ConnectionFailed("refused", was_sent=False), may_repeat=True) is not None


def test_while_a_person_is_asked_no_time_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr("cloudconsole.client.retry.time.monotonic", lambda: now[0])
    policy = RetryPolicy(5)
    with policy.paused():
        now[0] += 60
    assert policy.remaining == 5
