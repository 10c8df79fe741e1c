"""What tenants read, and the trail of what operators changed."""

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    ColumnElement,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    Table,
    false,
)

from cloudconsole.core.resources import QUOTA_DEFAULTS, QUOTA_USES
from cloudconsole.store.tables.types import NAMING_CONVENTION, TEXT, bigint_id

CLOUD = MetaData(naming_convention=NAMING_CONVENTION)

NO_NODE = 0
"""`totals.node_id` of resources that are on no node."""


def _disabled() -> Column[bool]:
    return Column("disabled", Boolean, nullable=False, server_default=false())


tenants = Table(
    "tenants",
    CLOUD,
    Column("id", Integer, primary_key=True),
    Column("name", TEXT, nullable=False, unique=True),
    _disabled(),
    # The project of an OpenStack that this tenant is, `ID@ADDRESS` in one form; NULL where it is none.
    Column("project", TEXT),
    # Its guests' sessions, which hang on no account, are live only where they were opened after this moment.
    Column("guests_ended_at", BigInteger, nullable=False, server_default="0"),
    Index("uq_tenants_project", "project", unique=True),
)

accounts = Table(
    "accounts",
    CLOUD,
    Column("id", Integer, primary_key=True),
    Column("tenant_id", ForeignKey("tenants.id"), nullable=False, index=True),
    Column("username", TEXT, nullable=False, unique=True),
    Column("role", TEXT, nullable=False),
    Column("password_hash", TEXT, nullable=False),
    Column("disabled", Boolean, nullable=False),
    # Random, and new whenever the account's sessions must end: a session holds the one it was opened under.
    Column("version", BigInteger, nullable=False),
    CheckConstraint("role IN ('tenant', 'operator')", name="role"),
)

quotas = Table(
    "quotas",
    CLOUD,
    Column("tenant_id", ForeignKey("tenants.id"), primary_key=True),
    *(Column(name, BigInteger, nullable=False) for name in QUOTA_DEFAULTS),
)

nodes = Table(
    "nodes",
    CLOUD,
    Column("id", Integer, primary_key=True),
    Column("name", TEXT, nullable=False, unique=True),
    _disabled(),
)

prices = Table(
    "prices",
    CLOUD,
    Column("id", Integer, primary_key=True),
    Column("kind", TEXT, nullable=False),
    Column("unit", TEXT, nullable=False),
    Column("node_id", ForeignKey("nodes.id"), index=True),
    Column("start", BigInteger, nullable=False),
    Column("billionths", BigInteger, nullable=False),
    # A flavor's name for an instance, a volume type's for a volume; NULL: whatever the type.
    Column("type", TEXT),
    Index("uq_prices_node_type", "kind", "unit", "node_id", "type", "start", unique=True),
)


def _unique_price(name: str, columns: tuple[str, ...], where: ColumnElement[bool]) -> None:
    Index(name, *(prices.c[column] for column in columns), unique=True, sqlite_where=where, postgresql_where=where)


# NULLs are distinct in a unique index, so prices for every node, of every type, or both need indexes of their own.
_every_node, _every_type = prices.c.node_id.is_(None), prices.c.type.is_(None)
_unique_price("uq_prices_type", ("kind", "unit", "type", "start"), _every_node)
_unique_price("uq_prices_node", ("kind", "unit", "node_id", "start"), _every_type)
_unique_price("uq_prices_every_node", ("kind", "unit", "start"), _every_node & _every_type)

resources = Table(
    "resources",
    CLOUD,
    Column("id", TEXT, primary_key=True),
    Column("tenant_id", ForeignKey("tenants.id"), nullable=False),
    Column("kind", TEXT, nullable=False),
    Column("name", TEXT, nullable=False),
    Column("node_id", ForeignKey("nodes.id")),
    Column("vcpus", Integer, nullable=False),
    Column("ram_mb", Integer, nullable=False),
    Column("disk_gb", Integer, nullable=False),
    Column("size_gb", Integer, nullable=False),
    Column("started_at", BigInteger, nullable=False),
    Column("ended_at", BigInteger),
    CheckConstraint("ended_at >= started_at", name="life"),
    Index(None, "tenant_id", "started_at"),
    Index(None, "tenant_id", "ended_at"),
    # For operators who look through them.
    Index(None, "tenant_id", "id", "kind"),
    Index(None, "node_id", "id", "kind"),
    Index(None, "kind", "id"),
    Index(None, "name", "id"),
    Index(None, "ended_at", "id"),
)

