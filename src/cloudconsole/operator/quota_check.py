"""Checks of quotas: limits, usage and headroom of tenants."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

from sqlalchemy import func, select

from cloudconsole.core.resources import QUOTA_DEFAULTS, QUOTA_USES, UNLIMITED, Amounts, quota_use
from cloudconsole.operator.messages import Enumeration, Message, Term
from cloudconsole.operator.rows_and_records import Row
from cloudconsole.operator.transaction import OperatorTransaction
from cloudconsole.spec.i18n import Text
from cloudconsole.store.counters import amounts_of
from cloudconsole.store.sql import in_values
from cloudconsole.store.tables import quotas, resources, tenants, usage


class ExceededQuota(NamedTuple):
    quota: str
    used: int
    limit: int
    more: int

    @property
    def message(self) -> Message:
        return Message(
            "{quota}: {used} of {limit} in use, {more} more requested",
            "{quota}：已用 {used}，上限 {limit}，还需 {more}",
            quota=Term("quota", self.quota),
            used=self.used,
            limit=self.limit,
            more=self.more,
        )


def check_limits(tx: OperatorTransaction, tenant_id: int, before: Row, after: Row) -> None:
    """Reject limits that are lowered below the present use."""
    if tx.force:
        return
    used = quota_usage_of(tx, tenant_id)
    below = [
        Message(
            "{quota}: {used} in use, new limit {limit}",
            "{quota}：已用 {used}，新上限 {limit}",
            quota=Term("quota", name),
            used=amount,
            limit=after[name],
        )
        for name, amount in used.items()
        if amount > after[name] != UNLIMITED and (before[name] == UNLIMITED or after[name] < before[name])
    ]
    if below:
        tx.ask(
            Message(
                "below present use ({quotas}): nothing is removed, but nothing can be added",
                "低于当前用量（{quotas}）：现有资源保留，但无法再添加",
                quotas=_listed(below),
            )
        )


class QuotaHeadroom:
    """Quotas and usage of some tenants, including resources that start later; `take` adds to the usage."""

    def __init__(self, tx: OperatorTransaction, tenant_ids: Collection[int]) -> None:
        self._now = tx.now
        self._limits: dict[int, Mapping[str, int]] = dict.fromkeys(tenant_ids, QUOTA_DEFAULTS)
        theirs = in_values(tx.connection, quotas.c.tenant_id, tenant_ids)
        for own in tx.connection.execute(select(quotas).where(theirs)).mappings():
            self._limits[own["tenant_id"]] = {name: own[name] for name in QUOTA_DEFAULTS}
        self._used: dict[int, Counter[str]] = {tenant_id: Counter() for tenant_id in tenant_ids}
        for tenant_id, uses in _used(tx, tenant_ids):
            self._used[tenant_id].update(uses)

    def take(self, resource: Row, before: Row | None = None) -> list[ExceededQuota]:
        """Count a new or changed resource; return the quotas it exceeds."""
        tenant_id = resource["tenant_id"]
        requested = requested_amounts(resource, before, self._now)
        self._used[tenant_id].update(requested)
        return self.exceeded(tenant_id, requested)

    def exceeded(self, tenant_id: int, amounts: Mapping[str, int]) -> list[ExceededQuota]:
        """Return the quotas exceeded by these amounts, which are already counted."""
        limits, used = self._limits[tenant_id], self._used[tenant_id]
        return [
            ExceededQuota(name, used[name] - more, limits[name], more)
            for name, more in amounts.items()
            if limits[name] != UNLIMITED and used[name] > limits[name]
        ]


def quota_usage_of(tx: OperatorTransaction, tenant_id: int) -> Mapping[str, int]:
    """Return a tenant's usage by quota, including resources that start later."""
    used = Counter(dict.fromkeys(QUOTA_USES, 0))
    for _, uses in _used(tx, [tenant_id]):
        used.update(uses)
    return used


def quota_usage_by_tenant(tx: OperatorTransaction, names: Collection[str]) -> dict[str, Mapping[str, int]]:
    """Return the usage of tenants by name, as `quota_usage_of`."""
    columns = tenants.c
    query = select(columns.id, columns.name).where(in_values(tx.connection, columns.name, names))
    name_of = {row.id: row.name for row in tx.connection.execute(query)}
    used = {name: Counter(dict.fromkeys(QUOTA_USES, 0)) for name in name_of.values()}
    for tenant_id, uses in _used(tx, name_of):
        used[name_of[tenant_id]].update(uses)
    return dict(used)


def check_quotas(tx: OperatorTransaction, before: Row | None, after: Row) -> None:
    """Reject a new or grown resource that exceeds a quota."""
    if tx.force or not requested_amounts(after, before, tx.now):
        return
    over = QuotaHeadroom(tx, [after["tenant_id"]]).take(after, before)
    if over:
        tx.ask(over_quota_message(over))


def over_quota_message(over: list[ExceededQuota]) -> Message:
    return Message(
        "over quota ({quotas})",
        "超出配额（{quotas}）",
        quotas=_listed([each.message for each in over]),
    )


def _listed(messages: Sequence[Message]) -> Enumeration:
    semicolon = Text("; ", "；")
    return Enumeration(messages, semicolon, semicolon)


def requested_amounts(resource: Row, before: Row | None, now: int) -> dict[str, int]:
    """Return what a resource uses beyond its previous use; nothing once it has ended."""
    before_use, use = (
        {} if row is None or _has_ended(row, now) else quota_use(row["kind"], amounts_of(row))
        for row in (before, resource)
    )
    return {name: amount - before_use.get(name, 0) for name, amount in use.items() if amount > before_use.get(name, 0)}


def _has_ended(resource: Row, now: int) -> bool:
    return resource["ended_at"] is not None and resource["ended_at"] <= now


def _used(tx: OperatorTransaction, tenant_ids: Collection[int]) -> Iterator[tuple[int, Mapping[str, int]]]:
    """Yield usage by tenant: that of resources without an end, then of those that end later, by kind."""
    theirs = in_values(tx.connection, usage.c.tenant_id, tenant_ids)
    for row in tx.connection.execute(select(usage).where(theirs)).mappings():
        yield row["tenant_id"], {quota: row[quota] for quota in QUOTA_USES}
    columns = resources.c
    sums = [func.sum(columns[name]).label(name) for name in ("vcpus", "ram_mb", "size_gb")]
    ending = (
        select(columns.tenant_id, columns.kind, func.count().label("items"), *sums)
        .where(in_values(tx.connection, columns.tenant_id, tenant_ids), columns.ended_at > tx.now)
        .group_by(columns.tenant_id, columns.kind)
    )
    for tenant_id, kind, items, vcpus, ram_mb, size_gb in tx.connection.execute(ending):
        yield tenant_id, quota_use(kind, Amounts(items=items, vcpus=vcpus, ram_mb=ram_mb, size_gb=size_gb))
