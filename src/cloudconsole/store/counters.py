"""Counters that are updated with each resource, so that no request has to count resources.

Cost totals are per tenant, kind and node; quota usage is one row per tenant. Both change in the transaction that
changes a resource, by addition, never by reading and writing back.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from sqlalchemy import Connection, select, text

from cloudconsole.core.resources import QUOTA_USES, Amounts, QuotaUse, quota_use
from cloudconsole.store.sql import insert_rows
from cloudconsole.store.tables import NO_NODE, tenants, totals, usage

# Not (ram_mb + 1023) / 1024: the largest RAM would leave the range of PostgreSQL's INTEGER.
RAM_GB_SQL = "ram_mb / 1024 + (ram_mb % 1024 + 1023) / 1024"

AMOUNTS_SQL = f"1, vcpus, ram_mb, {RAM_GB_SQL}, size_gb"
"""One row of `resources` as `Amounts`."""

CostKey = tuple[int, str, int | None]
"""Tenant, kind and node of a cost total."""

_COST_COLUMNS = "tenant_id, kind, node_id, items, vcpus, ram_mb, ram_gb, size_gb"

_ADD_COST_TOTALS = f"""
    ON CONFLICT (tenant_id, kind, node_id) DO UPDATE SET
        {", ".join(f"{name} = totals.{name} + excluded.{name}" for name in Amounts._fields)}
"""

_ACTUAL_COST_TOTALS = f"""
    SELECT tenant_id, kind, COALESCE(node_id, {NO_NODE}) AS node_id, COUNT(*), SUM(vcpus), SUM(ram_mb),
        SUM({RAM_GB_SQL}), SUM(size_gb)
    FROM resources WHERE ended_at IS NULL GROUP BY tenant_id, kind, node_id
"""
_STORED_COST_TOTALS = (
    f"SELECT {_COST_COLUMNS} FROM totals WHERE (items, vcpus, ram_mb, ram_gb, size_gb) <> (0, 0, 0, 0, 0)"
)

_RECOUNT_COST_TOTALS = text(f"INSERT INTO totals ({_COST_COLUMNS}) {_ACTUAL_COST_TOTALS}")
_INCORRECT_COST_TOTALS = text(f"""
    SELECT tenant_id, kind, node_id FROM ({_STORED_COST_TOTALS} EXCEPT {_ACTUAL_COST_TOTALS}) AS needless
    UNION
    SELECT tenant_id, kind, node_id FROM ({_ACTUAL_COST_TOTALS} EXCEPT {_STORED_COST_TOTALS}) AS missing
    ORDER BY tenant_id, kind, node_id
""")


def add_cost_totals(connection: Connection, sums: Mapping[CostKey, Amounts]) -> None:
    rows = (
        {"tenant_id": tenant_id, "kind": kind, "node_id": node_id or NO_NODE, **amounts._asdict()}
        for (tenant_id, kind, node_id), amounts in sums.items()
    )
    insert_rows(connection, totals, rows, _ADD_COST_TOTALS)


def recount_cost_totals(connection: Connection) -> None:
    connection.execute(text("DELETE FROM totals"))
    connection.execute(_RECOUNT_COST_TOTALS)


def incorrect_cost_totals(connection: Connection) -> list[tuple[int, str, int]]:
    """Return tenant, kind and node of every wrong total."""
    return [(tenant_id, kind, node_id) for tenant_id, kind, node_id in connection.execute(_INCORRECT_COST_TOTALS)]


_AMOUNT_COLUMNS: Final = {"items": "1", "vcpus": "vcpus", "ram_mb": "ram_mb", "size_gb": "size_gb"}
"""SQL for each amount of one row of `resources`."""


def _sum(use: QuotaUse) -> str:
    kinds = ", ".join(f"'{kind}'" for kind in use.kinds)
    return f"SUM(CASE WHEN ended_at IS NULL AND kind IN ({kinds}) THEN {_AMOUNT_COLUMNS[use.amount]} ELSE 0 END)"


_QUOTAS: Final = ", ".join(QUOTA_USES)
_ADD_QUOTA_USAGE: Final = f"""
    ON CONFLICT (tenant_id) DO UPDATE SET
        {", ".join(f"{quota} = usage.{quota} + excluded.{quota}" for quota in QUOTA_USES)},
        settled_at = CASE WHEN excluded.settled_at > usage.settled_at
            THEN excluded.settled_at ELSE usage.settled_at END
