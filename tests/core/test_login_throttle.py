"""How long a throttled client must wait."""

import pytest

from cloudconsole.core.login_throttle import (
    ADDRESS_FAILURES,
    MAX_WAIT_SECONDS,
    USER_FAILURES,
    WINDOW_SECONDS,
    wait_seconds,
)


def test_limits_have_the_documented_values() -> None:
    limits = (USER_FAILURES, ADDRESS_FAILURES, WINDOW_SECONDS, MAX_WAIT_SECONDS)
    assert limits == (10, 100, 5 * 60, 60)


@pytest.mark.parametrize(
    ("failed_before", "wait"), [(0, 60), (100, 60), (240, 60), (241, 59), (250, 50), (299, 1), (300, 1), (4000, 1)]
)
def test_wait_lasts_until_failure_expires_at_most_a_minute(failed_before: int, wait: int) -> None:
    assert wait_seconds(1_000_000 - failed_before, 1_000_000) == wait


def test_wait_is_rounded_up_to_whole_seconds() -> None:
    assert repr(wait_seconds(1000.0, 1298.5)) == "2"
