"""Indexes for paginated lists and audit logs, one for each filter.

Revision ID: 0005
"""

from alembic import op

from cloudconsole.store.migrations import includes_part

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    if includes_part("cloud"):
        op.drop_index(op.f("ix_resources_node_id"), "resources")
        op.create_index(op.f("ix_resources_node_id_id_kind"), "resources", ["node_id", "id", "kind"], unique=False)
        op.create_index(op.f("ix_resources_kind_id"), "resources", ["kind", "id"], unique=False)
        op.create_index(op.f("ix_resources_ended_at_id"), "resources", ["ended_at", "id"], unique=False)
        for column in ("actor", "change", "subject"):
            op.create_index(op.f(f"ix_operator_audit_{column}_id"), "operator_audit", [column, "id"], unique=False)
    if includes_part("activity"):
        for column in ("event", "username"):
            op.create_index(op.f(f"ix_access_audit_{column}_id"), "access_audit", [column, "id"], unique=False)