totals = Table(
    "totals",
    CLOUD,
    # What a tenant's resources without an end amount to, by kind and node: kept in the transaction of every change.
    Column("tenant_id", ForeignKey("tenants.id"), primary_key=True),
    Column("kind", TEXT, primary_key=True),
    Column("node_id", Integer, primary_key=True, autoincrement=False),
    Column("items", BigInteger, nullable=False),
    Column("vcpus", BigInteger, nullable=False),
    Column("ram_mb", BigInteger, nullable=False),
    Column("ram_gb", BigInteger, nullable=False),
    Column("size_gb", BigInteger, nullable=False),
)

usage = Table(
    "usage",
    CLOUD,
    # What the same resources take from the tenant's quotas: kept likewise.
    Column("tenant_id", ForeignKey("tenants.id"), primary_key=True),
    *(Column(name, BigInteger, nullable=False) for name in QUOTA_USES),
    # No resource of the tenant starts or ends later: from then on, time alone changes nothing.
    Column("settled_at", BigInteger, nullable=False),
)

flavors = Table(
    "flavors",
    CLOUD,
    Column("id", TEXT, primary_key=True),
    Column("name", TEXT, nullable=False, unique=True),
    Column("vcpus", Integer, nullable=False),
    Column("ram_mb", Integer, nullable=False),
    Column("disk_gb", Integer, nullable=False),
    _disabled(),
)

urls = Table(
    "urls",
    CLOUD,
    Column("id", TEXT, primary_key=True),
    # NULL: published to all.
    Column("tenant_id", ForeignKey("tenants.id"), index=True),
    Column("type", TEXT, nullable=False),
    Column("url", TEXT, nullable=False),
    _disabled(),
    CheckConstraint("type IN ('link', 'directory')", name="type"),
)

domains = Table(
    "domains",
    CLOUD,
    Column("id", TEXT, primary_key=True),
    Column("tenant_id", ForeignKey("tenants.id"), nullable=False, index=True),
    Column("name", TEXT, nullable=False),
    Column("comment", TEXT, nullable=False),
    Column("service_areas", TEXT, nullable=False),
    Column("service_type", TEXT, nullable=False),
    Column("enabled", Boolean, nullable=False),
    Column("cname", TEXT, nullable=False),
    Column("status", TEXT, nullable=False),
    # JSON, kept as its text and handed on as it is.
    Column("cache_behaviors", TEXT, nullable=False),
    Column("visit_control_rules", TEXT, nullable=False),
    Column("origin_ips", TEXT, nullable=False),
    Column("adv_origin_configs", TEXT, nullable=False),
    Column("origin_domain_name", TEXT),
    Column("query_string_settings", TEXT),
)

news = Table(
    "news",
    CLOUD,
    Column("id", Integer, primary_key=True),
    Column("published_at", BigInteger, nullable=False, index=True),
    Column("title", TEXT, nullable=False),
    Column("url", TEXT, nullable=False),
    _disabled(),
)

operator_audit = Table(
    "operator_audit",
    CLOUD,
    # In the cloud's part, so that a change and its line are one transaction.
    bigint_id(),
    Column("at", BigInteger, nullable=False, index=True),
    Column("actor", TEXT, nullable=False),
    Column("change", TEXT, nullable=False),
    # The key of what was changed; NULL where it was the whole cloud.
    Column("subject", TEXT),
    # JSON; NULL where there was nothing before, or nothing is left after.
    Column("before", TEXT),
    Column("after", TEXT),
    *(Index(None, column, "id") for column in ("actor", "change", "subject")),
)
