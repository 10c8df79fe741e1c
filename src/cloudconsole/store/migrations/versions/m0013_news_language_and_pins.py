"""The language of news, and news that is pinned.

Revision ID: 0013
"""

import sqlalchemy as sa
from alembic import op

from cloudconsole.store.migrations import includes_part
from cloudconsole.store.tables.types import TEXT

revision = "0013"
down_revision = "0012"
oldest_compatible = "0012"
"""Earlier programs show the same news, and add some without language and not pinned."""


def upgrade() -> None:
    if includes_part("cloud"):
        op.add_column("news", sa.Column("language", TEXT, nullable=True))
        op.add_column("news", sa.Column("pinned", sa.Boolean(), nullable=False, server_default=sa.false()))
