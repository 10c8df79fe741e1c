"""Rules for sizes, nodes and prices by resource kind."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from cloudconsole.core.clock import format_utc
from cloudconsole.core.resources import KINDS, NODELESS, PRICED_UNITS, SIZED_IN_GB, TYPED_UNITS, Kind, Unit
from cloudconsole.operator.errors import with_article
from cloudconsole.spec.records import BillableType

MAX_VALUE: Final = 2**31 - 1

SIZES: Final[Mapping[str, str]] = {"vcpus": "vcpus", "ram": "ram_mb", "disk": "disk_gb", "size": "size_gb"}
"""Size fields and their columns."""

_MINIMUM_SIZES: Final[dict[Kind, dict[str, int]]] = {
    kind: {"size": 1} if kind in SIZED_IN_GB else {} for kind in KINDS
} | {"instance": {"vcpus": 1, "ram": 1, "disk": 0}}
"""The size fields of each kind and their minimums."""


def sizes_of(kind: Kind) -> tuple[str, ...]:
    return tuple(_MINIMUM_SIZES[kind])


Starts = Mapping[Any, int]
"""The start of a kind's first price by node; None stands for the price of all nodes.

Prices for a type are excluded: stored resources have no type.
"""

_NEVER: Final = 2**62


def size_problems(kind: Kind, sizes: Mapping[str, int]) -> Iterator[tuple[str, str]]:
    """Yield each invalid size and the reason; a missing size is 0."""
    for name in SIZES:
        minimum, size = _MINIMUM_SIZES[kind].get(name), sizes.get(name, 0)
        if minimum is None and size:
            yield name, f"does not apply to the kind {kind}"
        if minimum is not None and not minimum <= size <= MAX_VALUE:
            requirement = "must be" if name in sizes else f"is required for {with_article(kind)}:"
            yield name, f"{requirement} from {minimum} to {MAX_VALUE}"


def node_problem(kind: Kind, node: str | None) -> str | None:
    if kind in PRICED_UNITS and node is None:
        return f"{with_article(kind)} must be on a node"
    if kind in NODELESS and node is not None:
        return f"{with_article(kind)} cannot be on a node"
    return None


def unit_problem(kind: BillableType, unit: Unit) -> str | None:
    """Return why a price's unit is invalid for its kind, or None."""
    units = PRICED_UNITS[kind]
    return None if unit in units else f"{kind} is priced by {' or '.join(units)}"


def type_problem(kind: BillableType, unit: Unit) -> str | None:
    """Return why a price of this kind and unit cannot have a type, or None."""
    if TYPED_UNITS.get(kind) == unit:
        return None
    return "only instances by each (flavor) and volumes by gb can have a price per type"


def start_on(starts: Starts, node: Any) -> int:
    """Return when the first price on a node starts."""
    return min(starts.get(node, _NEVER), starts.get(None, _NEVER))


def unpriced_problem(kind: Kind, node: Any, started: int, starts: Starts) -> str | None:
    """Return why a resource on a node cannot start at this time, or None.

    Prices never expire, so a resource that has a price at its start has one until its end.
    """
    if kind not in PRICED_UNITS or started >= start_on(starts, node):
        return None
    return f"{kind} has no price on this node at {format_utc(started)}, when it starts: add one first"


def disabled_error(thing: str, name: str) -> str:
    return f"the {thing} {name} is disabled and accepts no new resources"
