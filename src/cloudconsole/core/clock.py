"""Time as the console sees it: whole or fractional seconds since the epoch, from a clock that tests can hold."""

import time
from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    def now(self) -> float:
        """Seconds since the epoch, UTC."""


class SystemClock:
    def now(self) -> float:
        return time.time()


def time_text(seconds: float) -> str:
    """A moment as operators read and write it, such as `2026-01-31T08:00:00Z`."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
