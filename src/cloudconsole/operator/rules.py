"""What a resource's sizes, its node and a price's unit must be, by kind."""

from collections.abc import Iterator, Mapping
from typing import Final

from cloudconsole.core.kinds import KINDS, NODELESS, PRICED_UNITS, SIZED_IN_GB, Kind, Unit
from cloudconsole.spec.records import ResourceType

LARGEST: Final = 2**31 - 1

SIZES: Final[Mapping[str, str]] = {"vcpus": "vcpus", "ram": "ram_mb", "disk": "disk_gb", "size": "size_gb"}
"""The sizes by the names that operators know, and their columns."""

_LEAST: Final[dict[Kind, dict[str, int]]] = {kind: {"size": 1} if kind in SIZED_IN_GB else {} for kind in KINDS} | {
    "instance": {"vcpus": 1, "ram": 1, "disk": 0}
}
"""The sizes that each kind has, and the least each may be."""


def size_problems(kind: Kind, sizes: Mapping[str, int]) -> Iterator[tuple[str, str]]:
    """Each size that does not fit the kind, and why."""
    for name in SIZES:
        least = _LEAST[kind].get(name)
        if least is None and sizes[name]:
            yield name, f"the kind {kind} has no such size"
        if least is not None and not least <= sizes[name] <= LARGEST:
            yield name, f"must be from {least} to {LARGEST}"


def node_problem(kind: Kind, node: str | None) -> str | None:
    if kind in PRICED_UNITS and node is None:
        return f"{kind}: must be on a node"
    if kind in NODELESS and node is not None:
        return f"{kind}: is on no node"
    return None


def unit_problem(kind: ResourceType, unit: Unit) -> str | None:
    """Why a price's unit does not go with its kind."""
    units = PRICED_UNITS[kind]
    return None if unit in units else f"{kind} is priced by {' or '.join(units)}"


def disabled_refusal(thing: str, name: str) -> str:
    """What is said to a new resource of a tenant or on a node that is disabled."""
    return f"the {thing} {name} is disabled and takes no new resources"
