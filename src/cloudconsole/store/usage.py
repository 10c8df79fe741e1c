"""What each tenant's resources without an end take from its quotas, in the one row that GetUsageLimits reads."""

from collections.abc import Mapping
from typing import Final

from sqlalchemy import Connection, text

from cloudconsole.core.resources import QUOTA_USES, Amounts, QuotaUse, quota_use
from cloudconsole.store.many import insert_rows
from cloudconsole.store.tables import usage
from cloudconsole.store.totals import Place

_AMOUNTS: Final = {"items": "1", "vcpus": "vcpus", "ram_mb": "ram_mb", "size_gb": "size_gb"}
"""What one row of `resources` has of each amount."""


def _sum(use: QuotaUse) -> str:
    kinds = ", ".join(f"'{kind}'" for kind in use.kinds)
    return f"SUM(CASE WHEN ended_at IS NULL AND kind IN ({kinds}) THEN {_AMOUNTS[use.amount]} ELSE 0 END)"


_QUOTAS: Final = ", ".join(QUOTA_USES)
_ADD: Final = f"""
    ON CONFLICT (tenant_id) DO UPDATE SET
        {", ".join(f"{quota} = usage.{quota} + excluded.{quota}" for quota in QUOTA_USES)},
        settled_at = CASE WHEN excluded.settled_at > usage.settled_at
            THEN excluded.settled_at ELSE usage.settled_at END
"""
_COUNTED: Final = f"""
    SELECT tenant_id, {", ".join(f"{_sum(use)} AS {quota}" for quota, use in QUOTA_USES.items())},
        MAX(COALESCE(ended_at, started_at)) AS settled_at
    FROM resources GROUP BY tenant_id
"""
_RECOUNT: Final = text(f"INSERT INTO usage (tenant_id, {_QUOTAS}, settled_at) {_COUNTED}")

# It may be settled before `settled_at`: a resource that was to end later may have been removed.
_WRONG: Final = text(f"""
    SELECT counted.tenant_id FROM ({_COUNTED}) AS counted LEFT JOIN usage ON usage.tenant_id = counted.tenant_id
    WHERE usage.tenant_id IS NULL OR usage.settled_at < counted.settled_at
        OR {" OR ".join(f"usage.{quota} <> counted.{quota}" for quota in QUOTA_USES)}
    UNION
    SELECT tenant_id FROM usage WHERE ({" OR ".join(f"{quota} <> 0" for quota in QUOTA_USES)})
        AND NOT EXISTS (SELECT 1 FROM resources WHERE resources.tenant_id = usage.tenant_id)
    ORDER BY tenant_id
""")


def add(connection: Connection, sums: Mapping[Place, Amounts], moments: Mapping[int, int]) -> None:
    """Add what the sums take from quotas, and the last moment at which each tenant's resources start or end."""
    rows = {
        tenant_id: dict.fromkeys(QUOTA_USES, 0) | {"tenant_id": tenant_id, "settled_at": moments.get(tenant_id, 0)}
        for tenant_id in {*moments, *(tenant_id for tenant_id, _, _ in sums)}
    }
    for (tenant_id, kind, _), amounts in sums.items():
        for quota, amount in quota_use(kind, amounts).items():
            rows[tenant_id][quota] += amount
    insert_rows(connection, usage, rows.values(), _ADD)


def recount(connection: Connection) -> None:
    connection.execute(text("DELETE FROM usage"))
    connection.execute(_RECOUNT)


def wrong(connection: Connection) -> list[int]:
    """The tenants whose use of quotas is not what the resources take."""
    return list(connection.scalars(_WRONG))
