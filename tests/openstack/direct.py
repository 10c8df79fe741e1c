"""What openstacksdk reads of the cloud, and what that costs, by rules of this file: it shares none with the console."""

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, TypeVar

import yaml

PRICES = Path(__file__).with_name("prices.yaml")

OF_COMPUTE = (
    *("maxTotalInstances", "totalInstancesUsed", "maxTotalCores", "totalCoresUsed", "maxTotalRAMSize", "totalRAMUsed"),
    *("maxTotalKeypairs", "maxServerMeta", "maxImageMeta", "maxPersonality", "maxPersonalitySize"),
)
OF_VOLUMES = (
    *("maxTotalVolumes", "totalVolumesUsed", "maxTotalVolumeGigabytes", "totalGigabytesUsed"),
    *("maxTotalSnapshots", "totalSnapshotsUsed"),
)
LEAST = {"maxSecurityGroupRules", "maxPersonality", "maxPersonalitySize", "maxImageMeta", "maxServerMeta"}
UNLIMITED = -1

Said = TypeVar("Said")

Connection = Any
"""One of openstacksdk, whose own types cannot tell the versions of a service apart."""


def agreed(told: Callable[[], Said], direct: Callable[[], Said]) -> Said:
    """What the console told, which is what the cloud says; again where that changed meanwhile, or the hour did."""
    for _ in range(10):
        before, answer, after = direct(), told(), direct()
        if before == after:
            assert answer == before
            return answer
    raise AssertionError("the cloud does not come to rest")


def usage(regions: Iterable[Connection]) -> dict[str, int]:
    """All 22 fields over the regions."""
    found: dict[str, list[int]] = defaultdict(list)
    for region in regions:
        for field, number in _usage_of(region).items():
            found[field].append(number)
    return {field: _over_regions(field, numbers) for field, numbers in found.items()}


def _usage_of(region: Connection) -> dict[str, int]:
    compute = _told(region.compute, "/limits")["limits"]["absolute"]
    volumes = _told(region.block_storage, "/limits")["limits"]["absolute"]
    network = region.network.get_quota(region.current_project_id, details=True)
    return {
        **{field: compute[field] for field in OF_COMPUTE},
        **{field: volumes[field] for field in OF_VOLUMES},
        "maxTotalFloatingIps": network.floating_ips["limit"],
        "totalFloatingIpsUsed": network.floating_ips["used"],
        "maxSecurityGroups": network.security_groups["limit"],
        "totalSecurityGroupsUsed": network.security_groups["used"],
        "maxSecurityGroupRules": network.security_group_rules["limit"],
    }


def _told(service: Any, path: str) -> Any:
    answer = service.get(path)
    assert answer.status_code == 200, answer.text
    return json.loads(answer.text)


def _over_regions(field: str, numbers: Sequence[int]) -> int:
    if field in LEAST:
        return min((number for number in numbers if number != UNLIMITED), default=UNLIMITED)
    return UNLIMITED if UNLIMITED in numbers else sum(numbers)


def flavors(regions: Iterable[Connection]) -> list[dict[str, Any]]:
    """Those of all regions, the smallest first; of two that are alike, the one of the region that comes first."""
    found: dict[tuple[int, int, int, str], str] = {}
    for region in regions:
        for flavor in region.compute.flavors():
            found.setdefault((flavor.vcpus, flavor.ram, flavor.disk, flavor.name), flavor.id)
    return [
        {"id": flavor_id, "name": name, "vcpus": vcpus, "ram": ram, "disk": disk}
        for (vcpus, ram, disk, name), flavor_id in sorted(found.items())
    ]


def estimate(regions: Iterable[Connection]) -> list[dict[str, str]]:
    """What the console has to answer, to the last digit, where it saw nothing that is gone since but servers."""
    book = _Book()
    hourly: dict[str, Decimal] = defaultdict(Decimal)
    for region in regions:
        for kind, cost in _costs(region, book):
            hourly[kind] += cost
    kinds = ("instance", "image", "loadbalance", "volume")
    return [_item(kind, hourly[kind]) for kind in kinds if hourly[kind]]


def hour_start() -> datetime:
    return datetime.now(UTC).replace(minute=0, second=0, microsecond=0)


def _costs(region: Connection, book: "_Book") -> Iterator[tuple[str, Decimal]]:
    place, project = region.config.region_name, region.current_project_id
    since = hour_start().strftime("%Y-%m-%dT%H:%M:%SZ")
    listed = [*region.compute.servers(), *region.compute.servers(changes_since=since)]
    for server in {server.id: server for server in listed}.values():
        # A server tells of its flavor what it had of it when it was made.
        named = {"vcpu": server.flavor.vcpus, "ram_gb": -(-server.flavor.ram // 1024), "each": 1}
        yield "instance", book.cost("instance", place, server.flavor.original_name, named)
    for volume in region.block_storage.volumes():
        yield "volume", book.cost("volume", place, volume.volume_type, {"gb": volume.size})
    for image in region.image.images():
        if image.owner == project:
            yield "image", book.cost("image", place, None, {"gb": max(1, -(-image.size // 2**30))})
    for _ in region.load_balancer.load_balancers(project_id=project):
        yield "loadbalance", book.cost("loadbalance", place, None, {"each": 1})


class _Book:
    """The tests' prices: that of a type before those of the kind, and a region's own before that of all."""

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
    """In full, with two decimals at least."""
    whole, _, part = f"{amount:f}".partition(".")
    return f"{whole}.{part.rstrip('0').ljust(2, '0')}"
