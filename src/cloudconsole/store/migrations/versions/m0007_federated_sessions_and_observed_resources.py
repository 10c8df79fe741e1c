"""Sessions of federated users, and resources observed in their cloud.

Revision ID: 0007
"""

import sqlalchemy as sa
from alembic import op

from cloudconsole.store.migrations import includes_part
from cloudconsole.store.tables.types import TEXT

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    if includes_part("cloud"):
        op.add_column("tenants", sa.Column("guests_ended_at", sa.BigInteger(), server_default="0", nullable=False))
    if includes_part("activity"):
        op.create_table(
            "guest_sessions",
            sa.Column("id_hash", sa.LargeBinary(), nullable=False),
            sa.Column("tenant_id", sa.Integer(), nullable=False),
            sa.Column("username", TEXT, nullable=False),
            sa.Column("opened_at", sa.BigInteger(), nullable=False),
            sa.Column("endpoint", TEXT, nullable=False),
            sa.Column("user_id", TEXT, nullable=False),
            sa.Column("project_id", TEXT, nullable=False),
            sa.Column("services", TEXT, nullable=False),
            sa.Column("sealed_token", sa.LargeBinary(), nullable=False),
            sa.ForeignKeyConstraint(
                ["id_hash"], ["sessions.id_hash"], name=op.f("fk_guest_sessions_id_hash"), ondelete="CASCADE"
            ),
            sa.PrimaryKeyConstraint("id_hash", name=op.f("pk_guest_sessions")),
        )
        op.create_index(op.f("ix_guest_sessions_tenant_id"), "guest_sessions", ["tenant_id"], unique=False)
        op.create_table(
            "sightings",
            sa.Column("endpoint", TEXT, nullable=False),
            sa.Column("project_id", TEXT, nullable=False),
            sa.Column("region", TEXT, nullable=False),
            sa.Column("kind", TEXT, nullable=False),
            sa.Column("resource_id", TEXT, nullable=False),
            sa.Column("type", TEXT, nullable=True),
            sa.Column("size_gb", sa.BigInteger(), nullable=False),
            sa.Column("seen_at", sa.BigInteger(), nullable=False),
            sa.PrimaryKeyConstraint(
                "endpoint", "project_id", "region", "kind", "resource_id", name=op.f("pk_sightings")
            ),
        )
        op.create_index(op.f("ix_sightings_seen_at"), "sightings", ["seen_at"], unique=False)
