"""Clock hours, days and months of the operator's time zone, as seconds since the epoch.

A clock hour is a period in which local date, hour and UTC offset stay the same, so that hours partition time: where the
clock is set by half an hour, one of them is shorter.
"""

from collections.abc import Iterator
from datetime import UTC, datetime, tzinfo
from typing import Final, NamedTuple

HOUR: Final = 3600
_DAY: Final = 86_400


class Span(NamedTuple):
    """A period in which all hours begin at the same second of an hour of UTC; `end` is exclusive."""

    start: int
    end: int
    phase: int

    def hour_start(self, second: int) -> int:
        """Return when the clock hour of a second in this span begins."""
        return max(self.start, second - (second - self.phase) % HOUR)

    def hours_from(self, second: int) -> int:
        """Return the number of clock hours from the one of a second in this span to the span's end."""
        return -((second - (second - self.phase) % HOUR - self.end) // HOUR)


def spans(start: int, end: int, zone: tzinfo) -> Iterator[Span]:
    """Divide a period where hours begin to shift; in most zones they never do."""
    while start < end:
        phase = _phase(start, zone)
        until = _next_shift(start, end, zone, phase)
        yield Span(start, until, phase)
        start = until


def _next_shift(start: int, end: int, zone: tzinfo, phase: int) -> int:
    # Zones do not shift twice within a day.
    low = start
    while low < end and _phase(min(low + _DAY, end - 1), zone) == phase:
        low += _DAY
    if low >= end or (low + _DAY >= end and _phase(end - 1, zone) == phase):
        return end
    high = min(low + _DAY, end - 1)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if _phase(middle, zone) == phase else (low, middle)
    return high


def _phase(second: int, zone: tzinfo) -> int:
    offset = datetime.fromtimestamp(second, UTC).astimezone(zone).utcoffset()
    return int(-(offset.total_seconds() if offset else 0)) % HOUR


def month_of(second: float, zone: tzinfo) -> tuple[int, int]:
    """Return year and month of a time."""
    local = datetime.fromtimestamp(second, UTC).astimezone(zone)
    return local.year, local.month


def month_start(year: int, month: int, zone: tzinfo) -> int:
    """Return when a month begins; months beyond 12 or below 1 are in other years."""
    years, index = divmod(month - 1, 12)
    # Fold 0 is the earlier of two midnights; a missing midnight is the moment at which the clock skips it.
    return int(datetime(year + years, index + 1, 1, tzinfo=zone).timestamp())


def month_starts(start: int, end: int, zone: tzinfo) -> list[int]:
    """Return the beginnings of all months that begin in a period."""
    year, month = month_of(start, zone)
    found = []
    while (moment := month_start(year, month, zone)) < end:
        if moment >= start:
            found.append(moment)
        month += 1
    return found
