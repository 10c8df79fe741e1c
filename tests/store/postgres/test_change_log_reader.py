"""Whether a poll follows the previous one, so that its news list all changes."""

from typing import Any

import pytest

from cloudconsole.store.postgres.change_log_reader import RETENTION_SECONDS, LogPosition

BEFORE = LogPosition(snapshot="10:12:10", floor=10, server="one", clock=1000.0, shared=5, news=frozenset())


@pytest.mark.parametrize(
    "later",
    [
        {},
        {"floor": 11, "snapshot": "11:15:", "clock": 1000.25, "news": frozenset({1})},
        {"clock": 999 + RETENTION_SECONDS / 2},
    ],
)
def test_poll_soon_after_on_the_same_server_follows(later: dict[str, Any]) -> None:
    assert BEFORE._replace(**later).follows(BEFORE)


@pytest.mark.parametrize(
    "later",
    [
        {"news": None},
        {"server": "two"},
        {"shared": 6},
        {"floor": 9},
        {"clock": 1000 + RETENTION_SECONDS / 2},
        {"clock": 999.0},
    ],
)
def test_poll_after_a_gap_or_on_another_server_does_not_follow(later: dict[str, Any]) -> None:
    assert not BEFORE._replace(**later).follows(BEFORE)
