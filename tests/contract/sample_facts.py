"""Expected values, computed from the sample file independently of the product code."""

from datetime import UTC, datetime
from decimal import Decimal
from functools import cache
from typing import Any

import yaml

from cloudconsole.operator.sample import SAMPLE_FILE

BILLABLE = ("instance", "image", "loadbalance", "volume")


@cache
def sample() -> dict[str, Any]:
    read: dict[str, Any] = yaml.safe_load(SAMPLE_FILE.read_text("utf-8"))
    return read


def tenant(name: str) -> dict[str, Any]:
    (found,) = (each for each in sample()["tenants"] if each["name"] == name)
    return dict(found)


def live(name: str) -> list[dict[str, Any]]:
    """Return a tenant's running resources; those with an end date ended long ago."""
    return [each for each in tenant(name).get("resources", []) if "ended" not in each]


def total(name: str, *kinds: str, of: str | None = None) -> int:
    return sum(1 if of is None else each[of] for each in live(name) if each["kind"] in kinds)


def hourly(name: str) -> dict[str, Decimal]:
    """Return the hourly cost per resource kind."""
    costs: dict[str, Decimal] = {}
    for each in live(name):
        quantities = {
            "each": 1,
            "vcpu": each.get("vcpus", 0),
            "ram_gb": -(-each.get("ram", 0) // 1024),
            "gb": each.get("size", 0),
        }
        for unit, quantity in quantities.items():
            cost = _price(each["kind"], unit, each.get("node")) * quantity
            costs[each["kind"]] = costs.get(each["kind"], Decimal(0)) + cost
    return {kind: costs[kind] for kind in BILLABLE if costs.get(kind)}


def _price(kind: str, unit: str, node: str | None) -> Decimal:
    in_force = [
        each
        for each in sample()["prices"]
        if (each["kind"], each["unit"]) == (kind, unit) and each["from"] <= datetime.now(UTC)
    ]
    node_prices = [each for each in in_force if each.get("node") == node]
    default_prices = [each for each in in_force if "node" not in each]
    latest = max(node_prices or default_prices, key=lambda each: each["from"], default=None)
    return Decimal(latest["price"]) if latest else Decimal(0)
