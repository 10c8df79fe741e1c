"""Resource kinds, billing units, quotas, resources of a cloud and the flavors record."""

from operator import add, sub
from typing import Final, Literal, NamedTuple, get_args

from msgspec import Struct

from cloudconsole.spec.extension_records import PricedUnit
from cloudconsole.spec.records import BillableType, Flavor, FlavorConfigs, Flavors

Kind = Literal[
    "instance",
    "image",
    "loadbalance",
    "volume",
    "snapshot",
    "floating_ip",
    "security_group",
    "keypair",
]
Unit = PricedUnit
Role = Literal["tenant", "operator"]

KINDS: Final[tuple[Kind, ...]] = get_args(Kind)

PRICED_UNITS: Final[dict[BillableType, tuple[Unit, ...]]] = {
    "instance": ("each", "vcpu", "ram_gb"),
    "image": ("gb",),
    "loadbalance": ("each",),
    "volume": ("gb",),
}
"""Billable kinds, in the order of an estimate, and the units by which each may be priced."""

TYPED_UNITS: Final[dict[BillableType, Unit]] = {"instance": "each", "volume": "gb"}
"""Kinds that may have prices by type, and their unit; an instance's type is its flavor."""

SIZED_IN_GB: Final[frozenset[Kind]] = frozenset({"image", "volume", "snapshot"})
NODELESS: Final[frozenset[Kind]] = frozenset({"security_group", "keypair"})
"""Kinds without a node."""

QUOTA_DEFAULTS: Final[dict[str, int]] = {
    "instances": 10,
    "cores": 20,
    "ram": 51_200,
    "volumes": 10,
    "gigabytes": 1_000,
    "snapshots": 10,
    "floating_ips": 10,
    "security_groups": 10,
    "security_group_rules": 100,
    "keypairs": 100,
    "personality": 5,
    "personality_size": 10_240,
    "image_meta": 128,
    "server_meta": 128,
}
"""All quotas and their defaults (OpenStack's); `-1` is unlimited."""

UNLIMITED: Final = -1


class QuotaUse(NamedTuple):
    """Usage of a quota: by resources of these kinds, each by a field of `Amounts`."""

    kinds: tuple[Kind, ...]
    amount: str


QUOTA_USES: Final[dict[str, QuotaUse]] = {
    "instances": QuotaUse(("instance",), "items"),
    "cores": QuotaUse(("instance",), "vcpus"),
    "ram": QuotaUse(("instance",), "ram_mb"),
    "volumes": QuotaUse(("volume",), "items"),
    "snapshots": QuotaUse(("snapshot",), "items"),
    # As in Cinder, snapshots use gigabytes, too.
    "gigabytes": QuotaUse(("volume", "snapshot"), "size_gb"),
    "floating_ips": QuotaUse(("floating_ip",), "items"),
    "security_groups": QuotaUse(("security_group",), "items"),
    "keypairs": QuotaUse(("keypair",), "items"),
}
"""Quotas used by stored resources; the others have no usage."""

_USES_BY_KIND: Final[dict[str, list[tuple[str, str]]]] = {
    kind: [(quota, use.amount) for quota, use in QUOTA_USES.items() if kind in use.kinds] for kind in KINDS
}


class Amounts(NamedTuple):
    """Size of one resource, or the sum of several, in whole units."""

    items: int = 0
    vcpus: int = 0
    ram_mb: int = 0
    ram_gb: int = 0
    """RAM for pricing: each resource's RAM rounded up to whole GB, then summed."""
    size_gb: int = 0

    def plus(self, other: "Amounts") -> "Amounts":
        return Amounts(*map(add, self, other))

    def minus(self, other: "Amounts") -> "Amounts":
        return Amounts(*map(sub, self, other))

    def in_unit(self, unit: Unit) -> int:
        if unit == "each":
            return self.items
        if unit == "vcpu":
            return self.vcpus
        return self.ram_gb if unit == "ram_gb" else self.size_gb


class BillableResource(Struct, frozen=True):
    """A billable resource in one region of a cloud."""

    region: str
    kind: BillableType
    id: str
    amounts: Amounts
    type: str | None = None
    """The name of a server's flavor or a volume's type."""
    ended_at: float | None = None
    name: str = ""
    created_at: float | None = None


def quota_use(kind: str, amounts: Amounts) -> dict[str, int]:
    """Return how much these amounts of a kind use of each quota."""
    return {quota: getattr(amounts, amount) for quota, amount in _USES_BY_KIND[kind]}


def flavors_record(flavors: list[Flavor]) -> Flavors:
    """Build the record with `configs` and `limits` derived from the flavors, ascending without repeats."""
    ram_by_vcpus: dict[int, set[int]] = {}
    for flavor in flavors:
        ram_by_vcpus.setdefault(flavor.vcpus, set()).add(flavor.ram)
    configs = FlavorConfigs(vcpus=sorted(ram_by_vcpus), ram=sorted({flavor.ram for flavor in flavors}))
    limits = {str(vcpus): sorted(ram_by_vcpus[vcpus]) for vcpus in configs.vcpus}
    return Flavors(flavors, configs, limits)
