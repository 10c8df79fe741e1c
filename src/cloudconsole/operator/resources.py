"""Recording, resizing, ending and removing one resource; the totals move in the same transaction."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from sqlalchemy import Connection, Row, delete, insert, or_, select, update

from cloudconsole.core.kinds import KINDS, NODELESS, PRICED_UNITS, SIZED_IN_GB, Amounts, Kind
from cloudconsole.operator.errors import OperatorError
from cloudconsole.store import totals
from cloudconsole.store.tables import prices, resources

SIZES: Final = ("vcpus", "ram_mb", "disk_gb", "size_gb")
LARGEST: Final = 2**31 - 1

_LEAST: Final[dict[Kind, dict[str, int]]] = {kind: {"size_gb": 1} if kind in SIZED_IN_GB else {} for kind in KINDS} | {
    "instance": {"vcpus": 1, "ram_mb": 1, "disk_gb": 0}
}
"""The sizes that each kind has, and the least each may be."""


def record_resource(
    connection: Connection,
    *,
    resource_id: str,
    tenant_id: int,
    kind: Kind,
    name: str,
    node_id: int | None,
    started_at: int,
    **sizes: int,
) -> None:
    """Record a resource that starts at a moment, past or future. A billable one must have a price by then."""
    values = {"vcpus": 0, "ram_mb": 0, "disk_gb": 0, "size_gb": 0, **sizes}
    check_sizes(kind, values)
    check_node(kind, node_id)
    _check_priced(connection, kind, node_id, started_at)
    if _find(connection, resource_id) is not None:
        raise OperatorError(f"there is a resource {resource_id} already")
    row = {"id": resource_id, "tenant_id": tenant_id, "kind": kind, "name": name, "node_id": node_id}
    connection.execute(insert(resources).values(**row, **values, started_at=started_at, ended_at=None))
    totals.add(connection, tenant_id, kind, node_id, _amounts(values))


def resize_resource(
    connection: Connection, resource_id: str, *, at: int, node_id: int | None = None, **sizes: int
) -> None:
    """Give a resource other sizes, or move it to another node, from now on."""
    row = _live(connection, resource_id)
    before = {name: row._mapping[name] for name in SIZES}
    after = before | sizes
    new_node = row.node_id if node_id is None else node_id
    check_sizes(row.kind, after)
    check_node(row.kind, new_node)
    _check_priced(connection, row.kind, new_node, max(at, row.started_at))
    connection.execute(update(resources).where(resources.c.id == resource_id).values(node_id=new_node, **after))
    totals.subtract(connection, row.tenant_id, row.kind, row.node_id, _amounts(before))
    totals.add(connection, row.tenant_id, row.kind, new_node, _amounts(after))


def end_resource(connection: Connection, resource_id: str, *, at: int) -> None:
    """End a resource, not before its start; it counts in that moment's hour and in no later one."""
    row = _live(connection, resource_id)
    if at < row.started_at:
        raise OperatorError(f"the resource {resource_id} cannot end before it starts")
    # Where it was moved since, its node may have had no price at that time.
    _check_priced(connection, row.kind, row.node_id, at)
    connection.execute(update(resources).where(resources.c.id == resource_id).values(ended_at=at))
    totals.subtract(connection, row.tenant_id, row.kind, row.node_id, _amounts(row._mapping))


def remove_resource(connection: Connection, resource_id: str) -> None:
    """Forget a resource as if it had never been."""
    row = _find(connection, resource_id)
    if row is None:
        raise OperatorError(f"there is no resource {resource_id}")
    connection.execute(delete(resources).where(resources.c.id == resource_id))
    if row.ended_at is None:
        totals.subtract(connection, row.tenant_id, row.kind, row.node_id, _amounts(row._mapping))


def check_sizes(kind: Kind, sizes: Mapping[str, int]) -> None:
    """Refuse sizes that the kind does not have, and those it must have where they are missing."""
    for name, problem in size_problems(kind, sizes):
        raise OperatorError(f"{name} of {kind}: {problem}")


def size_problems(kind: Kind, sizes: Mapping[str, int]) -> Iterator[tuple[str, str]]:
    """Each size that does not fit the kind, and why."""
    for name in SIZES:
        least = _LEAST[kind].get(name)
        if least is None and sizes[name]:
            yield name, f"the kind {kind} has no such size"
        if least is not None and not least <= sizes[name] <= LARGEST:
            yield name, f"must be from {least} to {LARGEST}"


def check_node(kind: Kind, node_id: int | None) -> None:
    if kind in PRICED_UNITS and node_id is None:
        raise OperatorError(f"{kind}: must be on a node")
    if kind in NODELESS and node_id is not None:
        raise OperatorError(f"{kind}: is on no node")


def _check_priced(connection: Connection, kind: Kind, node_id: int | None, at: int) -> None:
    if kind not in PRICED_UNITS or node_id is None:
        return
    columns = prices.c
    in_force = (
        select(columns.id)
        .where(columns.kind == kind, columns.unit.in_(PRICED_UNITS[kind]), columns.start <= at)
        .where(or_(columns.node_id == node_id, columns.node_id.is_(None)))
    )
    if connection.scalar(in_force.limit(1)) is None:
        raise OperatorError(f"{kind}: has no price on this node at that time; add one first")


def _find(connection: Connection, resource_id: str) -> Row[Any] | None:
    return connection.execute(select(resources).where(resources.c.id == resource_id).with_for_update()).one_or_none()


def _live(connection: Connection, resource_id: str) -> Row[Any]:
    row = _find(connection, resource_id)
    if row is None:
        raise OperatorError(f"there is no resource {resource_id}")
    if row.ended_at is not None:
        raise OperatorError(f"the resource {resource_id} has an end already")
    return row


def _amounts(sizes: Any) -> Amounts:
    return totals.amounts_of(vcpus=sizes["vcpus"], ram_mb=sizes["ram_mb"], size_gb=sizes["size_gb"])
