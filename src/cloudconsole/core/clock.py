"""Clock protocol and formatting of times, which are seconds since the epoch."""

import time
from datetime import UTC, datetime, tzinfo
from typing import Final, Protocol

_YEAR_10000: Final = 253_402_300_800
_LAST_LOCAL: Final = _YEAR_10000 - 86_401
"""The last day in UTC may be in the year 10000 elsewhere, which `datetime` does not have."""


class Clock(Protocol):
    def now(self) -> float:
        """Seconds since the epoch, UTC."""


class SystemClock:
    def now(self) -> float:
        return time.time()


def is_valid_timestamp(seconds: object) -> bool:
    """Whether the value is a time in the years 1970 to 9999."""
    return isinstance(seconds, int | float) and 0 <= seconds < _YEAR_10000


def format_utc(seconds: float) -> str:
    """Format a time such as `2026-01-31T08:00:00Z`; an invalid value, such as microseconds, is shown unchanged."""
    if not is_valid_timestamp(seconds):
        return f"no time ({seconds})"
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def format_local(seconds: float, zone: tzinfo) -> str:
    """Format a time in the operator's time zone, such as `2026-01-31 08:00:00`."""
    local = datetime.fromtimestamp(min(seconds, _LAST_LOCAL), UTC).astimezone(zone)
    return local.strftime("%Y-%m-%d %H:%M:%S")
