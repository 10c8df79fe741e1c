"""Initial schema.

Revision ID: 0001
"""

import sqlalchemy as sa
from alembic import op

from cloudconsole.store.migrations import includes_part
from cloudconsole.store.tables.types import TEXT

revision = "0001"
down_revision = None


def upgrade() -> None:
    if includes_part("cloud"):
        _create_cloud()
    if includes_part("activity"):
        _create_activity()


def _create_cloud() -> None:
    op.create_table(
        "flavors",
        sa.Column("id", TEXT, nullable=False),
        sa.Column("name", TEXT, nullable=False),
        sa.Column("vcpus", sa.Integer(), nullable=False),
        sa.Column("ram_mb", sa.Integer(), nullable=False),
        sa.Column("disk_gb", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_flavors")),
        sa.UniqueConstraint("name", name=op.f("uq_flavors_name")),
    )
    op.create_table(
        "news",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("published_at", sa.BigInteger(), nullable=False),
        sa.Column("title", TEXT, nullable=False),
        sa.Column("url", TEXT, nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_news")),
    )
    op.create_index(op.f("ix_news_published_at"), "news", ["published_at"], unique=False)
    op.create_table(
        "nodes",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("name", TEXT, nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_nodes")),
        sa.UniqueConstraint("name", name=op.f("uq_nodes_name")),
    )
    op.create_table(
        "operator_audit",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("actor", TEXT, nullable=False),
        sa.Column("change", TEXT, nullable=False),
        sa.Column("detail", TEXT, nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_operator_audit")),
    )
    op.create_index(op.f("ix_operator_audit_at"), "operator_audit", ["at"], unique=False)
    op.create_table(
        "tenants",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("name", TEXT, nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_tenants")),
        sa.UniqueConstraint("name", name=op.f("uq_tenants_name")),
    )
    op.create_table(
        "accounts",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("tenant_id", sa.Integer(), nullable=False),
        sa.Column("username", TEXT, nullable=False),
        sa.Column("role", TEXT, nullable=False),
        sa.Column("password_hash", TEXT, nullable=False),
        sa.Column("disabled", sa.Boolean(), nullable=False),
        sa.Column("version", sa.BigInteger(), nullable=False),
        sa.CheckConstraint("role IN ('tenant', 'operator')", name=op.f("ck_accounts_role")),
        sa.ForeignKeyConstraint(["tenant_id"], ["tenants.id"], name=op.f("fk_accounts_tenant_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_accounts")),
        sa.UniqueConstraint("username", name=op.f("uq_accounts_username")),
    )
    op.create_index(op.f("ix_accounts_tenant_id"), "accounts", ["tenant_id"], unique=False)
    op.create_table(
        "domains",
        sa.Column("id", TEXT, nullable=False),
        sa.Column("tenant_id", sa.Integer(), nullable=False),
        sa.Column("name", TEXT, nullable=False),
        sa.Column("comment", TEXT, nullable=False),
        sa.Column("service_areas", TEXT, nullable=False),
        sa.Column("service_type", TEXT, nullable=False),
        sa.Column("enabled", sa.Boolean(), nullable=False),
        sa.Column("cname", TEXT, nullable=False),
        sa.Column("status", TEXT, nullable=False),
        sa.Column("cache_behaviors", TEXT, nullable=False),
        sa.Column("visit_control_rules", TEXT, nullable=False),
        sa.Column("origin_ips", TEXT, nullable=False),
        sa.Column("adv_origin_configs", TEXT, nullable=False),
        sa.Column("origin_domain_name", TEXT, nullable=True),
        sa.Column("query_string_settings", TEXT, nullable=True),
        sa.ForeignKeyConstraint(["tenant_id"], ["tenants.id"], name=op.f("fk_domains_tenant_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_domains")),
    )
    op.create_index(op.f("ix_domains_tenant_id"), "domains", ["tenant_id"], unique=False)
    op.create_table(
        "prices",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("kind", TEXT, nullable=False),
        sa.Column("unit", TEXT, nullable=False),
        sa.Column("node_id", sa.Integer(), nullable=True),
        sa.Column("start", sa.BigInteger(), nullable=False),
        sa.Column("billionths", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["node_id"], ["nodes.id"], name=op.f("fk_prices_node_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_prices")),
    )
    op.create_index(op.f("ix_prices_node_id"), "prices", ["node_id"], unique=False)
    op.create_index(
        "uq_prices_every_node",
        "prices",
        ["kind", "unit", "start"],
        unique=True,
        sqlite_where=sa.text("node_id IS NULL"),
        postgresql_where=sa.text("node_id IS NULL"),
    )
    op.create_index("uq_prices_node", "prices", ["kind", "unit", "node_id", "start"], unique=True)
    op.create_table(
        "quotas",
        sa.Column("tenant_id", sa.Integer(), nullable=False),
        sa.Column("instances", sa.BigInteger(), nullable=False),
        sa.Column("cores", sa.BigInteger(), nullable=False),
        sa.Column("ram", sa.BigInteger(), nullable=False),
        sa.Column("volumes", sa.BigInteger(), nullable=False),
        sa.Column("gigabytes", sa.BigInteger(), nullable=False),
        sa.Column("snapshots", sa.BigInteger(), nullable=False),
        sa.Column("floating_ips", sa.BigInteger(), nullable=False),
        sa.Column("security_groups", sa.BigInteger(), nullable=False),
        sa.Column("security_group_rules", sa.BigInteger(), nullable=False),
        sa.Column("keypairs", sa.BigInteger(), nullable=False),
        sa.Column("personality", sa.BigInteger(), nullable=False),
        sa.Column("personality_size", sa.BigInteger(), nullable=False),
        sa.Column("image_meta", sa.BigInteger(), nullable=False),
        sa.Column("server_meta", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["tenant_id"], ["tenants.id"], name=op.f("fk_quotas_tenant_id")),
        sa.PrimaryKeyConstraint("tenant_id", name=op.f("pk_quotas")),
    )
    op.create_table(
        "resources",
        sa.Column("id", TEXT, nullable=False),
        sa.Column("tenant_id", sa.Integer(), nullable=False),
        sa.Column("kind", TEXT, nullable=False),
        sa.Column("name", TEXT, nullable=False),
        sa.Column("node_id", sa.Integer(), nullable=True),
        sa.Column("vcpus", sa.Integer(), nullable=False),
        sa.Column("ram_mb", sa.Integer(), nullable=False),
        sa.Column("disk_gb", sa.Integer(), nullable=False),
        sa.Column("size_gb", sa.Integer(), nullable=False),
        sa.Column("started_at", sa.BigInteger(), nullable=False),
        sa.Column("ended_at", sa.BigInteger(), nullable=True),
        sa.CheckConstraint("ended_at >= started_at", name=op.f("ck_resources_life")),
        sa.ForeignKeyConstraint(["node_id"], ["nodes.id"], name=op.f("fk_resources_node_id")),
        sa.ForeignKeyConstraint(["tenant_id"], ["tenants.id"], name=op.f("fk_resources_tenant_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_resources")),
    )
    op.create_index(op.f("ix_resources_node_id"), "resources", ["node_id"], unique=False)
    op.create_index(op.f("ix_resources_tenant_id_ended_at"), "resources", ["tenant_id", "ended_at"], unique=False)
    op.create_index(op.f("ix_resources_tenant_id_started_at"), "resources", ["tenant_id", "started_at"], unique=False)
    op.create_table(
        "totals",
        sa.Column("tenant_id", sa.Integer(), nullable=False),
        sa.Column("kind", TEXT, nullable=False),
        sa.Column("node_id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("items", sa.BigInteger(), nullable=False),
        sa.Column("vcpus", sa.BigInteger(), nullable=False),
        sa.Column("ram_mb", sa.BigInteger(), nullable=False),
        sa.Column("ram_gb", sa.BigInteger(), nullable=False),
        sa.Column("size_gb", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["tenant_id"], ["tenants.id"], name=op.f("fk_totals_tenant_id")),
        sa.PrimaryKeyConstraint("tenant_id", "kind", "node_id", name=op.f("pk_totals")),
    )
    op.create_table(
        "urls",
        sa.Column("id", TEXT, nullable=False),
        sa.Column("tenant_id", sa.Integer(), nullable=True),
        sa.Column("type", TEXT, nullable=False),
        sa.Column("url", TEXT, nullable=False),
        sa.CheckConstraint("type IN ('link', 'directory')", name=op.f("ck_urls_type")),
        sa.ForeignKeyConstraint(["tenant_id"], ["tenants.id"], name=op.f("fk_urls_tenant_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_urls")),
    )
    op.create_index(op.f("ix_urls_tenant_id"), "urls", ["tenant_id"], unique=False)


def _create_activity() -> None:
    op.create_table(
        "access_audit",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("event", TEXT, nullable=False),
        sa.Column("username", TEXT, nullable=True),
        sa.Column("address", TEXT, nullable=False),
        sa.Column("request_id", TEXT, nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_access_audit")),
    )
    op.create_index(op.f("ix_access_audit_at"), "access_audit", ["at"], unique=False)
    op.create_table(
        "login_failures",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("network", TEXT, nullable=False),
        sa.Column("user_hash", sa.LargeBinary(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_login_failures")),
    )
    op.create_index(
        op.f("ix_login_failures_network_user_hash_at"),
        "login_failures",
        ["network", "user_hash", "at"],
        unique=False,
    )
    op.create_index(op.f("ix_login_failures_at"), "login_failures", ["at"], unique=False)
    op.create_table(
        "secrets",
        sa.Column("name", TEXT, nullable=False),
        sa.Column("value", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_secrets")),
    )
    op.create_table(
        "sessions",
        sa.Column("id_hash", sa.LargeBinary(), nullable=False),
        sa.Column("account_id", sa.Integer(), nullable=False),
        sa.Column("account_version", sa.BigInteger(), nullable=False),
        sa.Column("csrf_seed", TEXT, nullable=False),
        sa.Column("seen_at", sa.BigInteger(), nullable=False),
        sa.Column("expires_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id_hash", name=op.f("pk_sessions")),
    )
    op.create_index(op.f("ix_sessions_account_id"), "sessions", ["account_id"], unique=False)
    op.create_index(op.f("ix_sessions_expires_at"), "sessions", ["expires_at"], unique=False)
