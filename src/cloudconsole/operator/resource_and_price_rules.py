"""Rules for sizes, nodes and prices by resource kind."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from cloudconsole.core.clock import format_utc
from cloudconsole.core.resources import KINDS, NODELESS, PRICED_UNITS, SIZED_IN_GB, TYPED_UNITS, Kind, Unit
from cloudconsole.operator.messages import Message, Term, any_of
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


def size_problems(kind: Kind, sizes: Mapping[str, int]) -> Iterator[tuple[str, Message]]:
    """Yield each invalid size and the reason; a missing size is 0."""
    for name in SIZES:
        minimum, size = _MINIMUM_SIZES[kind].get(name), sizes.get(name, 0)
        if minimum is None and size:
            yield name, Message("does not apply to the kind {kind}", "不适用于{kind}", kind=Term("kind", kind))
        if minimum is not None and not minimum <= size <= MAX_VALUE:
            limits = {"minimum": minimum, "maximum": MAX_VALUE}
            if name in sizes:
                problem = Message("must be from {minimum} to {maximum}", "必须在 {minimum} 至 {maximum} 之间", **limits)
            else:
                problem = Message(
                    "is required for {kind}: from {minimum} to {maximum}",
                    "{kind}必须填写此项，范围为 {minimum} 至 {maximum}",
                    kind=Term("kind", kind, has_article=True),
                    **limits,
                )
            yield name, problem


def node_problem(kind: Kind, node: str | None) -> Message | None:
    term = Term("kind", kind, has_article=True)
    if kind in PRICED_UNITS and node is None:
        return Message("{kind} must be on a node", "{kind}必须位于某个节点", kind=term)
    if kind in NODELESS and node is not None:
        return Message("{kind} cannot be on a node", "{kind}不属于任何节点", kind=term)
    return None


def unit_problem(kind: BillableType, unit: Unit) -> Message | None:
    """Return why a price's unit is invalid for its kind, or None."""
    units = PRICED_UNITS[kind]
    if unit in units:
        return None
    return Message(
        "must be {units} for {kind}",
        "{kind}的计价单位只能是{units}",
        kind=Term("kind", kind, has_article=True),
        units=any_of(Term("unit", each) for each in units),
    )


def type_problem(kind: BillableType, unit: Unit) -> Message | None:
    """Return why a price of this kind and unit cannot have a type, or None."""
    if TYPED_UNITS.get(kind) == unit:
        return None
    return Message(
        "does not apply: only instances (unit {each}) and volumes (unit {gb}) can have a type",
        "此处不适用：只有云主机（计价单位为{each}）和云硬盘（计价单位为{gb}）可以按类型定价",
        each=Term("unit", "each"),
        gb=Term("unit", "gb"),
    )


def start_on(starts: Starts, node: Any) -> int:
    """Return when the first price on a node starts."""
    return min(starts.get(node, _NEVER), starts.get(None, _NEVER))


def unpriced_problem(kind: Kind, node: Any, started: int, starts: Starts) -> Message | None:
    """Return why a resource on a node cannot start at this time, or None.

    Prices never expire, so a resource that has a price at its start has one until its end.
    """
    if kind not in PRICED_UNITS or started >= start_on(starts, node):
        return None
    return Message(
        "{kind} has no price on this node at {time}, when it starts: add one first",
        "{kind}在开始时间 {time} 于该节点没有价格，请先添加价格",
        kind=Term("kind", kind),
        time=format_utc(started),
    )


def disabled_error(thing: str, name: str) -> Message:
    return Message(
        "the {thing} {name} is disabled and accepts no new resources",
        "{thing} {name} 已停用，不再接受新资源",
        thing=Term("entity", thing),
        name=name,
    )
