"""Quota usage of each tenant, in one row.

Revision ID: 0004
"""

import sqlalchemy as sa
from alembic import op

from cloudconsole.store.migrations import includes_part

revision = "0004"
down_revision = "0003"

_QUOTAS = {
    "instances": "kind = 'instance' THEN 1",
    "cores": "kind = 'instance' THEN vcpus",
    "ram": "kind = 'instance' THEN ram_mb",
    "volumes": "kind = 'volume' THEN 1",
    "snapshots": "kind = 'snapshot' THEN 1",
    "gigabytes": "kind IN ('volume', 'snapshot') THEN size_gb",
    "floating_ips": "kind = 'floating_ip' THEN 1",
    "security_groups": "kind = 'security_group' THEN 1",
    "keypairs": "kind = 'keypair' THEN 1",
}


def upgrade() -> None:
    if not includes_part("cloud"):
        return
    op.create_table(
        "usage",
        sa.Column("tenant_id", sa.Integer(), nullable=False),
        *(sa.Column(quota, sa.BigInteger(), nullable=False) for quota in _QUOTAS),
        sa.Column("settled_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["tenant_id"], ["tenants.id"], name=op.f("fk_usage_tenant_id")),
        sa.PrimaryKeyConstraint("tenant_id", name=op.f("pk_usage")),
    )
    sums = ", ".join(f"SUM(CASE WHEN ended_at IS NULL AND {use} ELSE 0 END)" for use in _QUOTAS.values())
    op.execute(f"""
        INSERT INTO usage (tenant_id, {", ".join(_QUOTAS)}, settled_at)
        SELECT tenant_id, {sums}, MAX(COALESCE(ended_at, started_at)) FROM resources GROUP BY tenant_id
    """)