"""
_ACTUAL_QUOTA_USAGE: Final = f"""
    SELECT tenant_id, {", ".join(f"{_sum(use)} AS {quota}" for quota, use in QUOTA_USES.items())},
        MAX(COALESCE(ended_at, started_at)) AS settled_at
    FROM resources GROUP BY tenant_id
"""
_RECOUNT_QUOTA_USAGE: Final = text(f"INSERT INTO usage (tenant_id, {_QUOTAS}, settled_at) {_ACTUAL_QUOTA_USAGE}")

# The stored `settled_at` may be too late: a resource that was to end then may have been removed.
_INCORRECT_QUOTA_USAGE: Final = text(f"""
    SELECT counted.tenant_id FROM ({_ACTUAL_QUOTA_USAGE}) AS counted
    LEFT JOIN usage ON usage.tenant_id = counted.tenant_id
    WHERE usage.tenant_id IS NULL OR usage.settled_at < counted.settled_at
        OR {" OR ".join(f"usage.{quota} <> counted.{quota}" for quota in QUOTA_USES)}
    UNION
    SELECT tenant_id FROM usage WHERE ({" OR ".join(f"{quota} <> 0" for quota in QUOTA_USES)})
        AND NOT EXISTS (SELECT 1 FROM resources WHERE resources.tenant_id = usage.tenant_id)
    ORDER BY tenant_id
""")


def add_quota_usage(connection: Connection, sums: Mapping[CostKey, Amounts], moments: Mapping[int, int]) -> None:
    """Add the quota use of the sums, and the last time at which a resource of each tenant starts or ends."""
    rows = {
        tenant_id: dict.fromkeys(QUOTA_USES, 0) | {"tenant_id": tenant_id, "settled_at": moments.get(tenant_id, 0)}
        for tenant_id in {*moments, *(tenant_id for tenant_id, _, _ in sums)}
    }
    for (tenant_id, kind, _), amounts in sums.items():
        for quota, amount in quota_use(kind, amounts).items():
            rows[tenant_id][quota] += amount
    insert_rows(connection, usage, rows.values(), _ADD_QUOTA_USAGE)


def recount_quota_usage(connection: Connection) -> None:
    connection.execute(text("DELETE FROM usage"))
    connection.execute(_RECOUNT_QUOTA_USAGE)


def incorrect_quota_usage(connection: Connection) -> list[int]:
    """Return the tenants with a wrong quota usage."""
    return list(connection.scalars(_INCORRECT_QUOTA_USAGE))


Resource = Mapping[str, Any]
"""A row of `resources`."""


def amounts_of(resource: Resource) -> Amounts:
    """Return the amounts of one resource, equal to `AMOUNTS_SQL`."""
    ram_mb = resource["ram_mb"]
    return Amounts(1, resource["vcpus"], ram_mb, -(-ram_mb // 1024), resource["size_gb"])


def update_counters(connection: Connection, before: Iterable[Resource], after: Iterable[Resource]) -> None:
    """Update the counters for resources that were replaced by others."""
    sums: dict[CostKey, Amounts] = {}
    moments: dict[int, int] = {}
    for resource in before:
        if resource["ended_at"] is None:
            key = _cost_key(resource)
            sums[key] = sums.get(key, Amounts()).minus(amounts_of(resource))
    for resource in after:
        tenant_id, moment = resource["tenant_id"], resource["ended_at"]
        if moment is None:
            key = _cost_key(resource)
            sums[key] = sums.get(key, Amounts()).plus(amounts_of(resource))
            moment = resource["started_at"]
        moments[tenant_id] = max(moment, moments.get(tenant_id, moment))
    add_cost_totals(connection, sums)
    add_quota_usage(connection, sums, moments)


def recount_all(connection: Connection) -> None:
    """Recompute all counters from the resources, in a few statements."""
    recount_cost_totals(connection)
    recount_quota_usage(connection)


def incorrect_counters(connection: Connection) -> list[str]:
    """Describe each wrong counter; call this in a transaction."""
    wrong_totals, wrong_usage = incorrect_cost_totals(connection), incorrect_quota_usage(connection)
    if not wrong_totals and not wrong_usage:
        return []
    names = {row.id: row.name for row in connection.execute(select(tenants.c.id, tenants.c.name))}
    return [
        *(f"{kind} of tenant {names.get(tenant_id, tenant_id)}" for tenant_id, kind, _ in wrong_totals),
        *(f"quotas of tenant {names.get(tenant_id, tenant_id)}" for tenant_id in wrong_usage),
    ]


def _cost_key(resource: Resource) -> CostKey:
    return resource["tenant_id"], resource["kind"], resource["node_id"]
