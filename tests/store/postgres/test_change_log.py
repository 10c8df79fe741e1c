"""Whether a look carries on from the one before, so that its news are all that has changed."""

from typing import Any

import pytest

from cloudconsole.store.postgres.change_log import RETENTION_SECONDS, LogPosition

BEFORE = LogPosition(snapshot="10:12:10", floor=10, server="one", clock=1000.0, shared=5, news=frozenset())


@pytest.mark.parametrize(
    "later",
    [
        {},
        {"floor": 11, "snapshot": "11:15:", "clock": 1000.25, "news": frozenset({1})},
        {"clock": 999 + RETENTION_SECONDS / 2},
    ],
)
def test_a_look_follows_soon_after_on_the_same_server(later: dict[str, Any]) -> None:
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
def test_else_everything_may_have_changed(later: dict[str, Any]) -> None:
    assert not BEFORE._replace(**later).follows(BEFORE)
