"""Cost of past hours from a record of changes, exact and without looking at single hours.

The record has signed amounts: a start adds, an end subtracts, a change does both. A change counts from its clock hour
on, an end from the next one. Periods are divided into buckets of constant price; of each only two sums are needed: the
net change, and the changes times the hours that they count in the bucket.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from datetime import tzinfo
from typing import NamedTuple

from cloudconsole.core.billing_hours import HOUR, Span, spans
from cloudconsole.core.ports import PriceMissing
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


class Bucket(NamedTuple):
    """A period whose hours all have the same prices."""

    start: int
    end: int
    phase: int

    @property
    def hours(self) -> int:
        return self.hours_from(self.start)

    def hours_from(self, second: int) -> int:
        return Span(*self).hours_from(second)


class Use(NamedTuple):
    """Changes in one bucket."""

    net: Amounts = Amounts()
    hours: Amounts = Amounts()
    """Each amount times the hours of the bucket in which it counts."""


def divide(start: int, end: int, zone: tzinfo, moments: Iterable[int], price_starts: Iterable[int]) -> list[Bucket]:
    """Divide a period at these moments, and at the hours in which prices change: an hour has the price at its end."""
    exact, floored = set(moments), set(price_starts)
    found = []
    for span in spans(start, end, zone):
        inside = {span.hour_start(second) for second in floored if span.start <= second < span.end}
        breaks = sorted({span.start, *inside, *(second for second in exact if span.start <= second < span.end)})
        found += [Bucket(first, last, span.phase) for first, last in zip(breaks, [*breaks[1:], span.end], strict=True)]
    return found


def sum_up(entries: Iterable[Entry], buckets: list[Bucket]) -> dict[CostKey, dict[int, Use]]:
    """Return the use of each key by the number of the bucket; entries are within the buckets."""
    starts = [bucket.start for bucket in buckets]
    uses: dict[CostKey, dict[int, Use]] = {}
    for entry in entries:
        number = bisect_right(starts, entry.at) - 1
        hours = buckets[number].hours_from(entry.at) - entry.is_end
        of_key = uses.setdefault(entry.key, {})
        net, weighted = of_key.get(number, Use())
        of_key[number] = Use(net.plus(entry.amounts), weighted.plus(_times(entry.amounts, hours)))
    return uses


def unit_hours(
    before: Amounts, uses: Mapping[int, Use], buckets: list[Bucket]
) -> Iterator[tuple[Bucket, Amounts, Amounts]]:
    """Yield each bucket with its amounts times hours, and what runs at its end; `before` ran before the first."""
    running = before
    for number, bucket in enumerate(buckets):
        net, weighted = uses.get(number, Use())
        used = _times(running, bucket.hours).plus(weighted)
        running = running.plus(net)
        yield bucket, used, running


def total_cost(entries: list[Entry], buckets: list[Bucket], book: PriceBook) -> int:
    """Return the cost of entries of one key in all buckets, in billionths."""
    key = entries[0].key
    uses = sum_up(entries, buckets)[key]
    cost = sum(cost_of(key, used, book, bucket.end - 1) for bucket, used, _ in unit_hours(Amounts(), uses, buckets))
    return cost + sum(late_price_correction(entry, buckets, book) for entry in entries if entry.is_end)


def cost_of(key: CostKey, amounts: Amounts, book: PriceBook, at: float) -> int:
    """Return the cost per hour of amounts, or of amounts times hours."""
    if not any(amounts):
        return 0
    cost = book.hourly(key.kind, key.node_id, amounts, at, key.type)
    if cost is None:
        raise PriceMissing(f"a {key.kind} on node {key.node_id} has no price")
    return cost


def late_price_correction(entry: Entry, buckets: list[Bucket], book: PriceBook) -> int:
    """Return the difference for an end before a price that begins later in its hour: the price at the end applies."""
    bucket = next(bucket for bucket in buckets if bucket.start <= entry.at < bucket.end)
    hour_end = min(entry.at - (entry.at - bucket.phase) % HOUR + HOUR, bucket.end)
    ended = _times(entry.amounts, -1)
    return cost_of(entry.key, ended, book, entry.at) - cost_of(entry.key, ended, book, hour_end - 1)


def _times(amounts: Amounts, factor: int) -> Amounts:
    return Amounts(*(amount * factor for amount in amounts))
