"""PostgreSQL: 64-bit ids for the audit logs and login failures, which grow with every login or change.

Revision ID: 0009
"""

from alembic import op

revision = "0009"
down_revision = "0008"

_ENDLESS = ("operator_audit", "login_failures", "access_audit")


def upgrade() -> None:
    # In SQLite, ids always have 64 bits.
    if op.get_bind().dialect.name == "postgresql":
        for table in _ENDLESS:
            op.execute(f"ALTER TABLE {table} ALTER COLUMN id TYPE bigint")
            op.execute(f"ALTER SEQUENCE {table}_id_seq AS bigint")
