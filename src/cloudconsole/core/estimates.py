"""Cost of requested resources, and what they need of the quotas."""

from collections import Counter
from collections.abc import Collection, Mapping
from typing import Any, Final

from cloudconsole.core.pricing import DAY_HOURS, MONTH_DAYS, YEAR_DAYS, PriceBook, format_amount
from cloudconsole.core.resources import UNLIMITED, Amounts, quota_use
from cloudconsole.spec.errors import FlavorNotFound, InvalidField, NodeNotFound
from cloudconsole.spec.extension_records import Estimate, EstimatedItem, QuotaName, QuotaNeed
from cloudconsole.spec.extensions import (
    FloatingIpRequest,
    ImageRequest,
    InstanceRequest,
    RequestedItem,
    VolumeRequest,
)
from cloudconsole.spec.records import Flavor, UsageLimits

QUOTAS: Final[dict[QuotaName, tuple[str, str]]] = {
    "instances": ("max_total_instances", "total_instances_used"),
    "cores": ("max_total_cores", "total_cores_used"),
    "ram": ("max_total_ram_size", "total_ram_used"),
    "volumes": ("max_total_volumes", "total_volumes_used"),
    "gigabytes": ("max_total_volume_gigabytes", "total_gigabytes_used"),
    "floating_ips": ("max_total_floating_ips", "total_floating_ips_used"),
}
"""Limit and usage of each quota that a request can need, as fields of the usage limits."""


_Periods = tuple[str | None, str | None, str | None, str | None]
"""Cost per hour, day, month and year."""


class Estimator:
    """Prices, flavors and nodes at one moment."""

    def __init__(
        self,
        flavors: Collection[Flavor],
        book: PriceBook,
        nodes: Mapping[str, int],
        regions: Collection[str],
        now: float,
    ) -> None:
        """`nodes` are those that may have prices of their own, with their ids; `regions` names more nodes."""
        named = {flavor.name: flavor for flavor in flavors}
        # Regions of a cloud may have flavors of the same name and different sizes.
        self._ambiguous = {flavor.name for flavor in flavors if flavor != named[flavor.name]}
        self._flavors = named | {flavor.id: flavor for flavor in flavors}
        self._book = book
        self._nodes = nodes
        self._regions = regions
        self._now = now

    def estimate(self, items: tuple[RequestedItem, ...], hours: int, usage: UsageLimits) -> Estimate:
        costs: list[int | None] = []
        needs = Counter[str]()
        for number, item in enumerate(items):
            amounts, type_name = self._amounts(item, f"items[{number}]")
            cost = self._hourly(item, f"items[{number}]", amounts, type_name)
            costs.append(cost * item.count if cost is not None else None if item.count else 0)
            needs.update({quota: use * item.count for quota, use in quota_use(_kind(item), amounts).items()})
        total = None if None in costs else sum(cost or 0 for cost in costs)
        quotas = [_quota_need(quota, needs[quota], usage) for quota in QUOTAS]
        return Estimate(
            [EstimatedItem(_kind(item), item.count, *_periods(cost)) for item, cost in zip(items, costs, strict=True)],
            *_periods(total),
            hours or None,
            None if total is None or not hours else format_amount(total * hours),
            total is not None,
            not any(quota.lacking for quota in quotas),
            quotas,
        )

    def _amounts(self, item: RequestedItem, place: str) -> tuple[Amounts, str | None]:
        """Return the size of one such resource, and its type."""
        match item:
            case InstanceRequest():
                flavor = self._flavors.get(item.flavor)
                if item.flavor in self._ambiguous and flavor is not None and flavor.id != item.flavor:
                    raise InvalidField.because("items", f"{place}.flavor: several flavors have this name, use an ID")
                if flavor is None:
                    raise FlavorNotFound(f"{place}.flavor", item.flavor)
                return Amounts(1, flavor.vcpus, flavor.ram, -(-flavor.ram // 1024)), flavor.name
            case VolumeRequest():
                return Amounts(1, size_gb=item.size), item.type or None
            case ImageRequest():
                return Amounts(1, size_gb=item.size), None
        return Amounts(1), None

    def _hourly(self, item: RequestedItem, place: str, amounts: Amounts, type_name: str | None) -> int | None:
        """Return the hourly cost of one such resource; None if it has no price."""
        if isinstance(item, FloatingIpRequest):
            return 0
        if item.region and item.region not in self._nodes and item.region not in self._regions:
            raise NodeNotFound(f"{place}.region", item.region)
        return self._book.hourly(_kind(item), self._nodes.get(item.region), amounts, self._now, type_name)


def _kind(item: RequestedItem) -> Any:
    return item.__struct_config__.tag


def _periods(hour: int | None) -> _Periods:
    if hour is None:
        return None, None, None, None
    day = hour * DAY_HOURS
    return format_amount(hour), format_amount(day), format_amount(day * MONTH_DAYS), format_amount(day * YEAR_DAYS)


def _quota_need(quota: QuotaName, needed: int, usage: UsageLimits) -> QuotaNeed:
    limit, used = (getattr(usage, field) for field in QUOTAS[quota])
    if limit == UNLIMITED:
        return QuotaNeed(quota, limit, used, None, needed, 0)
    lacking = max(0, needed - (limit - used)) if needed > 0 else 0
    return QuotaNeed(quota, limit, used, max(0, limit - used), needed, lacking)
