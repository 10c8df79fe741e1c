"""Operator work: disabled entities, indexes for lists, and an audit log with values before and after.

Revision ID: 0002
"""

import sqlalchemy as sa
from alembic import op

from cloudconsole.store.migrations import includes_part
from cloudconsole.store.tables.types import TEXT

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    if not includes_part("cloud"):
        return
    for table in ("tenants", "nodes", "flavors", "urls", "news"):
        op.add_column(table, sa.Column("disabled", sa.Boolean(), nullable=False, server_default=sa.false()))
    op.create_index(op.f("ix_resources_tenant_id_id_kind"), "resources", ["tenant_id", "id", "kind"], unique=False)
    op.create_index(op.f("ix_resources_name_id"), "resources", ["name", "id"], unique=False)
    # All existing entries are loads of a whole cloud file; their detail is the number of changes.
    with op.batch_alter_table("operator_audit") as audit:
        audit.add_column(sa.Column("subject", TEXT, nullable=True))
        audit.add_column(sa.Column("before", TEXT, nullable=True))
        audit.alter_column("detail", new_column_name="after", existing_type=TEXT, nullable=True)
