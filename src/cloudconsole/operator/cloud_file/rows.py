"""Table rows of a cloud file, with the passwords of its accounts."""

from collections.abc import Iterator, Mapping, Set
from pathlib import Path as FilePath

from cloudconsole.core.resources import QUOTA_DEFAULTS
from cloudconsole.operator import rows_and_records
from cloudconsole.operator.cloud_file.model import CloudFile, items_of_tenants
from cloudconsole.operator.cloud_file.yaml import Document
from cloudconsole.operator.entities.accounts import new_version
from cloudconsole.operator.errors import FileProblem, format_path
from cloudconsole.operator.invalid_placeholder import INVALID
from cloudconsole.operator.password_policy import PasswordPolicy, read_password_file
from cloudconsole.operator.rows_and_records import Row
from cloudconsole.store.passwords import hash_password, password_matches

Ids = Mapping[str, int]
"""Ids in the store by name."""


def node_rows(file: CloudFile) -> Iterator[Row]:
    disabled = set(file.disabled_nodes)
    return ({"name": name, "disabled": name in disabled} for name in file.nodes)


def tenant_rows(file: CloudFile) -> Iterator[Row]:
    return map(rows_and_records.tenant_row, file.tenants)


def quota_rows(file: CloudFile, tenants: Ids) -> Iterator[Row]:
    for tenant in file.tenants:
        yield {"tenant_id": tenants[tenant.name], **QUOTA_DEFAULTS, **tenant.quotas}


def price_rows(file: CloudFile, nodes: Ids) -> Iterator[Row]:
    for price in file.prices:
        yield rows_and_records.price_row(price, None if price.node is None else nodes[price.node])


def flavor_rows(file: CloudFile) -> Iterator[Row]:
    return map(rows_and_records.flavor_row, file.flavors)


def news_rows(file: CloudFile) -> Iterator[Row]:
    return map(rows_and_records.news_row, file.news)


def url_rows(file: CloudFile, tenants: Ids) -> Iterator[Row]:
    owners = [(None, file.urls), *((tenants[tenant.name], tenant.urls) for tenant in file.tenants)]
    for tenant_id, urls in owners:
        for url in urls:
            yield rows_and_records.url_row(url, tenant_id)


def resource_rows(file: CloudFile, tenants: Ids, nodes: Ids) -> Iterator[Row]:
    for tenant in file.tenants:
        for resource in tenant.resources:
            node_id = None if resource.node is None else nodes[resource.node]
            yield rows_and_records.resource_row(resource, tenants[tenant.name], node_id)


def domain_rows(file: CloudFile, tenants: Ids) -> Iterator[Row]:
    for tenant in file.tenants:
        for domain in tenant.domains:
            yield rows_and_records.domain_row(domain, tenants[tenant.name])


def account_rows(
    file: CloudFile,
    tenants: Ids,
    hashes: Mapping[str, str],
    current: Mapping[str, Row],
    newly_disabled: Set[str],
) -> Iterator[Row]:
    """Yield accounts, with a new version where a change must end their sessions.

    Disabling a tenant ends the sessions of its accounts too.
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
            keeps_sessions = before | row == before and tenant.name not in newly_disabled
            yield {**row, "version": before["version"] if keeps_sessions else new_version()}


def hash_passwords(passwords: Mapping[str, str], current: Mapping[str, str]) -> dict[str, str]:
    """Return a hash for each password: the current one if it matches, so that the account does not change."""
    return {
        username: current[username]
        if username in current and password_matches(current[username], password)
        else hash_password(password)
        for username, password in passwords.items()
    }


def read_passwords(
    model: CloudFile, folder: FilePath, document: Document, policy: PasswordPolicy
) -> tuple[dict[str, str], list[FileProblem]]:
    """Return passwords by username and the problems found; paths are relative to `folder`."""
    passwords: dict[str, str] = {}
    problems: list[FileProblem] = []
    for account_path, account in items_of_tenants(model, "accounts"):
        if account.password_file in (None, INVALID):
            continue
        problem: str | None = None
        try:
            password = passwords[account.username] = read_password_file(folder / account.password_file)
            if account.role is not INVALID:
                problem = policy.problem(password, account.role)
        except ValueError as error:
            problem = error.args[0]
        if problem is not None:
            path = (*account_path, "password_file")
            problems.append(FileProblem(document.line_of(path), format_path(path), problem))
    return passwords, problems
