"""Test oracle: usage, costs and news that follow from the data, computed independently of the console's code."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation
from math import isinf
from typing import Any, Final

from consistency.registers import Version

HOUR: Final = 3600
BILLIONTHS: Final = 10**9
SLACK_SECONDS: Final = 1.0
"""Tolerated clock difference between processes around the end of an hour."""

Amounts = tuple[int, ...]
Costs = tuple[tuple[str, int], ...]
"""Billionths per hour by kind, without zero entries."""

USED: Final = (
    "totalInstancesUsed",
    "totalCoresUsed",
    "totalRAMUsed",
    "totalVolumesUsed",
    "totalGigabytesUsed",
    "totalSnapshotsUsed",
    "totalFloatingIpsUsed",
    "totalSecurityGroupsUsed",
)
LIMITS: Final = {
    "instances": "maxTotalInstances",
    "cores": "maxTotalCores",
    "ram": "maxTotalRAMSize",
    "volumes": "maxTotalVolumes",
    "gigabytes": "maxTotalVolumeGigabytes",
    "snapshots": "maxTotalSnapshots",
    "floating_ips": "maxTotalFloatingIps",
    "security_groups": "maxSecurityGroups",
    "security_group_rules": "maxSecurityGroupRules",
    "keypairs": "maxTotalKeypairs",
    "personality": "maxPersonality",
    "personality_size": "maxPersonalitySize",
    "image_meta": "maxImageMeta",
    "server_meta": "maxServerMeta",
}
PRICED: Final = (
    ("instance", "each"),
    ("instance", "vcpu"),
    ("instance", "ram_gb"),
    ("image", "gb"),
    ("loadbalance", "each"),
    ("volume", "gb"),
)
"""Billable units, in the order of a `billed` tuple and of a price book."""

NOTHING_USED: Final = (0,) * len(USED)
NOTHING_BILLED: Final = (0,) * len(PRICED)


def used(resource: Mapping[str, Any] | None) -> Amounts:
    """Quota usage of a resource; zero once it has ended."""
    if resource is None or resource["ended"]:
        return NOTHING_USED
    kind, size = resource["kind"], resource["size"]
    return (
        int(kind == "instance"),
        resource["vcpus"],
        resource["ram"],
        int(kind == "volume"),
        size if kind in ("volume", "snapshot") else 0,
        int(kind == "snapshot"),
        int(kind == "floating_ip"),
        int(kind == "security_group"),
    )


def billed(resource: Mapping[str, Any] | None) -> Amounts:
    """Billable units of a resource, the hour in which it ends included."""
    if resource is None:
        return NOTHING_BILLED
    kind, size = resource["kind"], resource["size"]
    return (
        int(kind == "instance"),
        resource["vcpus"],
        -(-resource["ram"] // 1024),
        size if kind == "image" else 0,
        int(kind == "loadbalance"),
        size if kind == "volume" else 0,
    )


def billed_versions(versions: Sequence[Version], epoch: float) -> list[Version]:
    """Map versions of a resource to billable units; an ended resource is billed until the end of that hour."""
    result = []
    for previous, (value, since, until) in zip([None, *versions], versions, strict=False):
        if value is None or not value["ended"]:
            result.append(Version(billed(value), since, until))
            continue
        # It ended between the start of the write and the moment the previous version was certainly gone.
        ended_by = since if previous is None else min(previous.until, until)
        first, last = _end_of_hour(since, epoch), _end_of_hour(ended_by, epoch)
        result.append(Version(billed(value), since, min(until, last + SLACK_SECONDS)))
        if first - SLACK_SECONDS < until:
            result.append(Version(NOTHING_BILLED, max(since, first - SLACK_SECONDS), until))
    return result


def _end_of_hour(moment: float, epoch: float) -> float:
    return moment if isinf(moment) else ((moment + epoch) // HOUR + 1) * HOUR - epoch


def total(each: Sequence[Amounts]) -> Amounts:
    return tuple(map(sum, zip(*each, strict=True)))


def costs(amounts: Amounts, prices: Sequence[int]) -> Costs:
    """Hourly cost of billable units."""
    sums: dict[str, int] = {}
    for (kind, _), amount, price in zip(PRICED, amounts, prices, strict=True):
        sums[kind] = sums.get(kind, 0) + amount * price
    return tuple((kind, cost) for kind, cost in sums.items() if cost)


def parse_costs(data: Any) -> Costs:
    """Parse the data of GetConsumptionsEstimated; raise ValueError if it is invalid."""
    found = []
    for item in data:
        try:
            hour, day, month, year = (Decimal(item[name]) * BILLIONTHS for name in ("hour", "day", "month", "year"))
        except InvalidOperation:
            raise ValueError(f"invalid amounts: {item}") from None
        if (day, month, year) != (hour * 24, hour * 24 * 30, hour * 24 * 365) or hour != int(hour):
            raise ValueError(f"contradictory amounts: {item}")
        found.append((item["res_type"], int(hour)))
    return tuple(found)


def published(items: Sequence[Mapping[str, Any] | None]) -> tuple[tuple[str, str, str], ...]:
    """News as tenants read them: newest first."""
    shown = sorted((item for item in items if item and not item["disabled"]), key=lambda item: -item["date"])
    return tuple((_date(item["date"]), item["url"], item["title"]) for item in shown)


def _date(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S")
