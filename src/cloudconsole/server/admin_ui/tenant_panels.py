"""Panels of a tenant's page: costs, quota usage, accounts, sign-ins, resources, domains and URLs."""

from decimal import Decimal
from typing import NamedTuple

from cloudconsole.core.ports import CloudCredentials, Tenant
from cloudconsole.operator.entities import QUOTAS
from cloudconsole.operator.entities.references import find_tenant
from cloudconsole.operator.login_failures import LoginFailures, login_failures_of
from cloudconsole.operator.quota_check import quota_usage_of
from cloudconsole.operator.rows_and_records import Record
from cloudconsole.operator.tenant_overview import (
    Accesses,
    Listed,
    accesses_of,
    accounts_of,
    domains_of,
    resources_of,
    urls_of,
)
from cloudconsole.operator.transaction import OperatorTransaction
from cloudconsole.server.admin_ui.page_services import PageServices
from cloudconsole.server.admin_ui.quota_usage import QuotaUsage, quota_usages


class TenantCosts(NamedTuple):
    """Exact amounts, or None where they are unknown."""

    is_of_project: bool
    """Of the tenant's OpenStack project, as recorded by readings."""
    month: str = ""
    so_far: str | None = None
    expected: str | None = None
    hourly: str | None = None
    is_complete: bool = True
    lacks_price: bool = False


class TenantPanels(NamedTuple):
    costs: list[TenantCosts]
    quota_usage: list[QuotaUsage]
    accounts: Listed
    accesses: Accesses
    failures: dict[str, LoginFailures]
    """By username, without accounts that have none."""
    resources: Listed
    domains: Listed
    urls: Listed


class _Stored(NamedTuple):
    tenant_id: int
    quota_usage: list[QuotaUsage]
    accounts: Listed
    resources: Listed
    domains: Listed
    urls: Listed


async def read_tenant_panels(context: PageServices, key: str, record: Record) -> TenantPanels:
    stored = await context.executor.read(lambda tx: _read(tx, key))
    usernames = [account["username"] for account in stored.accounts.records]
    accesses, failures = await context.executor.read_activity(
        lambda connection: (
            accesses_of(connection, usernames),
            login_failures_of(connection, usernames, context.executor.now()),
        )
    )
    costs = await _costs(context, Tenant(stored.tenant_id, key), record.get("project"))
    listed = stored.resources, stored.domains, stored.urls
    return TenantPanels(costs, stored.quota_usage, stored.accounts, accesses, failures, *listed)


def _read(tx: OperatorTransaction, key: str) -> _Stored:
    tenant_id = find_tenant(tx, key)["id"]
    limits = QUOTAS.show(tx, key)
    usage = [*quota_usages(limits, quota_usage_of(tx, tenant_id)).values()]
    listed = (each(tx, key) for each in (accounts_of, resources_of, domains_of, urls_of))
    return _Stored(tenant_id, usage, *listed)


async def _costs(context: PageServices, tenant: Tenant, project: str | None) -> list[TenantCosts]:
    own = await _costs_of(context, tenant)
    if project is None:
        return [own]
    project_id, _, address = project.partition("@")
    credentials = CloudCredentials(address, "", project_id, {}, b"")
    of_project = await _costs_of(context, Tenant(tenant.id, tenant.username, credentials))
    has_own = own.lacks_price or any(Decimal(amount) for amount in (own.so_far or "0", own.hourly or "0"))
    return [of_project, own] if has_own else [of_project]


async def _costs_of(context: PageServices, tenant: Tenant) -> TenantCosts:
    is_of_project = tenant.credentials is not None
    current = await context.costs.current(tenant)
    record = current.forecast.record
    return TenantCosts(
        is_of_project,
        record.month,
        record.so_far,
        record.total,
        current.hourly,
        is_complete=record.is_complete,
        lacks_price=current.lacks_price,
    )
