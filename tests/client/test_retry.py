"""Retry policy: length and number of waits, and when to stop."""

from itertools import pairwise

from cloudconsole import ConnectionFailed, RateLimited, ServerError
from cloudconsole.client.retry import MAX_CONNECT_ATTEMPTS, MAX_WAIT, RetryPolicy
from tests.client.conftest import RetryClock

BUSY = ServerError("busy", code=503)


def waits(error: ServerError | ConnectionFailed, number: int) -> list[float | None]:
    policy = RetryPolicy(600)
    return [policy.wait_after(error, may_repeat=True) for _ in range(number)]


def test_waits_are_jittered() -> None:
    first = [RetryPolicy(60).wait_after(BUSY, may_repeat=True) or 0 for _ in range(100)]
    assert 0.05 <= min(first) < max(first) <= 0.1


def test_waits_grow_up_to_a_maximum() -> None:
    lengths = [wait or 0 for wait in waits(BUSY, 12)]
    assert lengths[-1] <= MAX_WAIT
    # The nominal wait doubles, and jitter takes up to half of it off.
    assert all(after >= before / 2 for before, after in pairwise(lengths))
    assert lengths[6] > 2 * lengths[0]


def test_retry_after_is_the_minimum_wait() -> None:
    wait = RetryPolicy(60).wait_after(ServerError("busy", code=503, retry_after=7), may_repeat=True)
    assert wait is not None
    assert 7 <= wait < 8


def test_no_wait_exceeds_the_remaining_time() -> None:
    assert RetryPolicy(1).wait_after(RateLimited("busy", code=429, retry_after=2), may_repeat=True) is None


def test_refused_connection_is_retried_only_a_few_times() -> None:
    refused_connection = ConnectionFailed("refused", was_sent=False)
    *tries, last = waits(refused_connection, MAX_CONNECT_ATTEMPTS + 1)
    assert None not in tries
    assert last is None


def test_other_errors_do_not_count_as_connect_attempts() -> None:
    policy = RetryPolicy(600)
    for _ in range(9):
        policy.wait_after(BUSY, may_repeat=True)
    assert policy.wait_after(ConnectionFailed("refused", was_sent=False), may_repeat=True) is not None


def test_deadline_is_paused_during_a_prompt(retry_clock: RetryClock) -> None:
    policy = RetryPolicy(5)
    with policy.paused():
        retry_clock.sleep(60)
    assert policy.remaining == 5
