"""File model, YAML → model, model → rows."""

from collections.abc import Container, Iterator, Mapping, Set
from datetime import tzinfo
from pathlib import Path as FilePath
from typing import Any, Literal

from pydantic import Field, ValidationError
from pydantic_core import ErrorDetails

from cloudconsole.core.resources import QUOTA_DEFAULTS
from cloudconsole.operator import models, serializers
from cloudconsole.operator.cloud_file.errors import Problem
from cloudconsole.operator.cloud_file.yaml import Document
from cloudconsole.operator.entities.accounts import new_version
from cloudconsole.operator.fields import Items, Name, Quotas, Reference
from cloudconsole.operator.models import Account, Domain, EntityModel, Flavor, News, Price, Resource, UrlEntry
from cloudconsole.operator.parsing import PasswordPolicy, read_password_file
from cloudconsole.operator.serializers import Row
from cloudconsole.operator.validation import (
    INVALID,
    Path,
    error_message,
    error_path,
    format_path,
    validate_with_placeholders,
)
from cloudconsole.store.passwords import hash_password, password_matches


class Tenant(models.Tenant):
    quotas: Quotas = Field(default={})
    accounts: Items[Account] = Field(default=[])
    urls: Items[UrlEntry] = Field(default=[])
    domains: Items[Domain] = Field(default=[])
    resources: Items[Resource] = Field(default=[])


class CloudFile(EntityModel):
    version: Literal[1]
    nodes: Items[Name] = Field(default=[])
    disabled_nodes: Items[Reference] = Field(default=[])
    flavors: Items[Flavor] = Field(default=[])
    prices: Items[Price] = Field(default=[])
    news: Items[News] = Field(default=[])
    urls: Items[UrlEntry] = Field(default=[])
    tenants: Items[Tenant] = Field(default=[])


def read_model(document: Document, zone: tzinfo, kept: Container[str]) -> tuple[CloudFile, list[Problem]]:
    """The file's model and what is wrong; `UNUSABLE` stands in the place of each faulty field or item."""
    context = {"zone": zone, "kept": kept}
    details: list[ErrorDetails] = []
    try:
        model = CloudFile.model_validate(document.data, context=context)
    except ValidationError as error:
        details = error.errors(include_url=False)
    else:
        if not document.faulty:
            return model, []
    problems = [
        Problem(document.line_of(path), format_path(path), error_message(detail))
        for detail in details
        if not _known_as_faulty(path := error_path(detail), document.faulty)
    ]
    data = validate_with_placeholders(document.data, details, document.faulty)
    return CloudFile.model_validate(data, context=context), problems


def items_of(part: Any, section: str, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """The usable items of a part's list, each with its path."""
    items = enumerate(getattr(part, section))
    return (((*path, section, place), item) for place, item in items if item is not INVALID)


def items_of_tenants(model: CloudFile, section: str) -> Iterator[tuple[Path, Any]]:
    for path, tenant in items_of(model, "tenants"):
        yield from items_of(tenant, section, path)


def _known_as_faulty(path: Path, faulty: set[Path]) -> bool:
    return any(path[:length] in faulty for length in range(len(path) + 1))


Ids = Mapping[str, int]
"""Ids in the store by name."""


def node_rows(file: CloudFile) -> Iterator[Row]:
    disabled = set(file.disabled_nodes)
    return ({"name": name, "disabled": name in disabled} for name in file.nodes)


def tenant_rows(file: CloudFile) -> Iterator[Row]:
    return map(serializers.tenant_row, file.tenants)


def quota_rows(file: CloudFile, tenants: Ids) -> Iterator[Row]:
    for tenant in file.tenants:
        yield {"tenant_id": tenants[tenant.name], **QUOTA_DEFAULTS, **tenant.quotas}


def price_rows(file: CloudFile, nodes: Ids) -> Iterator[Row]:
    for price in file.prices:
        yield serializers.price_row(price, None if price.node is None else nodes[price.node])


def flavor_rows(file: CloudFile) -> Iterator[Row]:
    return map(serializers.flavor_row, file.flavors)


def news_rows(file: CloudFile) -> Iterator[Row]:
    return map(serializers.news_row, file.news)


def url_rows(file: CloudFile, tenants: Ids) -> Iterator[Row]:
    places = [(None, file.urls), *((tenants[tenant.name], tenant.urls) for tenant in file.tenants)]
    for tenant_id, urls in places:
        for url in urls:
            yield serializers.url_row(url, tenant_id)


def resource_rows(file: CloudFile, tenants: Ids, nodes: Ids) -> Iterator[Row]:
    for tenant in file.tenants:
        for resource in tenant.resources:
            node_id = None if resource.node is None else nodes[resource.node]
            yield serializers.resource_row(resource, tenants[tenant.name], node_id)


def domain_rows(file: CloudFile, tenants: Ids) -> Iterator[Row]:
    for tenant in file.tenants:
        for domain in tenant.domains:
            yield serializers.domain_row(domain, tenants[tenant.name])


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


def read_passwords(
    model: CloudFile, folder: FilePath, document: Document, policy: PasswordPolicy
) -> tuple[dict[str, str], list[Problem]]:
    """The passwords by username, held to the policy; the files' paths are relative to the folder."""
    passwords: dict[str, str] = {}
    problems: list[Problem] = []
    for account_path, account in items_of_tenants(model, "accounts"):
        if account.password_file in (None, INVALID):
            continue
        problem = None
        try:
            password = passwords[account.username] = read_password_file(folder / account.password_file)
            if account.role is not INVALID:
                problem = policy.problem(password, account.role)
        except ValueError as error:
            problem = str(error)
        if problem is not None:
            path = (*account_path, "password_file")
            problems.append(Problem(document.line_of(path), format_path(path), problem))
    return passwords, problems
