"""The check that a change of prices does not change past costs unasked."""

from datetime import UTC, datetime

from cloudconsole.operator.errors import OverridableError
from cloudconsole.operator.messages import Message
from cloudconsole.operator.rows_and_records import Row
from cloudconsole.operator.transaction import OperatorTransaction
from cloudconsole.spec.i18n import Text
from cloudconsole.store.billing.price_effects import price_effect


def check_past_costs(tx: OperatorTransaction, before: Row | None, after: Row | None) -> None:
    """Reject a new, changed or removed price that changes costs of past hours or of the current one."""
    effect = None if tx.force else price_effect(tx.connection, before, after, tx.now, tx.zone)
    if effect is None:
        return
    message = Message(
        "changes the cost of {hours} from {start} to {end} ({zone}), of {resources} of {tenants}",
        "将改变 {start} 至 {end}（{zone}）共 {hours}的费用，涉及 {tenants}的 {resources}",
        hours=_counted(effect.hours, "hour", "个小时"),
        start=_local(tx, effect.start),
        end=Text("now", "现在") if effect.end > tx.now else _local(tx, effect.end),
        zone=tx.zone,
        resources=_counted(effect.resources, "resource", "个资源"),
        tenants=_counted(effect.tenants, "tenant", "个租户"),
    )
    if effect.concerns_closed_months:
        message = Message(
            "{effect}; closed months keep their totals, and the current month gets a correction",
            "{effect}；已结账的月份保持不变，差额计入当月更正",
            effect=message,
        )
    raise OverridableError(message)


def _counted(count: int, one: str, chinese: str) -> Message:
    return Message("{count} " + one + ("" if count == 1 else "s"), "{count} " + chinese, count=count)


def _local(tx: OperatorTransaction, moment: int) -> str:
    return f"{datetime.fromtimestamp(moment, UTC).astimezone(tx.zone):%Y-%m-%d %H:%M}"
