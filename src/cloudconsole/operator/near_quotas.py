"""Tenants that use most of a quota."""

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from sqlalchemy import ColumnElement, Float, FromClause, and_, case, func, literal, or_, select

from cloudconsole.core.resources import QUOTA_USES, UNLIMITED, QuotaUse
from cloudconsole.operator.transaction import OperatorTransaction
from cloudconsole.store.tables import quotas, resources, tenants, usage

NEAR_PERCENT: Final = 80
_MOST: Final = 1e18
"""More than any use divided by a limit."""


def is_near(used: int, limit: int) -> bool:
    """Return whether so much of a limit is used that more will soon be needed."""
    return limit != UNLIMITED and used > 0 and used * 100 >= limit * NEAR_PERCENT


class QuotaLevel(NamedTuple):
    quota: str
    used: int
    limit: int

    @property
    def share(self) -> float:
        """The used part; a use of nothing allowed is the most."""
        return self.used / self.limit if self.limit else float("inf")


class TenantNearQuota(NamedTuple):
    tenant: str
    levels: list[QuotaLevel]
    """The quotas that are nearly used up, the most used first."""


def tenants_near_quota(tx: OperatorTransaction, limit: int) -> list[TenantNearQuota]:
    """Return the tenants that use the most of a quota, the most first; reads the usage of all tenants.

    Disabled tenants are left out.
    """
    found = {each.tenant: each for query in _queries(tx) for each in _most_used(tx, query, limit)}
    return sorted(found.values(), key=lambda each: (-each.levels[0].share, each.tenant))[:limit]


def is_near_a_quota(tx: OperatorTransaction) -> ColumnElement[bool]:
    """Return the condition that a row of `quotas` is of a tenant near a quota, disabled or not."""
    conditions = (
        quotas.c.tenant_id.in_(select(usage.c.tenant_id).select_from(rows).where(near).correlate(None))
        for rows, _, near in _queries(tx)
    )
    return or_(*conditions)


class _Query(NamedTuple):
    rows: FromClause
    used: dict[str, ColumnElement[Any]]
    """The use of each quota."""
    is_near: ColumnElement[bool]
    """As `is_near`."""


def _queries(tx: OperatorTransaction) -> Iterator[_Query]:
    """Yield a query for all tenants, without resources that will end, and one for the few that have such, with them.

    One query for both takes twice the time.
    """
    columns = resources.c
    will_end = (
        select(columns.tenant_id, *(_sum(use).label(name) for name, use in QUOTA_USES.items()))
        .where(columns.ended_at > tx.now)
        .group_by(columns.tenant_id)
        .subquery("will_end")
    )
    rows = usage.join(quotas, quotas.c.tenant_id == usage.c.tenant_id)
    yield _query(rows, {name: usage.c[name] for name in QUOTA_USES})
    rows = rows.join(will_end, will_end.c.tenant_id == usage.c.tenant_id)
    yield _query(rows, {name: usage.c[name] + will_end.c[name] for name in QUOTA_USES})


def _query(rows: FromClause, used: dict[str, ColumnElement[Any]]) -> _Query:
    limits = quotas.c
    near = or_(
        *(
            and_(each * 100 >= limits[name] * NEAR_PERCENT, each > 0, limits[name] != UNLIMITED)
            for name, each in used.items()
        )
    )
    return _Query(rows, used, near)


def _most_used(tx: OperatorTransaction, query: _Query, limit: int) -> Iterator[TenantNearQuota]:
    largest = func.greatest if tx.connection.dialect.name == "postgresql" else func.max
    share = largest(*(_share(used, quotas.c[name]) for name, used in query.used.items()))
    amounts = [column for name, used in query.used.items() for column in (used.label(name), quotas.c[name])]
    found = (
        select(tenants.c.name, *amounts)
        .select_from(query.rows.join(tenants, tenants.c.id == usage.c.tenant_id))
        .where(query.is_near, ~tenants.c.disabled)
        .order_by(share.desc(), tenants.c.name)
        .limit(limit)
    )
    for name, *values in tx.connection.execute(found):
        levels = map(QuotaLevel, QUOTA_USES, map(int, values[::2]), values[1::2])
        near = [level for level in levels if is_near(level.used, level.limit)]
        yield TenantNearQuota(name, sorted(near, key=lambda level: -level.share))


def _sum(use: QuotaUse) -> ColumnElement[Any]:
    amount = literal(1) if use.amount == "items" else resources.c[use.amount]
    return func.sum(case((resources.c.kind.in_(use.kinds), amount), else_=0))


def _share(used: ColumnElement[Any], limit: ColumnElement[Any]) -> ColumnElement[float]:
    return case(
        (or_(limit == UNLIMITED, used <= 0), 0.0), (limit == 0, _MOST), else_=used.cast(Float) / limit.cast(Float)
    )
