"""Hourly costs of a project's resources by the operator's prices."""

import shlex
from collections.abc import Iterable
from typing import NamedTuple

from cloudconsole.core.clock import format_utc
from cloudconsole.core.ports import PriceList, PriceMissing
from cloudconsole.core.resources import PRICED_UNITS, TYPED_UNITS, Amounts, BillableResource
from cloudconsole.spec.records import BillableType
from cloudconsole.spec.text_escaping import escape


class PriceGroup(NamedTuple):
    """Resources with the same price. Prices are linear, so their amounts can be summed first."""

    region: str
    kind: BillableType
    type: str | None
    at: float


Priced = PriceGroup | BillableResource


def hourly_by_kind(resources: Iterable[BillableResource], prices: PriceList, now: float) -> dict[BillableType, int]:
    """Return the hourly cost of each kind in billionths, by the prices of now or of a resource's end.

    The prices of a node with the region's name apply to the region.
    """
    sums: dict[PriceGroup, Amounts] = {}
    for resource in resources:
        at = now if resource.ended_at is None else min(now, resource.ended_at)
        group = PriceGroup(resource.region, resource.kind, resource.type, at)
        sums[group] = sums.get(group, Amounts()).plus(resource.amounts)
    hourly: dict[BillableType, int] = dict.fromkeys(PRICED_UNITS, 0)
    for group, amounts in sums.items():
        cost = hourly_of(group, amounts, prices, group.at)
        if cost is None:
            raise PriceMissing(_without_price(group))
        hourly[group.kind] += cost
    return hourly


def hourly_of(priced: Priced, amounts: Amounts, prices: PriceList, at: float) -> int | None:
    """Return the hourly cost of an amount at a moment, in billionths, or None if it has no price."""
    return prices.book.hourly(priced.kind, prices.nodes.get(priced.region), amounts, at, priced.type)


def description(priced: Priced) -> str:
    """Describe a resource as far as prices distinguish it."""
    return f"{priced.kind} of type {escape(priced.type or '')}" if _is_typed(priced) else priced.kind


def price_description(priced: Priced, at: float, price: str = "PRICE") -> list[str]:
    """Return the arguments of the command that adds a price from that hour on."""
    unit = TYPED_UNITS[priced.kind] if _is_typed(priced) else PRICED_UNITS[priced.kind][0]
    of_type = ["--type", escape(priced.type or "")] if _is_typed(priced) else []
    start = format_utc(at // 3600 * 3600)
    words = ["admin", "price", "add", "--kind", priced.kind, "--unit", unit]
    return [*words, *of_type, "--price", price, "--from", start]


def _is_typed(priced: Priced) -> bool:
    return priced.type is not None and priced.kind in TYPED_UNITS


def _without_price(priced: PriceGroup) -> str:
    article = "an" if priced.kind in ("instance", "image") else "a"
    return (
        f"no price for {article} {description(priced)} in region {escape(priced.region)} at {format_utc(priced.at)}; "
        f"add one with: {shlex.join(['cloudconsole', *price_description(priced, priced.at)])}"
    )
