"""The record of what has run and of all prices. What runs now counts from this migration on; before it is unknown.

Revision ID: 0012
"""

import time

import sqlalchemy as sa
from alembic import op

from cloudconsole.store.migrations import includes_part
from cloudconsole.store.tables.types import TEXT

revision = "0012"
down_revision = "0011"
oldest_compatible = "0012"
"""Earlier programs would not record changes."""

_RAM_GB = "ram_mb / 1024 + (ram_mb % 1024 + 1023) / 1024"
_BILLABLE = "('instance', 'image', 'loadbalance', 'volume')"
_STARTS = f"""
    INSERT INTO billing_entries (tenant_id, resource_id, name, event, at, counts_from, correction, recorded_at, is_end,
        skips_hour, kind, node_id, type, items, vcpus, ram_gb, size_gb)
    SELECT tenant_id, id, name, 'start', started_at, CASE WHEN started_at > :now THEN started_at ELSE :now END, '0',
        :now, 0, 0, kind, node_id, NULL, 1, vcpus, {_RAM_GB}, size_gb
    FROM resources WHERE kind IN {_BILLABLE} AND (ended_at IS NULL OR ended_at > :now)
"""
_ENDS = f"""
    INSERT INTO billing_entries (tenant_id, resource_id, name, event, at, counts_from, correction, recorded_at, is_end,
        skips_hour, kind, node_id, type, items, vcpus, ram_gb, size_gb)
    SELECT tenant_id, id, name, 'end', ended_at, ended_at, '0', :now, 1, 1, kind, node_id, NULL, -1, -vcpus,
        -({_RAM_GB}), -size_gb
    FROM resources WHERE kind IN {_BILLABLE} AND ended_at > :now
"""
_PRICES = """
    INSERT INTO price_entries (kind, unit, node_id, type, start, billionths, known_from)
    SELECT kind, unit, node_id, type, start, billionths, 0 FROM prices ORDER BY id
"""


def upgrade() -> None:
    if not includes_part("cloud"):
        return
    op.create_table(
        "billing_entries",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("tenant_id", sa.Integer(), nullable=False),
        sa.Column("resource_id", TEXT, nullable=False),
        sa.Column("name", TEXT, nullable=False),
        sa.Column("event", TEXT, nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("counts_from", sa.BigInteger(), nullable=False),
        sa.Column("correction", TEXT, nullable=False),
        sa.Column("recorded_at", sa.BigInteger(), nullable=False),
        sa.Column("is_end", sa.Integer(), nullable=False),
        sa.Column("skips_hour", sa.Integer(), nullable=False),
        sa.Column("kind", TEXT, nullable=False),
        sa.Column("node_id", sa.Integer(), nullable=True),
        sa.Column("type", TEXT, nullable=True),
        *(sa.Column(name, sa.BigInteger(), nullable=False) for name in ("items", "vcpus", "ram_gb", "size_gb")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_billing_entries")),
    )
    op.create_index(
        op.f("ix_billing_entries_tenant_id_counts_from"), "billing_entries", ["tenant_id", "counts_from"], unique=False
    )
    op.create_index(
        "ix_billing_entries_resources",
        "billing_entries",
        ["tenant_id", "resource_id", "kind", "node_id", "items", "counts_from", "skips_hour"],
        unique=False,
    )
    removals = sa.text("event = 'remove'")
    op.create_index(
        "ix_billing_entries_removals",
        "billing_entries",
        ["resource_id"],
        unique=False,
        sqlite_where=removals,
        postgresql_where=removals,
    )
    corrections = sa.text("correction != '0'")
    op.create_index(
        "ix_billing_entries_corrections",
        "billing_entries",
        ["tenant_id", "counts_from"],
        unique=False,
        sqlite_where=corrections,
        postgresql_where=corrections,
    )
    op.create_table(
        "price_entries",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("kind", TEXT, nullable=False),
        sa.Column("unit", TEXT, nullable=False),
        sa.Column("node_id", sa.Integer(), nullable=True),
        sa.Column("type", TEXT, nullable=True),
        sa.Column("start", sa.BigInteger(), nullable=False),
        sa.Column("billionths", sa.BigInteger(), nullable=False),
        sa.Column("until", sa.BigInteger(), nullable=True),
        sa.Column("known_from", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_price_entries")),
    )
    op.create_table(
        "billing_state",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("complete_since", sa.BigInteger(), nullable=False),
        sa.Column("recording_since", sa.BigInteger(), nullable=False),
        sa.Column("time_zone", TEXT, nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_billing_state")),
    )
    op.create_table(
        "billing_closings",
        sa.Column("until", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("time_zone", TEXT, nullable=False),
        sa.PrimaryKeyConstraint("until", name=op.f("pk_billing_closings")),
    )
    amounts = [f"{name}{suffix}" for suffix in ("", "_delay") for name in ("items", "vcpus", "ram_gb", "size_gb")]
    op.create_table(
        "monthly_sums",
        sa.Column("tenant_id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("start", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("kind", TEXT, nullable=False),
        sa.Column("node_id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("type", TEXT, nullable=False),
        *(sa.Column(name, sa.BigInteger(), nullable=False) for name in amounts),
        sa.PrimaryKeyConstraint("tenant_id", "start", "kind", "node_id", "type", name=op.f("pk_monthly_sums")),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "record_names",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("thing", TEXT, nullable=False),
        sa.Column("name", TEXT, nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_record_names")),
    )
    op.create_index(op.f("ix_record_names_thing_name"), "record_names", ["thing", "name"], unique=False)
    op.create_table(
        "reading_periods",
        sa.Column("project_id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("start", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("last_reading", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("project_id", "start", name=op.f("pk_reading_periods")),
    )
    op.create_table(
        "project_resources",
        sa.Column("project_id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("region", TEXT, nullable=False),
        sa.Column("kind", TEXT, nullable=False),
        sa.Column("resource_id", TEXT, nullable=False),
        sa.Column("node_id", sa.Integer(), nullable=False),
        sa.Column("type", TEXT, nullable=True),
        sa.Column("name", TEXT, nullable=False),
        *(sa.Column(name, sa.BigInteger(), nullable=False) for name in ("items", "vcpus", "ram_gb", "size_gb")),
        sa.Column("ended_at", sa.BigInteger(), nullable=True),
        sa.Column("is_deleted", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("project_id", "region", "kind", "resource_id", name=op.f("pk_project_resources")),
        sqlite_with_rowid=False,
    )
    _fill()


def _fill() -> None:
    connection = op.get_bind()
    if connection.dialect.name == "postgresql":
        # A server that still runs must not change anything between these statements.
        connection.execute(sa.text("LOCK TABLE resources, prices IN SHARE ROW EXCLUSIVE MODE"))
    is_new = connection.scalar(sa.text("SELECT 1 FROM operator_audit LIMIT 1")) is None
    now = int(time.time())
    connection.execute(sa.text(_PRICES))
    connection.execute(sa.text(_STARTS), {"now": now})
    connection.execute(sa.text(_ENDS), {"now": now})
    if not is_new:
        # A new store knows everything, and begins to record with its first change. In this one, the first change sums
        # up the entries, in the time zone of the settings.
        connection.execute(sa.text("INSERT INTO billing_state VALUES (1, :now, :now, '')"), {"now": now})
