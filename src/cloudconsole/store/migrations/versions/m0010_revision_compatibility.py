"""The oldest program version compatible with each revision, for servers that run during a newer migration.

Revision ID: 0010
"""

import sqlalchemy as sa
from alembic import op

from cloudconsole.store.tables.types import TEXT

revision = "0010"
down_revision = "0009"
oldest_compatible = "0010"
"""Earlier programs do not read this table and are ready on their own revision only."""


def upgrade() -> None:
    # In each database, like Alembic's own table.
    op.create_table(
        "schema_revisions",
        sa.Column("revision", TEXT, nullable=False),
        sa.Column("oldest_compatible", TEXT, nullable=False),
        sa.PrimaryKeyConstraint("revision", name=op.f("pk_schema_revisions")),
    )
