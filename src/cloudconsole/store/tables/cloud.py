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
    literal_column,
)

from cloudconsole.core.resources import QUOTA_DEFAULTS, QUOTA_USES
from cloudconsole.store.tables.types import NAMING_CONVENTION, TEXT, bigint_id

CLOUD = MetaData(naming_convention=NAMING_CONVENTION)

NO_NODE = 0
"""`totals.node_id` of resources without a node."""

BILLED_AMOUNTS = ("items", "vcpus", "ram_gb", "size_gb")


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

billing_entries = Table(
    "billing_entries",
    CLOUD,
    # Append-only: what has run, as signed changes. OpenStack projects, and tenants and nodes that were removed, have a
    # negative id (`record_names`).
    bigint_id(),
    Column("tenant_id", Integer, nullable=False),
    Column("resource_id", TEXT, nullable=False),
    Column("name", TEXT, nullable=False),
    Column("event", TEXT, nullable=False),
    # When it happened, and from when on it counts: an entry for a closed month counts from the open one on, and has the
    # cost of the closed hours as correction, in billionths.
    Column("at", BigInteger, nullable=False),
    Column("counts_from", BigInteger, nullable=False),
    Column("correction", TEXT, nullable=False),
    Column("recorded_at", BigInteger, nullable=False),
    # 1 for an end, and if it counts from the hour after `counts_from` on.
    Column("is_end", Integer, nullable=False),
    Column("skips_hour", Integer, nullable=False),
    Column("kind", TEXT, nullable=False),
    Column("node_id", Integer),
    Column("type", TEXT),
    *(Column(name, BigInteger, nullable=False) for name in BILLED_AMOUNTS),
    Index(None, "tenant_id", "counts_from"),
    # All that counting the resources of a tenant needs.
    Index(
        "ix_billing_entries_resources",
        *("tenant_id", "resource_id", "kind", "node_id", "items", "counts_from", "skips_hour"),
    ),
)
is_removal = billing_entries.c.event == literal_column("'remove'")
"""A literal: SQLite uses a partial index only for the same text."""
Index(
    "ix_billing_entries_removals", billing_entries.c.resource_id, sqlite_where=is_removal, postgresql_where=is_removal
)
_has_correction = billing_entries.c.correction != "0"
Index(
    "ix_billing_entries_corrections",
    # Both columns: otherwise SQLite prefers the index above.
    billing_entries.c.tenant_id,
    billing_entries.c.counts_from,
    sqlite_where=_has_correction,
    postgresql_where=_has_correction,
)

price_entries = Table(
    "price_entries",
    CLOUD,
    # Append-only: from when on each price applies, and until when if it was removed. Of entries with the same start the
    # last one counts.
    Column("id", Integer, primary_key=True),
    Column("kind", TEXT, nullable=False),
    Column("unit", TEXT, nullable=False),
    Column("node_id", Integer),
    Column("type", TEXT),
    Column("start", BigInteger, nullable=False),
    Column("billionths", BigInteger, nullable=False),
    Column("until", BigInteger),
    # From when on it is known: months that were closed before do not have it.
    Column("known_from", BigInteger, nullable=False),
)

billing_state = Table(
    "billing_state",
    CLOUD,
    # One row.
    Column("id", Integer, primary_key=True),
    # Hours before are unknown; 0 for a store that has recorded everything.
    Column("complete_since", BigInteger, nullable=False),
    Column("recording_since", BigInteger, nullable=False),
    # Of the open months and their sums.
    Column("time_zone", TEXT, nullable=False),
)

billing_closings = Table(
    "billing_closings",
    CLOUD,
    # Append-only: months that end until then, and after the closing before, were closed in this time zone.
    Column("until", BigInteger, primary_key=True, autoincrement=False),
    Column("time_zone", TEXT, nullable=False),
)

monthly_sums = Table(
    "monthly_sums",
    CLOUD,
    # Sums over the billing entries of a month, or of a part of it in which hours do not shift, so that reports need not
    # read them all: the changes, and the changes times the hours from `start` until they count.
    Column("tenant_id", Integer, primary_key=True, autoincrement=False),
    Column("start", BigInteger, primary_key=True, autoincrement=False),
    Column("kind", TEXT, primary_key=True),
    # 0 and "" for none: no column of a primary key is NULL.
    Column("node_id", Integer, primary_key=True, autoincrement=False),
    Column("type", TEXT, primary_key=True),
    *(Column(f"{name}{suffix}", BigInteger, nullable=False) for suffix in ("", "_delay") for name in BILLED_AMOUNTS),
    sqlite_with_rowid=False,
)

record_names = Table(
    "record_names",
    CLOUD,
    # What the billing entries have a negative id for: a `tenant` or `node` that was removed, a `region` without a node
    # of its name, and a `project` of OpenStack as `ID@ADDRESS`.
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("thing", TEXT, nullable=False),
    Column("name", TEXT, nullable=False),
    Index(None, "thing", "name"),
)

reading_periods = Table(
    "reading_periods",
    CLOUD,
    # Periods in which the resources of an OpenStack project were read in every hour: from the hour of the first reading
    # to the last reading. What ran between the periods is unknown.
    Column("project_id", Integer, primary_key=True, autoincrement=False),
    Column("start", BigInteger, primary_key=True, autoincrement=False),
    Column("last_reading", BigInteger, nullable=False),
)

project_resources = Table(
    "project_resources",
    CLOUD,
    # Resources of OpenStack projects as the billing record has them, which the next reading is compared with; those
    # that have ended lately, too.
    Column("project_id", Integer, primary_key=True, autoincrement=False),
    Column("region", TEXT, primary_key=True),
    Column("kind", TEXT, primary_key=True),
    Column("resource_id", TEXT, primary_key=True),
    Column("node_id", Integer, nullable=False),
    Column("type", TEXT),
    Column("name", TEXT, nullable=False),
    *(Column(name, BigInteger, nullable=False) for name in BILLED_AMOUNTS),
    # The last moment that counts; NULL while it runs.
    Column("ended_at", BigInteger),
    # 1 if the cloud has reported the end.
    Column("is_deleted", Integer, nullable=False),
    sqlite_with_rowid=False,
)
