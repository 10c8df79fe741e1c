"""The tables. Tenants read those of `CLOUD`; logins and requests write those of `ACTIVITY`.

The embedded store has a file for each, so that a login does not invalidate data of the cloud.
Times are whole seconds since the epoch, UTC; money is whole billionths.
"""

from cloudconsole.store.tables.activity import (
    ACTIVITY,
    NO_ACCOUNT,
    access_audit,
    federated_sessions,
    login_failures,
    observed_resources,
    secrets,
    sessions,
    undeclared_proxies,
)
from cloudconsole.store.tables.cloud import (
    CLOUD,
    NO_NODE,
    accounts,
    billing_entries,
    billing_state,
    domains,
    flavors,
    former_names,
    news,
    nodes,
    operator_audit,
    price_entries,
    prices,
    quotas,
    resources,
    tenants,
    totals,
    urls,
    usage,
)

__all__ = [
    "ACTIVITY",
    "CLOUD",
    "NO_ACCOUNT",
    "NO_NODE",
    "access_audit",
    "accounts",
    "billing_entries",
    "billing_state",
    "domains",
    "federated_sessions",
    "flavors",
    "former_names",
    "login_failures",
    "news",
    "nodes",
    "observed_resources",
    "operator_audit",
    "price_entries",
    "prices",
    "quotas",
    "resources",
    "secrets",
    "sessions",
    "tenants",
    "totals",
    "undeclared_proxies",
    "urls",
    "usage",
]
