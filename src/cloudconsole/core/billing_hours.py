"""Clock hours and months of the operator's time zone, as seconds since the epoch.

A clock hour is a period in which local date, hour and UTC offset stay the same, so that hours partition time: where the
clock is set by half an hour, one of them is shorter.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, date, datetime, tzinfo
from functools import lru_cache
from typing import Final, NamedTuple

HOUR: Final = 3600
_DAY: Final = 86_400
_HALF_MONTH: Final = 14 * _DAY


class Span(NamedTuple):
    """A period in which all hours begin at the same second of an hour of UTC; `end` is exclusive."""

    start: int
    end: int
    phase: int

    @property
    def hours(self) -> int:
        return self.hours_from(self.start)

    def hour_start(self, second: int) -> int:
        """Return when the clock hour of a second in this span begins."""
        return max(self.start, second - (second - self.phase) % HOUR)

    def hour_end(self, second: int) -> int:
        """Return when the clock hour of a second in this span ends."""
        return min(self.end, second - (second - self.phase) % HOUR + HOUR)

    def hours_from(self, second: int) -> int:
        """Return the number of clock hours from the one of a second in this span to the span's end."""
        return -((second - (second - self.phase) % HOUR - self.end) // HOUR)

    def hours_before(self, second: int) -> int:
        """Return the number of clock hours from the span's start to the one of a second in it."""
        return (second - self.first_hour) // HOUR

    @property
    def first_hour(self) -> int:
        """When the first clock hour would have begun if it were a whole one."""
        return self.start - (self.start - self.phase) % HOUR


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


def day_start(day: date, zone: tzinfo) -> int:
    """Return when a day begins."""
    # Fold 0 is the earlier of two midnights; a missing midnight is the moment at which the clock skips it.
    return int(datetime(day.year, day.month, day.day, tzinfo=zone).timestamp())


@lru_cache(maxsize=1024)
def month_start(year: int, month: int, zone: tzinfo) -> int:
    """Return when a month begins; months beyond 12 or below 1 are in other years."""
    years, index = divmod(month - 1, 12)
    return day_start(date(year + years, index + 1, 1), zone)


class Month(NamedTuple):
    start: int
    end: int
    zone: tzinfo

    @property
    def label(self) -> str:
        # Its middle: after a change of the time zone, a month may begin a few hours early or late.
        return "{:04}-{:02}".format(*month_of((self.start + self.end) // 2, self.zone))

    def spans(self) -> tuple[Span, ...]:
        return _month_spans(*self)


@lru_cache(maxsize=1024)
def _month_spans(start: int, end: int, zone: tzinfo) -> tuple[Span, ...]:
    return tuple(spans(start, end, zone))


class Calendar:
    """Months and hours in the present time zone, and before in those in which months were closed."""

    def __init__(self, zone: tzinfo, former: Sequence[tuple[int, tzinfo]] = ()) -> None:
        self._zone = zone
        self._former = sorted(former, key=lambda entry: entry[0])
        """Until when each former zone applies: the end of a closed month."""
        self._spans: list[Span] = []

    def month_at(self, second: int) -> Month:
        index = bisect_right(self._former, second, key=lambda entry: entry[0])
        zone = self._former[index][1] if index < len(self._former) else self._zone
        year, month = month_of(second, zone)
        start, end = (month_start(year, month + number, zone) for number in (0, 1))
        if index:
            # The first month in another zone begins where the last one ended.
            first = self._former[index - 1][0]
            if first - start > _HALF_MONTH:
                end = month_start(year, month + 2, zone)
            if start - first < _HALF_MONTH:
                start = first
        return Month(start, end, zone)

    def months(self, start: int, end: int) -> list[Month]:
        """Return the months from the one of `start` to the one before `end`."""
        found = [self.month_at(start)]
        while found[-1].end < end:
            found.append(self.month_at(found[-1].end))
        return found

    def span_at(self, second: int) -> Span:
        """Return the month of a second, or the part of it in which hours do not shift."""
        # A tuple of one is less than any span that begins then.
        index = bisect_left(self._spans, (second + 1,))
        if index and second < self._spans[index - 1].end:
            return self._spans[index - 1]
        span = next(span for span in self.month_at(second).spans() if span.start <= second < span.end)
        self._spans.insert(index, span)
        return span

    def divide(self, start: int, end: int, price_starts: Sequence[int] = ()) -> list[Span]:
        """Divide a period at months, at shifts of hours, and at hours in which prices change, which are in order.

        Hours have the price at their end.
        """
        found: list[Span] = []
        for month in self.months(start, end):
            for span in month.spans():
                first, last = max(span.start, start), min(span.end, end)
                if first < last:
                    inside = price_starts[bisect_left(price_starts, first) : bisect_left(price_starts, last)]
                    found += _split(Span(first, last, span.phase), inside)
        return found


def _split(span: Span, seconds: Iterable[int]) -> Iterator[Span]:
    starts = sorted({span.start, *map(span.hour_start, seconds)})
    for first, last in zip(starts, [*starts[1:], span.end], strict=True):
        yield Span(first, last, span.phase)
