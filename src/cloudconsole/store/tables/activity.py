"""Tables written by logins and requests."""

from typing import Final

from sqlalchemy import (
    BigInteger,
    Column,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
)

from cloudconsole.store.tables.types import NAMING_CONVENTION, TEXT, bigint_id

# Events of the access audit log.
LOGIN: Final = "login"
LOGOUT: Final = "logout"
OPERATOR_LOGIN: Final = "operator_login"
OPERATOR_LOGOUT: Final = "operator_logout"
LOGIN_REJECTED: Final = "_refused"
"""Suffix of a login that was rejected."""

ACTIVITY = MetaData(naming_convention=NAMING_CONVENTION)

NO_ACCOUNT = 0
"""`sessions.account_id` of federated sessions."""

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

federated_sessions = Table(
    "guest_sessions",
    ACTIVITY,
    # Sessions authenticated by an external identity provider, without an account (`NO_ACCOUNT`).
    Column("id_hash", ForeignKey("sessions.id_hash", ondelete="CASCADE"), primary_key=True),
    Column("tenant_id", Integer, nullable=False, index=True),
    Column("username", TEXT, nullable=False),
    Column("opened_at", BigInteger, nullable=False),
    Column("endpoint", TEXT, nullable=False),
    Column("user_id", TEXT, nullable=False),
    Column("project_id", TEXT, nullable=False),
    # JSON: the service URLs of each region.
    Column("services", TEXT, nullable=False),
    Column("sealed_token", LargeBinary, nullable=False),
)

observed_resources = Table(
    "sightings",
    ACTIVITY,
    # Resources seen in a cloud that no longer lists deleted ones: they still count in the hour they were seen.
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
    bigint_id(),
    Column("network", TEXT, nullable=False),
    Column("user_hash", LargeBinary, nullable=False),
    Column("at", BigInteger, nullable=False, index=True),
    Index(None, "network", "user_hash", "at"),
)

access_audit = Table(
    "access_audit",
    ACTIVITY,
    bigint_id(),
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
    # Clients that send forwarded headers without being configured as proxies, with the last time.
    Column("address", TEXT, primary_key=True),
    Column("seen_at", BigInteger, nullable=False),
)

secrets = Table(
    "secrets",
    ACTIVITY,
    Column("name", TEXT, primary_key=True),
    Column("value", LargeBinary, nullable=False),
)
