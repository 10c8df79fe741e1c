"""The file's parts as rows of the store."""

from collections.abc import Iterator, Mapping, Set

from cloudconsole.core.resources import QUOTA_DEFAULTS
from cloudconsole.operator import records
from cloudconsole.operator.cloudfile.model import CloudFile
from cloudconsole.operator.nouns.sessions import new_version
from cloudconsole.operator.records import Row
from cloudconsole.store.passwords import hash_password, password_matches

Ids = Mapping[str, int]
"""Ids in the store by name."""


def node_rows(file: CloudFile) -> Iterator[Row]:
    disabled = set(file.disabled_nodes)
    return ({"name": name, "disabled": name in disabled} for name in file.nodes)


def tenant_rows(file: CloudFile) -> Iterator[Row]:
    return map(records.tenant_row, file.tenants)


def quota_rows(file: CloudFile, tenants: Ids) -> Iterator[Row]:
    for tenant in file.tenants:
        yield {"tenant_id": tenants[tenant.name], **QUOTA_DEFAULTS, **tenant.quotas}


def price_rows(file: CloudFile, nodes: Ids) -> Iterator[Row]:
    for price in file.prices:
        yield records.price_row(price, None if price.node is None else nodes[price.node])


def flavor_rows(file: CloudFile) -> Iterator[Row]:
    return map(records.flavor_row, file.flavors)


def news_rows(file: CloudFile) -> Iterator[Row]:
    return map(records.news_row, file.news)


def url_rows(file: CloudFile, tenants: Ids) -> Iterator[Row]:
    places = [(None, file.urls), *((tenants[tenant.name], tenant.urls) for tenant in file.tenants)]
    for tenant_id, urls in places:
        for url in urls:
            yield records.url_row(url, tenant_id)


def resource_rows(file: CloudFile, tenants: Ids, nodes: Ids) -> Iterator[Row]:
    for tenant in file.tenants:
        for resource in tenant.resources:
            node_id = None if resource.node is None else nodes[resource.node]
            yield records.resource_row(resource, tenants[tenant.name], node_id)


def domain_rows(file: CloudFile, tenants: Ids) -> Iterator[Row]:
    for tenant in file.tenants:
        for domain in tenant.domains:
            yield records.domain_row(domain, tenants[tenant.name])


def account_rows(
    file: CloudFile,
    tenants: Ids,
    hashes: Mapping[str, str],
    current: Mapping[str, Row],
    shut_out: Set[str],
) -> Iterator[Row]:
    """Accounts keep the version their sessions hold, unless something changed that must end those.

    Those of the tenants that are shut out by this file lose their sessions, too.
    """
    for tenant in file.tenants:
        for account in tenant.accounts:
            before = current.get(account.username, {})
            row = {
                "username": account.username,
                "tenant_id": tenants[tenant.name],
                "role": account.role,
                "disabled": account.disabled,
                "password_hash": account.password_hash or hashes[account.username],
            }
            may_stay = before | row == before and tenant.name not in shut_out
            yield {**row, "version": before["version"] if may_stay else new_version()}


def hash_passwords(passwords: Mapping[str, str], current: Mapping[str, str]) -> dict[str, str]:
    """The hash of each user's password: the current one where it fits, so that nothing changes that need not."""
    return {
        username: current[username]
        if username in current and password_matches(current[username], password)
        else hash_password(password)
        for username, password in passwords.items()
    }
