"""The check that a change of prices does not change past costs unasked, and what follows a removed price."""

from datetime import UTC, datetime
from typing import Any, Final

from sqlalchemy import ColumnElement, or_, select

from cloudconsole.core.pricing import format_amount
from cloudconsole.operator.messages import Message, counted
from cloudconsole.operator.rows_and_records import Row
from cloudconsole.operator.transaction import OperatorTransaction
from cloudconsole.spec.i18n import Text
from cloudconsole.store.billing.price_effects import price_effect
from cloudconsole.store.tables import prices


def check_past_costs(tx: OperatorTransaction, before: Row | None, after: Row | None) -> None:
    """Reject a new, changed or removed price that changes costs of past hours or of the current one."""
    effect = None if tx.force else price_effect(tx.connection, before, after, tx.now, tx.zone)
    if effect is None:
        return
    message = Message(
        "changes the cost of {hours} from {start} to {end} ({zone}), of {resources} of {tenants}",
        "将改变 {start} 至{end}（{zone}）共 {hours}的费用，涉及 {tenants}的 {resources}",
        hours=counted(effect.hours, "hour", "个小时"),
        start=_local(tx, effect.start),
        end=Text("now", "现在") if effect.end > tx.now else Text(_local(tx, effect.end), f" {_local(tx, effect.end)}"),
        zone=tx.zone,
        resources=counted(effect.resources, "resource", "个资源"),
        tenants=counted(effect.tenants, "tenant", "个租户"),
    )
    if effect.concerns_closed_months:
        message = Message(
            "{effect}; closed months keep their totals, and the current month gets a correction",
            "{effect}；已结账的月份保持不变，差额计入当月更正",
            effect=message,
        )
    following = None if before is None or after is not None else following_price(tx, before)
    if following is not None:
        message = Message("{effect}; {following}", "{effect}；{following}", effect=message, following=following)
    tx.ask(message)


def following_price(tx: OperatorTransaction, removed: Row) -> Message | None:
    """Say what applies from now on without this price; None if it is not in force."""
    columns = prices.c
    untyped = (columns.kind == removed["kind"]) & columns.type.is_(None)
    own_type = columns.type.is_not_distinct_from(removed["type"])
    same = (columns.kind == removed["kind"]) & (columns.unit == removed["unit"]) & own_type
    own_node, all_nodes = columns.node_id.is_not_distinct_from(removed["node_id"]), columns.node_id.is_(None)
    others = same & (columns.id != removed["id"])
    earlier = _started(tx, others & own_node)
    if removed["start"] > tx.now or (earlier is not None and earlier.start > removed["start"]):
        return None
    price = earlier or _started(tx, others & all_nodes)
    if price is not None:
        return Message(
            *(_EARLIER if price == earlier else _ALL_NODES),
            price=format_amount(price.billionths),
            start=_local(tx, price.start),
            zone=tx.zone,
        )
    on_node = or_(own_node, all_nodes)
    if removed["type"] is not None and _started(tx, untyped & on_node):
        return _WITHOUT_TYPE
    upcoming = select(columns.start).where(same, on_node, columns.start > tx.now).order_by(columns.start)
    start = tx.connection.scalar(upcoming.limit(1))
    return _NO_PRICE if start is None else Message(*_NO_PRICE_UNTIL, start=_local(tx, start), zone=tx.zone)


def _started(tx: OperatorTransaction, condition: ColumnElement[bool]) -> Any:
    """Return the latest of these prices that has started."""
    query = select(prices).where(condition, prices.c.start <= tx.now).order_by(prices.c.start.desc())
    return tx.connection.execute(query.limit(1)).one_or_none()


_EARLIER: Final = (
    "from now on the price {price} applies, which is in force from {start} ({zone})",
    "此后适用单价 {price}（{start} 起生效，{zone}）",
)
_ALL_NODES: Final = (
    "from now on the price {price} for all nodes applies, which is in force from {start} ({zone})",
    "此后适用面向所有节点的单价 {price}（{start} 起生效，{zone}）",
)
_WITHOUT_TYPE: Final = Message("from now on the prices without a type apply", "此后适用不限类型的价格")
_NO_PRICE: Final = Message("from now on no price applies, and nothing is billed for it", "此后没有适用的价格，不再计费")
_NO_PRICE_UNTIL: Final = (
    "no price applies from now until {start} ({zone}), and nothing is billed for it",
    "自现在起至 {start}（{zone}）没有适用的价格，其间不计费",
)


def _local(tx: OperatorTransaction, moment: int) -> str:
    return f"{datetime.fromtimestamp(moment, UTC).astimezone(tx.zone):%Y-%m-%d %H:%M}"
