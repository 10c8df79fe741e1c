"""What a resource's sizes, its node, its price and a price's unit must be, by kind."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from cloudconsole.core.clock import format_utc
from cloudconsole.core.resources import KINDS, NODELESS, PRICED_UNITS, SIZED_IN_GB, TYPED_UNITS, Kind, Unit
from cloudconsole.operator.validation import with_article
from cloudconsole.spec.records import ResourceType

MAX_VALUE: Final = 2**31 - 1

SIZES: Final[Mapping[str, str]] = {"vcpus": "vcpus", "ram": "ram_mb", "disk": "disk_gb", "size": "size_gb"}
"""The sizes by the names that operators know, and their columns."""

_LEAST: Final[dict[Kind, dict[str, int]]] = {kind: {"size": 1} if kind in SIZED_IN_GB else {} for kind in KINDS} | {
    "instance": {"vcpus": 1, "ram": 1, "disk": 0}
}
"""The sizes that each kind has, and the least each may be."""


def sizes_of(kind: Kind) -> tuple[str, ...]:
    """The sizes that a kind has."""
    return tuple(_LEAST[kind])


Starts = Mapping[Any, int]
"""When a kind's first price starts, by node; None is all nodes that have none of their own.

Prices of a type are not among them: no resource that is kept here has one.
"""

_NEVER: Final = 2**62


def size_problems(kind: Kind, sizes: Mapping[str, int]) -> Iterator[tuple[str, str]]:
    """Each size that does not fit the kind, and why; one that is not given is 0 where it may be."""
    for name in SIZES:
        least, size = _LEAST[kind].get(name), sizes.get(name, 0)
        if least is None and size:
            yield name, f"the kind {kind} has no such size"
        if least is not None and not least <= size <= MAX_VALUE:
            needed = "must be" if name in sizes else f"is needed for {with_article(kind)}:"
            yield name, f"{needed} from {least} to {MAX_VALUE}"


def node_problem(kind: Kind, node: str | None) -> str | None:
    if kind in PRICED_UNITS and node is None:
        return f"{with_article(kind)} must be on a node"
    if kind in NODELESS and node is not None:
        return f"{with_article(kind)} is on no node"
    return None


def unit_problem(kind: ResourceType, unit: Unit) -> str | None:
    """Why a price's unit does not go with its kind."""
    units = PRICED_UNITS[kind]
    return None if unit in units else f"{kind} is priced by {' or '.join(units)}"


def type_problem(kind: ResourceType, unit: Unit) -> str | None:
    """Why a price of this kind and unit is for no single type."""
    if TYPED_UNITS.get(kind) == unit:
        return None
    return "only an instance by each, by its flavor, and a volume by gb are priced by type"


def start_on(starts: Starts, node: Any) -> int:
    """From when on there is a price on a node."""
    return min(starts.get(node, _NEVER), starts.get(None, _NEVER))


def unpriced_problem(kind: Kind, node: Any, started: int, starts: Starts) -> str | None:
    """Why a resource that is on a node cannot start then.

    A price is in force for ever from its moment on: what has one at its start has one for as long as it counts.
    """
    if kind not in PRICED_UNITS or started >= start_on(starts, node):
        return None
    return f"{kind} has no price on this node at {format_utc(started)}, when it starts: add one first"


def disabled_error(thing: str, name: str) -> str:
    """What is said to a new resource of a tenant or on a node that is disabled."""
    return f"the {thing} {name} is disabled and takes no new resources"
