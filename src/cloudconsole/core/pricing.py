"""The money rules, pure: prices are whole billionths of the currency, sums are whole, text is made once, at the end."""

from bisect import bisect_right, insort
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, tzinfo
from typing import Final, NamedTuple

from cloudconsole.core.resources import PRICED_UNITS, TYPED_UNITS, Amounts, Unit
from cloudconsole.spec.records import ConsumptionItem, ResourceType

BILLIONTHS: Final = 10**9
DAY_HOURS: Final = 24
MONTH_DAYS: Final = 30
YEAR_DAYS: Final = 365


class Hour(NamedTuple):
    """A clock hour in the operator's zone, as seconds since the epoch: `start` belongs to it, `end` does not."""

    start: int
    end: int


def clock_hour(now: float, zone: tzinfo) -> Hour:
    """The clock hour that `now` falls in, by the zone's offset at this moment, which may be a part of an hour."""
    second = int(now // 1)
    local = datetime.fromtimestamp(second, UTC).astimezone(zone)
    start = second - local.minute * 60 - local.second
    return Hour(start, start + 3600)


class Price(NamedTuple):
    """Billionths per hour and unit of a kind from a moment on; on one node, or on all without one of their own.

    With a type it is only for what is of that type: a flavor's name for an instance, a volume type's for a volume.
    """

    kind: ResourceType
    unit: Unit
    node_id: int | None
    start: int
    billionths: int
    type: str | None = None


class PriceBook:
    """Answers what so much of a kind costs on a node at a moment."""

    def __init__(self, prices: Iterable[Price]) -> None:
        self._entries: dict[tuple[str, Unit, int | None, str | None], list[tuple[int, int]]] = {}
        for price in prices:
            insort(
                self._entries.setdefault((price.kind, price.unit, price.node_id, price.type), []),
                (price.start, price.billionths),
            )

    def hourly(
        self, kind: ResourceType, node_id: int | None, amounts: Amounts, at: float, type_name: str | None = None
    ) -> int | None:
        """What these amounts cost per hour, in billionths; None where the kind has no price there at that moment.

        A price of the type is the whole price, on whichever node; only where there is none do those of the units
        add up. Without a node there are only the prices for every node.
        """
        if type_name is not None and kind in TYPED_UNITS:
            unit = TYPED_UNITS[kind]
            price = self._in_force(kind, unit, node_id, at, type_name)
            if price is not None:
                return price * amounts.in_unit(unit)
        costs = [
            price * amounts.in_unit(unit)
            for unit in PRICED_UNITS[kind]
            if (price := self._in_force(kind, unit, node_id, at)) is not None
        ]
        return sum(costs) if costs else None

    def next_change(self, after: float) -> float:
        """When the first price after this moment comes into force."""
        starts = (start for entries in self._entries.values() for start, _ in entries if start > after)
        return min(starts, default=float("inf"))

    def last_change(self, until: float) -> float:
        """When the last price up to this moment came into force."""
        starts = (start for entries in self._entries.values() for start, _ in entries if start <= until)
        return max(starts, default=float("-inf"))

    def _in_force(
        self, kind: ResourceType, unit: Unit, node_id: int | None, at: float, type_name: str | None = None
    ) -> int | None:
        for place in (node_id, None):
            entries = self._entries.get((kind, unit, place, type_name), [])
            position = bisect_right(entries, at, key=lambda entry: entry[0])
            if position:
                return entries[position - 1][1]
        return None


def estimate(hourly: Mapping[ResourceType, int]) -> list[ConsumptionItem]:
    """The items for the billionths each kind costs per hour; a kind that costs nothing is left out."""
    return [_item(kind, hourly[kind]) for kind in PRICED_UNITS if hourly.get(kind)]


def _item(kind: ResourceType, hour: int) -> ConsumptionItem:
    day = hour * DAY_HOURS
    return ConsumptionItem(
        res_type=kind,
        hour=format_amount(hour),
        day=format_amount(day),
        month=format_amount(day * MONTH_DAYS),
        year=format_amount(day * YEAR_DAYS),
    )


def format_amount(billionths: int) -> str:
    """Plain notation, at least two decimals, never rounded."""
    whole, fraction = divmod(billionths, BILLIONTHS)
    decimals = f"{fraction:09}".rstrip("0").ljust(2, "0")
    return f"{whole}.{decimals}"
