"""An index for the paginated list of a tenant's domains.

Revision ID: 0011
"""

from alembic import op

from cloudconsole.store.migrations import includes_part

revision = "0011"
down_revision = "0010"
oldest_compatible = "0010"


def upgrade() -> None:
    if includes_part("cloud"):
        op.create_index(op.f("ix_domains_tenant_id_id"), "domains", ["tenant_id", "id"], unique=False)
        op.drop_index(op.f("ix_domains_tenant_id"), "domains")
