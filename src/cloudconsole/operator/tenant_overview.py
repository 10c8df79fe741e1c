"""A tenant's accounts, sign-ins, resources, domains and URLs, the first of each."""

from collections.abc import Collection, Iterable
from typing import Final, NamedTuple

from sqlalchemy import Connection, select

from cloudconsole.core.clock import format_utc
from cloudconsole.operator.entities import ACCOUNTS, DOMAINS, RESOURCES, URLS
from cloudconsole.operator.entities.references import find_tenant
from cloudconsole.operator.rows_and_records import Record
from cloudconsole.operator.transaction import OperatorTransaction
from cloudconsole.store.sql import in_values
from cloudconsole.store.tables import access_audit, accounts, tenants
from cloudconsole.store.tables.activity import LOGIN, OPERATOR_LOGIN

MAX_ACCOUNTS: Final = 20
MAX_DOMAINS: Final = 10
MAX_RESOURCES: Final = 10
MAX_URLS: Final = 10
MAX_ACCESSES: Final = 5
_READ_PER_ACCOUNT: Final = 100
"""Newest events among which the last sign-in is searched: there may be a million rejected ones."""


class Listed(NamedTuple):
    records: list[Record]
    has_more: bool


def accounts_of(tx: OperatorTransaction, tenant: str) -> Listed:
    return _first(ACCOUNTS.list(tx, {"tenant": tenant}, limit=MAX_ACCOUNTS + 1), MAX_ACCOUNTS)


def usernames_of(tx: OperatorTransaction, tenant: str) -> tuple[str, ...]:
    query = select(accounts.c.username).where(accounts.c.tenant_id == find_tenant(tx, tenant)["id"])
    return tuple(tx.connection.scalars(query))


def tenants_of_accounts(tx: OperatorTransaction, usernames: Collection[str]) -> dict[str, str]:
    """Return the tenants of those of the usernames that have an account."""
    query = select(accounts.c.username, tenants.c.name).join(tenants, tenants.c.id == accounts.c.tenant_id)
    found = tx.connection.execute(query.where(in_values(tx.connection, accounts.c.username, usernames)))
    return {username: tenant for username, tenant in found}  # noqa: C416 - rows are not pairs to mypy


def domains_of(tx: OperatorTransaction, tenant: str) -> Listed:
    return _first(DOMAINS.list(tx, {"tenant": tenant}, limit=MAX_DOMAINS + 1), MAX_DOMAINS)


def resources_of(tx: OperatorTransaction, tenant: str) -> Listed:
    """Return those that run."""
    running = RESOURCES.list(tx, {"tenant": tenant, "running": True}, limit=MAX_RESOURCES + 1)
    return _first(running, MAX_RESOURCES)


def urls_of(tx: OperatorTransaction, tenant: str) -> Listed:
    return _first(URLS.list(tx, {"tenant": tenant}, limit=MAX_URLS + 1), MAX_URLS)


class Accesses(NamedTuple):
    last_logins: dict[str, str]
    """The time of the last sign-in by username."""
    newest: list[Record]


def accesses_of(connection: Connection, usernames: Iterable[str]) -> Accesses:
    """Return the last sign-ins of accounts; `connection` is to the activity database."""
    columns, last_logins, found = access_audit.c, dict[str, str](), list[Record]()
    for username in usernames:
        query = select(access_audit).where(columns.username == username).order_by(columns.id.desc())
        rows = [dict(row) for row in connection.execute(query.limit(_READ_PER_ACCOUNT)).mappings()]
        logins = [row["at"] for row in rows if row["event"] in (LOGIN, OPERATOR_LOGIN)]
        if logins:
            last_logins[username] = format_utc(logins[0])
        found += rows[:MAX_ACCESSES]
    found.sort(key=lambda row: -row["id"])
    return Accesses(last_logins, [{**row, "at": format_utc(row["at"])} for row in found[:MAX_ACCESSES]])


def _first(records: list[Record], limit: int) -> Listed:
    return Listed(records[:limit], len(records) > limit)
