"""What a project's holdings cost in an hour, by the operator's prices."""

import shlex
from collections.abc import Iterable
from typing import NamedTuple

from cloudconsole.backends.openstack.billable import BillableResource
from cloudconsole.backends.prices import PriceList
from cloudconsole.core.clock import format_utc
from cloudconsole.core.ports import PriceMissing
from cloudconsole.core.resources import PRICED_UNITS, TYPED_UNITS, Amounts
from cloudconsole.spec.records import ResourceType
from cloudconsole.spec.text import escape


class PriceGroup(NamedTuple):
    """What has all this in common has one price, which is linear: it can be added up first."""

    region: str
    kind: ResourceType
    type: str | None
    at: float


Priced = PriceGroup | BillableResource


def hourly_by_kind(holdings: Iterable[BillableResource], prices: PriceList, now: float) -> dict[ResourceType, int]:
    """What each kind costs per hour, in billionths: by the prices of now, and for what has ended, of its end.

    Where the console has a node of the region's name, that node's prices are the region's.
    """
    sums: dict[PriceGroup, Amounts] = {}
    for holding in holdings:
        at = now if holding.ended_at is None else min(now, holding.ended_at)
        likeness = PriceGroup(holding.region, holding.kind, holding.type, at)
        sums[likeness] = sums.get(likeness, Amounts()).plus(holding.amounts)
    hourly: dict[ResourceType, int] = dict.fromkeys(PRICED_UNITS, 0)
    for likeness, amounts in sums.items():
        cost = hourly_of(likeness, amounts, prices, likeness.at)
        if cost is None:
            raise PriceMissing(_without_price(likeness))
        hourly[likeness.kind] += cost
    return hourly


def hourly_of(what: Priced, amounts: Amounts, prices: PriceList, at: float) -> int | None:
    """What so much of it costs per hour at a moment, in billionths; None where it has no price then."""
    return prices.book.hourly(what.kind, prices.nodes.get(what.region), amounts, at, what.type)


def description(what: Priced) -> str:
    """What it is, as prices tell it apart."""
    return f"{what.kind} of type {escape(what.type or '')}" if _is_typed(what) else what.kind


def price_description(what: Priced, at: float, price: str = "PRICE") -> list[str]:
    """Return the words of the command that gives it a price from that hour on."""
    unit = TYPED_UNITS[what.kind] if _is_typed(what) else PRICED_UNITS[what.kind][0]
    of_type = ["--type", escape(what.type or "")] if _is_typed(what) else []
    start = format_utc(at // 3600 * 3600)
    words = ["admin", "price", "add", "--kind", what.kind, "--unit", unit]
    return [*words, *of_type, "--price", price, "--from", start]


def _is_typed(what: Priced) -> bool:
    return what.type is not None and what.kind in TYPED_UNITS


def _without_price(what: PriceGroup) -> str:
    article = "an" if what.kind in ("instance", "image") else "a"
    return (
        f"no price for {article} {description(what)} in region {escape(what.region)} at {format_utc(what.at)}; "
        f"this gives it one: {shlex.join(['cloudconsole', *price_description(what, what.at)])}"
    )
