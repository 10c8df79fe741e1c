"""Price book and cost estimates, in integer billionths of the currency; formatted only at the end."""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime, tzinfo
from functools import cached_property
from typing import Final, NamedTuple

from cloudconsole.core.resources import PRICED_UNITS, TYPED_UNITS, Amounts, Unit
from cloudconsole.spec.records import BillableType, ConsumptionItem

BILLIONTHS: Final = 10**9
DAY_HOURS: Final = 24
MONTH_DAYS: Final = 30
YEAR_DAYS: Final = 365


class Hour(NamedTuple):
    """A clock hour in the operator's time zone, as seconds since the epoch; `end` is exclusive."""

    start: int
    end: int


def clock_hour(now: float, zone: tzinfo) -> Hour:
    """Return the clock hour of `now`; the zone's offset may be a fraction of an hour."""
    second = int(now // 1)
    local = datetime.fromtimestamp(second, UTC).astimezone(zone)
    start = second - local.minute * 60 - local.second
    return Hour(start, start + 3600)


class Price(NamedTuple):
    """Price per hour and unit of a kind, effective from `start`; for one node, or for all nodes without their own.

    With a type it applies only to that type: the flavor of an instance, or the volume type of a volume.
    """

    kind: BillableType
    unit: Unit
    node_id: int | None
    start: int
    billionths: int
    type: str | None = None
    until: int | None = None
    """When it was removed; then the price that began before it applies again."""


PriceKey = tuple[BillableType, Unit, int | None, str | None]
"""Kind, unit, node and type."""


class PriceBook:
    """Prices of resources by kind, node and time."""

    def __init__(self, prices: Iterable[Price]) -> None:
        by_key: dict[PriceKey, list[Price]] = {}
        for price in prices:
            by_key.setdefault((price.kind, price.unit, price.node_id, price.type), []).append(price)
        self._entries = {key: _timeline(found) for key, found in by_key.items()}

    def hourly(
        self, kind: BillableType, node_id: int | None, amounts: Amounts, at: float, type_name: str | None = None
    ) -> int | None:
        """Return the hourly cost in billionths; None if the kind has no price there at that time.

        A price for the type is the whole price; otherwise the prices of the units add up. Without a node, only prices
        for all nodes apply.
        """
        if type_name is not None and kind in TYPED_UNITS:
            unit = TYPED_UNITS[kind]
            price = self._effective_price(kind, unit, node_id, at, type_name)
            if price is not None:
                return price * amounts.in_unit(unit)
        costs = [
            price * amounts.in_unit(unit)
            for unit in PRICED_UNITS[kind]
            if (price := self._effective_price(kind, unit, node_id, at)) is not None
        ]
        return sum(costs) if costs else None

    def current_and_future(self, now: float) -> Iterator[tuple[Price, int | None]]:
        """Yield the prices in force or to come, each with the time at which another replaces it."""
        for (kind, unit, node_id, type_name), entries in self._entries.items():
            ends = [*(start for start, _ in entries[1:]), None]
            for (start, billionths), end in zip(entries, ends, strict=True):
                if billionths is not None and (end is None or end > now):
                    yield Price(kind, unit, node_id, start, billionths, type_name), end

    @cached_property
    def starts(self) -> list[int]:
        """All times at which a price takes effect, in order."""
        return sorted({start for entries in self._entries.values() for start, _ in entries})

    def next_change(self, after: float) -> float:
        """Return when the first price after this time takes effect."""
        starts = (start for entries in self._entries.values() for start, _ in entries if start > after)
        return min(starts, default=float("inf"))

    def last_change(self, until: float) -> float:
        """Return when the last price up to this time took effect."""
        starts = (start for entries in self._entries.values() for start, _ in entries if start <= until)
        return max(starts, default=float("-inf"))

    def _effective_price(
        self, kind: BillableType, unit: Unit, node_id: int | None, at: float, type_name: str | None = None
    ) -> int | None:
        for node in (node_id, None):
            entries = self._entries.get((kind, unit, node, type_name), [])
            position = bisect_right(entries, at, key=lambda entry: entry[0])
            if position and (price := entries[position - 1][1]) is not None:
                return price
        return None


def _timeline(prices: Iterable[Price]) -> list[tuple[int, int | None]]:
    """Return from when on each amount applies, None where there is no price: that of the latest start counts."""
    ordered = sorted(prices, key=lambda price: price.start)
    if all(price.until is None for price in ordered):
        return [(price.start, price.billionths) for price in ordered]
    moments = sorted({moment for price in ordered for moment in (price.start, price.until) if moment is not None})
    timeline: list[tuple[int, int | None]] = []
    in_force: list[Price] = []
    remaining = iter(ordered)
    following = next(remaining, None)
    for moment in moments:
        while following is not None and following.start <= moment:
            in_force.append(following)
            following = next(remaining, None)
        while in_force and in_force[-1].until is not None and in_force[-1].until <= moment:
            in_force.pop()
        timeline.append((moment, in_force[-1].billionths if in_force else None))
    return timeline


def estimate(hourly: Mapping[BillableType, int]) -> list[ConsumptionItem]:
    """Build the items from the hourly cost of each kind in billionths; omit kinds without cost."""
    return [_item(kind, hourly[kind]) for kind in PRICED_UNITS if hourly.get(kind)]


def _item(kind: BillableType, hour: int) -> ConsumptionItem:
    day = hour * DAY_HOURS
    return ConsumptionItem(
        res_type=kind,
        hour=format_amount(hour),
        day=format_amount(day),
        month=format_amount(day * MONTH_DAYS),
        year=format_amount(day * YEAR_DAYS),
    )


def format_amount(billionths: int) -> str:
    """Format an amount exactly, with at least two decimals and no exponent."""
    whole, fraction = divmod(abs(billionths), BILLIONTHS)
    decimals = f"{fraction:09}".rstrip("0").ljust(2, "0")
    return f"{'-' if billionths < 0 else ''}{whole}.{decimals}"
