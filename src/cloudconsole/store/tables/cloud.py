"""Tables that tenants read, and the audit log of operators' changes."""

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
"""`totals.node_id` of resources without a node."""


def _disabled() -> Column[bool]:
    return Column("disabled", Boolean, nullable=False, server_default=false())


tenants = Table(
    "tenants",
    CLOUD,
    Column("id", Integer, primary_key=True),
    Column("name", TEXT, nullable=False, unique=True),
    _disabled(),
    # Its OpenStack project as normalised `ID@ADDRESS`, or NULL.
    Column("project", TEXT),
    # Its federated sessions are valid only if opened after this moment.
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
    # Random; a new one ends the account's sessions, which store the version they were opened under.
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
    # The flavor of an instance or the type of a volume; NULL for all types.
    Column("type", TEXT),
    Index("uq_prices_node_type", "kind", "unit", "node_id", "type", "start", unique=True),
)


def _unique_price(name: str, columns: tuple[str, ...], where: ColumnElement[bool]) -> None:
    Index(name, *(prices.c[column] for column in columns), unique=True, sqlite_where=where, postgresql_where=where)


# NULLs are distinct in a unique index, so prices for every node, every type, or both need separate indexes.
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
    # For operators' searches.
    Index(None, "tenant_id", "id", "kind"),
    Index(None, "node_id", "id", "kind"),
    Index(None, "kind", "id"),
    Index(None, "name", "id"),
    Index(None, "ended_at", "id"),
)

totals = Table(
    "totals",
    CLOUD,
    # Sums over a tenant's resources without an end, by kind and node; updated in the transaction of every change.
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
    # Quota usage of the same resources, updated likewise.
    Column("tenant_id", ForeignKey("tenants.id"), primary_key=True),
    *(Column(name, BigInteger, nullable=False) for name in QUOTA_USES),
    # No resource of the tenant starts or ends later, so that time alone changes nothing from then on.
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
    # NULL: published to all tenants.
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
    Column("tenant_id", ForeignKey("tenants.id"), nullable=False),
    Column("name", TEXT, nullable=False),
    Column("comment", TEXT, nullable=False),
    Column("service_areas", TEXT, nullable=False),
    Column("service_type", TEXT, nullable=False),
    Column("enabled", Boolean, nullable=False),
    Column("cname", TEXT, nullable=False),
    Column("status", TEXT, nullable=False),
    # JSON, stored and returned as text.
    Column("cache_behaviors", TEXT, nullable=False),
    Column("visit_control_rules", TEXT, nullable=False),
    Column("origin_ips", TEXT, nullable=False),
    Column("adv_origin_configs", TEXT, nullable=False),
    Column("origin_domain_name", TEXT),
    Column("query_string_settings", TEXT),
    Index("ix_domains_tenant_id_id", "tenant_id", "id"),
)

news = Table(
    "news",
    CLOUD,
    Column("id", Integer, primary_key=True),
    Column("published_at", BigInteger, nullable=False, index=True),
    Column("title", TEXT, nullable=False),
    Column("url", TEXT, nullable=False),
    _disabled(),
    # `en` or `zh`, or NULL for readers of both.
    Column("language", TEXT),
    Column("pinned", Boolean, nullable=False, server_default=false()),
)

operator_audit = Table(
    "operator_audit",
    CLOUD,
    # In the cloud database, so that a change and its entry are one transaction.
    bigint_id(),
    Column("at", BigInteger, nullable=False, index=True),
    Column("actor", TEXT, nullable=False),
    Column("change", TEXT, nullable=False),
    # The key of the changed entity; NULL for the whole cloud.
    Column("subject", TEXT),
    # JSON; NULL if the entity did not exist before or after.
    Column("before", TEXT),
    Column("after", TEXT),
    *(Index(None, column, "id") for column in ("actor", "change", "subject")),
)
