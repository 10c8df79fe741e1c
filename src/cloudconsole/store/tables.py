"""The tables. Those of `CLOUD` are what tenants read; those of `ACTIVITY` are written by logins and calls.

The two parts are two files in the embedded store, so that a login does not look like a change of the cloud.
Times are whole seconds since the epoch, UTC; money is whole billionths.
"""

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    ColumnElement,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    false,
)

from cloudconsole.core.kinds import QUOTA_DEFAULTS, QUOTA_USES
from cloudconsole.store.texts import TEXT

NAMES = {
    "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "ck": "ck_%(table_name)s_%(constraint_name)s",
    "fk": "fk_%(table_name)s_%(column_0_N_name)s",
    "pk": "pk_%(table_name)s",
}

CLOUD = MetaData(naming_convention=NAMES)
ACTIVITY = MetaData(naming_convention=NAMES)


def _disabled() -> Column[bool]:
    return Column("disabled", Boolean, nullable=False, server_default=false())


def _endless_id() -> Column[int]:
    """Of what is written for years: more than 32 bits hold. SQLite's integers have 64 whatever they are called."""
    return Column("id", BigInteger().with_variant(Integer, "sqlite"), primary_key=True)


NO_NODE = 0
"""`totals.node_id` of resources that are on no node."""

NO_ACCOUNT = 0
"""`sessions.account_id` of those that hang on no account of ours."""

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
    _endless_id(),
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

sessions = Table(
    "sessions",
    ACTIVITY,
    Column("id_hash", LargeBinary, primary_key=True),
    Column("account_id", Integer, nullable=False, index=True),
    Column("account_version", BigInteger, nullable=False),
    Column("csrf_seed", TEXT, nullable=False),
    Column("seen_at", BigInteger, nullable=False),
    Column("expires_at", BigInteger, nullable=False, index=True),
)

guest_sessions = Table(
    "guest_sessions",
    ACTIVITY,
    # Of the sessions that an identity endpoint behind us vouches for: they hang on no account (`NO_ACCOUNT`).
    Column("id_hash", ForeignKey("sessions.id_hash", ondelete="CASCADE"), primary_key=True),
    Column("tenant_id", Integer, nullable=False, index=True),
    Column("username", TEXT, nullable=False),
    Column("opened_at", BigInteger, nullable=False),
    Column("endpoint", TEXT, nullable=False),
    Column("user_id", TEXT, nullable=False),
    Column("project_id", TEXT, nullable=False),
    # JSON: for each region the addresses of its services.
    Column("services", TEXT, nullable=False),
    Column("sealed_token", LargeBinary, nullable=False),
)

sightings = Table(
    "sightings",
    ACTIVITY,
    # What was seen in a cloud that lists nothing any more once it is deleted: it still counts in the hour it was seen.
    Column("endpoint", TEXT, primary_key=True),
    Column("project_id", TEXT, primary_key=True),
    Column("region", TEXT, primary_key=True),
    Column("kind", TEXT, primary_key=True),
    Column("resource_id", TEXT, primary_key=True),
    Column("type", TEXT),
    Column("size_gb", BigInteger, nullable=False),
    Column("seen_at", BigInteger, nullable=False, index=True),
)

login_failures = Table(
    "login_failures",
    ACTIVITY,
    _endless_id(),
    Column("network", TEXT, nullable=False),
    Column("user_hash", LargeBinary, nullable=False),
    Column("at", BigInteger, nullable=False, index=True),
    Index(None, "network", "user_hash", "at"),
)

access_audit = Table(
    "access_audit",
    ACTIVITY,
    _endless_id(),
    Column("at", BigInteger, nullable=False, index=True),
    Column("event", TEXT, nullable=False),
    Column("username", TEXT),
    Column("address", TEXT, nullable=False),
    Column("request_id", TEXT, nullable=False),
    *(Index(None, column, "id") for column in ("event", "username")),
)

undeclared_proxies = Table(
    "undeclared_proxies",
    ACTIVITY,
    # Callers that send forwarded headers without being among the proxies, and when one of them last did.
    Column("address", TEXT, primary_key=True),
    Column("seen_at", BigInteger, nullable=False),
)

secrets = Table(
    "secrets",
    ACTIVITY,
    Column("name", TEXT, primary_key=True),
    Column("value", LargeBinary, nullable=False),
)
