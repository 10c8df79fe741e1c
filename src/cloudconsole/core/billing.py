"""Cost of past hours from a record of changes, exact and without looking at single hours.

The record has signed amounts: a start adds, an end subtracts, a change does both. A change counts from its clock hour
on, an end from the next one. Time is divided into spans of constant price; of each only two sums are needed: the net
change, and the changes times the hours before they count.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from cloudconsole.core.billing_hours import Span
from cloudconsole.core.pricing import PriceBook
from cloudconsole.core.resources import Amounts
from cloudconsole.spec.records import BillableType


class CostKey(NamedTuple):
    """What has one price."""

    kind: BillableType
    node_id: int | None
    type: str | None = None


class Entry(NamedTuple):
    """One change of what runs."""

    key: CostKey
    amounts: Amounts
    """Signed."""
    at: int
    is_end: bool = False


class Use(NamedTuple):
    """Changes in one span."""

    net: Amounts = Amounts()
    delays: Amounts = Amounts()
    """Each amount times the hours of the span before it counts."""

    def plus(self, entry: Entry, span: Span) -> "Use":
        delay = span.hours_before(entry.at) + entry.is_end
        return Use(self.net.plus(entry.amounts), self.delays.plus(_times(entry.amounts, delay)))

    def minus(self, entry: Entry, span: Span) -> "Use":
        return self.plus(entry._replace(amounts=_times(entry.amounts, -1)), span)


Uses = dict[CostKey, dict[int, Use]]
"""Changes of each key by the start of the span."""


def sum_up(entries: Iterable[Entry], parts: Sequence[Span]) -> Uses:
    """Sum up entries, which are all within the spans."""
    starts = [span.start for span in parts]
    uses: Uses = {}
    for entry in entries:
        span = parts[bisect_right(starts, entry.at) - 1]
        of_key = uses.setdefault(entry.key, {})
        of_key[span.start] = of_key.get(span.start, Use()).plus(entry, span)
    return uses


def unit_hours(uses: Mapping[int, Use], parts: Iterable[Span]) -> Iterator[tuple[Span, Amounts, Amounts]]:
    """Yield each span with its amounts times hours, and what runs at its end; nothing runs before the first."""
    running = Amounts()
    for span in parts:
        net, delays = uses.get(span.start, Use())
        running = running.plus(net)
        yield span, _times(running, span.hours).minus(delays), running


def total_cost(entries: Sequence[Entry], parts: Sequence[Span], book: PriceBook) -> int:
    """Return the cost of entries of one key in all spans, in billionths."""
    key = entries[0].key
    uses = sum_up(entries, parts)[key]
    cost = sum(cost_of(key, used, book, span.end - 1) for span, used, _ in unit_hours(uses, parts))
    return cost + sum(end_price_difference(entry, parts, book) for entry in entries if entry.is_end)


def cost_of(key: CostKey, amounts: Amounts, book: PriceBook, at: float) -> int:
    """Return the cost per hour of amounts, or of amounts times hours.

    Without a price it is 0: nothing is billed for what runs in an OpenStack project before it has a price, a resource
    may have ended earlier in the hour in which its price was removed, and entries that cancel each other may go beyond.
    """
    return (book.hourly(key.kind, key.node_id, amounts, at, key.type) or 0) if any(amounts) else 0


def end_price_difference(entry: Entry, parts: Sequence[Span], book: PriceBook) -> int:
    """Return the difference for an end before a price that begins later in its hour: the price at the end applies."""
    span = parts[bisect_right(parts, entry.at, key=lambda part: part.start) - 1]
    ended = _times(entry.amounts, -1)
    hour_end = span.hour_end(entry.at)
    return cost_of(entry.key, ended, book, entry.at) - cost_of(entry.key, ended, book, hour_end - 1)


def _times(amounts: Amounts, factor: int) -> Amounts:
    return Amounts(*(amount * factor for amount in amounts))
