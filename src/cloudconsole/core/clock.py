"""Time as the console sees it: whole or fractional seconds since the epoch, from a clock that tests can hold."""

import time
from datetime import UTC, datetime
from typing import Final, Protocol

_END: Final = 253_402_300_800
"""The year 10000."""


class Clock(Protocol):
    def now(self) -> float:
        """Seconds since the epoch, UTC."""


class SystemClock:
    def now(self) -> float:
        return time.time()


def is_valid_timestamp(seconds: object) -> bool:
    """Whether these are seconds of the years 1970 to 9999."""
    return isinstance(seconds, int | float) and 0 <= seconds < _END


def format_utc(seconds: float) -> str:
    """A moment as operators read and write it, such as `2026-01-31T08:00:00Z`.

    What can be no moment, such as microseconds that someone wrote by hand, is told as it is.
    """
    if not is_valid_timestamp(seconds):
        return f"no time ({seconds})"
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
