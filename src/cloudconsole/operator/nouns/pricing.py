"""Whether billable resources have the prices they need, and keep them."""

from sqlalchemy import ColumnElement, and_, func, or_, select

from cloudconsole.core.clock import time_text
from cloudconsole.core.resources import PRICED_UNITS
from cloudconsole.operator.desk import Desk
from cloudconsole.operator.errors import OperatorError
from cloudconsole.operator.records import Row
from cloudconsole.operator.rules import Starts, start_on, unpriced_problem
from cloudconsole.store.tables import nodes, prices, resources


def price_starts(desk: Desk, kind: str, *, without: int | None = None) -> dict[int | None, int]:
    """The starts of a kind's prices, or as they would be without one of them."""
    columns = prices.c
    query = select(columns.node_id, func.min(columns.start)).group_by(columns.node_id)
    query = query.where(columns.kind == kind, columns.type.is_(None))
    if without is not None:
        query = query.where(columns.id != without)
    return {row[0]: row[1] for row in desk.connection.execute(query)}


def check_priced(desk: Desk, resource: Row) -> None:
    """Refuse a billable resource that would have no price when it starts."""
    kind = resource["kind"]
    if kind not in PRICED_UNITS:
        return
    problem = unpriced_problem(kind, resource["node_id"], resource["started_at"], price_starts(desk, kind))
    if problem is not None:
        raise OperatorError(problem)


def refuse_unpriced(desk: Desk, kind: str, current: Starts, changed: Starts) -> None:
    """Refuse a change of prices that leaves a resource without one that it has now."""
    lost = _left_without(desk, current, changed)
    if lost is None:
        return
    columns = resources.c
    query = select(columns.id, nodes.c.name, columns.started_at).join(nodes, nodes.c.id == columns.node_id)
    query = query.where(columns.kind == kind, lost).order_by(columns.id)
    count = desk.connection.scalar(select(func.count()).select_from(query.subquery()))
    first = desk.connection.execute(query.limit(1)).one_or_none()
    if first is not None:
        such = f"{first.id} on {first.name}, started {time_text(first.started_at)}"
        who = f"the {kind} {such} needs" if count == 1 else f"{count} resources of kind {kind}, such as {such}, need"
        raise OperatorError(f"{who} this price: no other is in force on its node from its start on")


def _left_without(desk: Desk, current: Starts, changed: Starts) -> ColumnElement[bool] | None:
    columns = resources.c
    spans = [
        and_(columns.node_id == node_id, columns.started_at >= now_from, columns.started_at < then_from)
        for node_id in desk.connection.scalars(select(nodes.c.id))
        if (now_from := start_on(current, node_id)) < (then_from := start_on(changed, node_id))
    ]
    return or_(*spans) if spans else None
