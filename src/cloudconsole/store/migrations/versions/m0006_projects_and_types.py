"""OpenStack support: the project of a tenant, and prices by flavor and volume type.

Revision ID: 0006
"""

import sqlalchemy as sa
from alembic import op

from cloudconsole.store.migrations import includes_part
from cloudconsole.store.tables.types import TEXT

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    if not includes_part("cloud"):
        return
    op.add_column("tenants", sa.Column("project", TEXT, nullable=True))
    op.create_index("uq_tenants_project", "tenants", ["project"], unique=True)
    op.add_column("prices", sa.Column("type", TEXT, nullable=True))
    for name in ("uq_prices_every_node", "uq_prices_node"):
        op.drop_index(name, "prices")
    op.create_index("uq_prices_node_type", "prices", ["kind", "unit", "node_id", "type", "start"], unique=True)
    _create_unique("uq_prices_type", ["kind", "unit", "type", "start"], "node_id IS NULL")
    _create_unique("uq_prices_node", ["kind", "unit", "node_id", "start"], "type IS NULL")
    _create_unique("uq_prices_every_node", ["kind", "unit", "start"], "node_id IS NULL AND type IS NULL")


def _create_unique(name: str, columns: list[str], condition: str) -> None:
    where = sa.text(condition)
    op.create_index(name, "prices", columns, unique=True, sqlite_where=where, postgresql_where=where)
