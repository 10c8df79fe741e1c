"""Addresses that send forwarded headers without being configured as proxies.

Revision ID: 0003
"""

import sqlalchemy as sa
from alembic import op

from cloudconsole.store.migrations import includes_part

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    if includes_part("activity"):
        op.create_table(
            "undeclared_proxies",
            sa.Column("address", sa.Text(), nullable=False),
            sa.Column("seen_at", sa.BigInteger(), nullable=False),
            sa.PrimaryKeyConstraint("address", name=op.f("pk_undeclared_proxies")),
        )
