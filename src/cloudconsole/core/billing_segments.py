"""The cost of one resource in a period, as segments of constant size and price, by the rule of `core.billing`."""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from cloudconsole.core.billing import CostKey, Entry, cost_of, end_price_difference
from cloudconsole.core.billing_hours import Calendar, Span
from cloudconsole.core.pricing import PriceBook
from cloudconsole.core.resources import Amounts


class Segment(NamedTuple):
    """Clock hours with the same cost; `end` is exclusive."""

    key: CostKey
    start: int
    end: int
    hours: int
    amounts: Amounts
    hourly: int
    """Cost per hour, in billionths."""

    @property
    def cost(self) -> int:
        return self.hourly * self.hours


class Prices(NamedTuple):
    """The prices of a period by time."""

    parts: Sequence[Span]
    """Spans of constant price, in order and without gaps."""
    at: Callable[[int], PriceBook]
    """The prices that apply to the span that begins then."""


def segments(key: CostKey, entries: Iterable[Entry], prices: Prices, calendar: Calendar) -> Iterator[Segment]:
    """Yield the segments of a resource within the parts; entries are all those of the key up to their end."""
    if not prices.parts:
        return
    start, end = prices.parts[0].start, prices.parts[-1].end
    running = Amounts()
    steps: dict[int, Amounts] = {}
    ends: dict[int, int] = {}
    for entry in entries:
        span = calendar.span_at(entry.at)
        moment = span.hour_end(entry.at) if entry.is_end else span.hour_start(entry.at)
        if moment <= start:
            running = running.plus(entry.amounts)
        else:
            steps[moment] = steps.get(moment, Amounts()).plus(entry.amounts)
        if entry.is_end and start <= entry.at < end:
            late = end_price_difference(entry, prices.parts, prices.at(entry.at))
            if late:
                hour = span.hour_start(entry.at)
                ends[hour] = ends.get(hour, 0) + late
                steps.setdefault(max(hour, start), Amounts())
    begins = [part.start for part in prices.parts]
    moments = sorted({*begins, *(moment for moment in steps if start < moment < end)})
    for first, last in zip(moments, [*moments[1:], end], strict=True):
        running = running.plus(steps[first]) if first in steps and first > start else running
        part = prices.parts[bisect_right(begins, first) - 1]
        hourly = cost_of(key, running, prices.at(part.start), part.end - 1) + ends.get(first, 0)
        if any(running):
            yield Segment(key, first, last, Span(first, last, part.phase).hours, running, hourly)


def joined(found: Iterable[Segment], breaks: frozenset[int] = frozenset()) -> Iterator[Segment]:
    """Join segments of one key that follow each other and do not differ, except at these times."""
    previous: Segment | None = None
    for segment in found:
        if (
            previous is not None
            and previous.end == segment.start
            and segment.start not in breaks
            and (previous.amounts, previous.hourly) == (segment.amounts, segment.hourly)
        ):
            previous = previous._replace(end=segment.end, hours=previous.hours + segment.hours)
            continue
        if previous is not None:
            yield previous
        previous = segment
    if previous is not None:
        yield previous
