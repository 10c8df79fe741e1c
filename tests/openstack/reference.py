"""Expected values, read with openstacksdk and priced independently of the console's code."""

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, TypeVar

import yaml

PRICES = Path(__file__).with_name("prices.yaml")

COMPUTE_FIELDS = (
    *("maxTotalInstances", "totalInstancesUsed", "maxTotalCores", "totalCoresUsed", "maxTotalRAMSize", "totalRAMUsed"),
    *("maxTotalKeypairs", "maxServerMeta", "maxImageMeta", "maxPersonality", "maxPersonalitySize"),
)
VOLUME_FIELDS = (
    *("maxTotalVolumes", "totalVolumesUsed", "maxTotalVolumeGigabytes", "totalGigabytesUsed"),
    *("maxTotalSnapshots", "totalSnapshotsUsed"),
)
MINIMUM_FIELDS = {"maxSecurityGroupRules", "maxPersonality", "maxPersonalitySize", "maxImageMeta", "maxServerMeta"}
UNLIMITED = -1

Result = TypeVar("Result")

Connection = Any
"""An openstacksdk connection, whose types do not distinguish the API versions of a service."""


def assert_consistent(from_console: Callable[[], Result], from_cloud: Callable[[], Result]) -> Result:
    """Assert that the console returns the same as the cloud; retry if the cloud or the hour changed in between."""
    for _ in range(10):
        before, result, after = from_cloud(), from_console(), from_cloud()
        if before == after:
            assert result == before
            return result
    raise AssertionError("the cloud keeps changing")


def usage(regions: Iterable[Connection]) -> dict[str, int]:
    """Return all 22 fields, combined over the regions."""
    found: dict[str, list[int]] = defaultdict(list)
    for region in regions:
        for field, number in _usage_of(region).items():
            found[field].append(number)
    return {field: _over_regions(field, numbers) for field, numbers in found.items()}


def _usage_of(region: Connection) -> dict[str, int]:
    compute = _get_json(region.compute, "/limits")["limits"]["absolute"]
    volumes = _get_json(region.block_storage, "/limits")["limits"]["absolute"]
    network = region.network.get_quota(region.current_project_id, details=True)
    return {
        **{field: compute[field] for field in COMPUTE_FIELDS},
        **{field: volumes[field] for field in VOLUME_FIELDS},
        "maxTotalFloatingIps": network.floating_ips["limit"],
        "totalFloatingIpsUsed": network.floating_ips["used"],
        "maxSecurityGroups": network.security_groups["limit"],
        "totalSecurityGroupsUsed": network.security_groups["used"],
        "maxSecurityGroupRules": network.security_group_rules["limit"],
    }


def _get_json(service: Any, path: str) -> Any:
    response = service.get(path)
    assert response.status_code == 200, response.text
    return json.loads(response.text)


def _over_regions(field: str, numbers: Sequence[int]) -> int:
    if field in MINIMUM_FIELDS:
        return min((number for number in numbers if number != UNLIMITED), default=UNLIMITED)
    return UNLIMITED if UNLIMITED in numbers else sum(numbers)


def flavors(regions: Iterable[Connection]) -> list[dict[str, Any]]:
    """Return the flavors of all regions, smallest first; of equal ones, that of the first region."""
    found: dict[tuple[int, int, int, str], str] = {}
    for region in regions:
        for flavor in region.compute.flavors():
            found.setdefault((flavor.vcpus, flavor.ram, flavor.disk, flavor.name), flavor.id)
    return [
        {"id": flavor_id, "name": name, "vcpus": vcpus, "ram": ram, "disk": disk}
        for (vcpus, ram, disk, name), flavor_id in sorted(found.items())
    ]


def estimate(regions: Iterable[Connection]) -> list[dict[str, str]]:
    """Return the exact expected estimate, if the console observed no deleted resources but servers."""
    price_list = _PriceList()
    hourly: dict[str, Decimal] = defaultdict(Decimal)
    for region in regions:
        for kind, cost in _costs(region, price_list):
            hourly[kind] += cost
    kinds = ("instance", "image", "loadbalance", "volume")
    return [_item(kind, hourly[kind]) for kind in kinds if hourly[kind]]


def hour_start() -> datetime:
    return datetime.now(UTC).replace(minute=0, second=0, microsecond=0)


def _costs(region: Connection, price_list: "_PriceList") -> Iterator[tuple[str, Decimal]]:
    region_name, project = region.config.region_name, region.current_project_id
    since = hour_start().strftime("%Y-%m-%dT%H:%M:%SZ")
    listed = [*region.compute.servers(), *region.compute.servers(changes_since=since)]
    for server in {server.id: server for server in listed}.values():
        # A server's embedded flavor is as it was when the server was created.
        amounts = {"vcpu": server.flavor.vcpus, "ram_gb": -(-server.flavor.ram // 1024), "each": 1}
        yield "instance", price_list.cost("instance", region_name, server.flavor.original_name, amounts)
    for volume in region.block_storage.volumes():
        yield "volume", price_list.cost("volume", region_name, volume.volume_type, {"gb": volume.size})
    for image in region.image.images():
        if image.owner == project:
            yield "image", price_list.cost("image", region_name, None, {"gb": max(1, -(-image.size // 2**30))})
    for _ in region.load_balancer.load_balancers(project_id=project):
        yield "loadbalance", price_list.cost("loadbalance", region_name, None, {"each": 1})


class _PriceList:
    """The prices of the tests: typed prices override untyped ones, and regional prices override general ones."""

    def __init__(self) -> None:
        rows = yaml.safe_load(PRICES.read_text())["prices"]
        self._prices = {
            (row["kind"], row["unit"], row.get("type"), row.get("node")): Decimal(row["price"]) for row in rows
        }

    def cost(self, kind: str, region: str, type_name: str | None, amounts: dict[str, int]) -> Decimal:
        for name in (type_name, None):
            found = [
                price * amount
                for unit, amount in amounts.items()
                if (price := self._price(kind, unit, name, region)) is not None
            ]
            if found:
                return sum(found, Decimal())
        raise AssertionError(f"no price for a {kind} of type {type_name} in {region}")

    def _price(self, kind: str, unit: str, type_name: str | None, region: str) -> Decimal | None:
        own = self._prices.get((kind, unit, type_name, region))
        return self._prices.get((kind, unit, type_name, None)) if own is None else own


def _item(kind: str, hour: Decimal) -> dict[str, str]:
    day = hour * 24
    spans = {"hour": hour, "day": day, "month": day * 30, "year": day * 365}
    return {"res_type": kind, **{span: as_text(amount) for span, amount in spans.items()}}


def as_text(amount: Decimal) -> str:
    """Format an amount in full, with at least two decimals."""
    whole, _, part = f"{amount:f}".partition(".")
    return f"{whole}.{part.rstrip('0').ljust(2, '0')}"
