"""What operators need for their daily work: disabling things, lists that are quick, and an audit of before and after.

Revision ID: 0002
"""

import sqlalchemy as sa
from alembic import op

from cloudconsole.store.migrations import has_tables
from cloudconsole.store.tables.types import TEXT

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    if not has_tables("cloud"):
        return
    for table in ("tenants", "nodes", "flavors", "urls", "news"):
        op.add_column(table, sa.Column("disabled", sa.Boolean(), nullable=False, server_default=sa.false()))
    op.create_index(op.f("ix_resources_tenant_id_id_kind"), "resources", ["tenant_id", "id", "kind"], unique=False)
    op.create_index(op.f("ix_resources_name_id"), "resources", ["name", "id"], unique=False)
    # Until now all lines were of loads of the whole cloud, and their detail is how much each changed.
    with op.batch_alter_table("operator_audit") as audit:
        audit.add_column(sa.Column("subject", TEXT, nullable=True))
        audit.add_column(sa.Column("before", TEXT, nullable=True))
        audit.alter_column("detail", new_column_name="after", existing_type=TEXT, nullable=True)
