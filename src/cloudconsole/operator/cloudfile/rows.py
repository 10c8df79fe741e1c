"""The file's parts as rows of the store."""

from collections.abc import Iterator, Mapping
from secrets import randbits
from typing import Any

from cloudconsole.core.kinds import QUOTA_DEFAULTS
from cloudconsole.operator.cloudfile.model import CloudFile, Domain
from cloudconsole.operator.cloudfile.sync import Row
from cloudconsole.spec.envelope import encode
from cloudconsole.store.passwords import hash_password, password_matches

Ids = Mapping[str, int]
"""Ids in the store by name."""


def quota_rows(file: CloudFile, tenants: Ids) -> Iterator[Row]:
    for tenant in file.tenants:
        yield {"tenant_id": tenants[tenant.name], **QUOTA_DEFAULTS, **tenant.quotas}


def price_rows(file: CloudFile, nodes: Ids) -> Iterator[Row]:
    for price in file.prices:
        yield {
            "kind": price.kind,
            "unit": price.unit,
            "node_id": None if price.node is None else nodes[price.node],
            "start": price.start,
            "billionths": price.price,
        }


def flavor_rows(file: CloudFile) -> Iterator[Row]:
    for flavor in file.flavors:
        yield {
            "id": flavor.id,
            "name": flavor.name,
            "vcpus": flavor.vcpus,
            "ram_mb": flavor.ram,
            "disk_gb": flavor.disk,
        }


def news_rows(file: CloudFile) -> Iterator[Row]:
    for item in file.news:
        yield {"id": item.id, "published_at": item.date, "title": item.title, "url": item.url}


def url_rows(file: CloudFile, tenants: Ids) -> Iterator[Row]:
    places = [(None, file.urls), *((tenants[tenant.name], tenant.urls) for tenant in file.tenants)]
    for tenant_id, urls in places:
        for url in urls:
            yield {"id": url.id, "tenant_id": tenant_id, "type": url.type, "url": url.url}


def resource_rows(file: CloudFile, tenants: Ids, nodes: Ids) -> Iterator[Row]:
    for tenant in file.tenants:
        for resource in tenant.resources:
            yield {
                "id": resource.id,
                "tenant_id": tenants[tenant.name],
                "kind": resource.kind,
                "name": resource.name,
                "node_id": None if resource.node is None else nodes[resource.node],
                **resource.sizes,
                "started_at": resource.started,
                "ended_at": resource.ended,
            }


def domain_rows(file: CloudFile, tenants: Ids) -> Iterator[Row]:
    for tenant in file.tenants:
        for domain in tenant.domains:
            yield {"tenant_id": tenants[tenant.name], **_domain(domain)}


def _domain(domain: Domain) -> Row:
    origin = domain.origin_config
    return {
        "id": domain.id,
        "name": domain.name,
        "comment": domain.comment,
        "service_areas": domain.service_areas,
        "service_type": domain.service_type,
        "enabled": domain.enabled,
        "cname": domain.cname,
        "status": domain.status,
        "cache_behaviors": _json(domain.cache_behaviors),
        "visit_control_rules": _json(domain.visit_control_rules),
        "origin_ips": _json(origin.origin_ips),
        "adv_origin_configs": _json(origin.adv_origin_configs),
        "origin_domain_name": origin.origin_domain_name,
        "query_string_settings": domain.query_string_settings,
    }


def _json(value: Any) -> str:
    return encode(value).decode()


def account_rows(file: CloudFile, tenants: Ids, hashes: Mapping[str, str], current: Mapping[str, Row]) -> Iterator[Row]:
    """Accounts keep the version their sessions hold, unless something changed that must end those."""
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
            is_unchanged = before | row == before
            yield {**row, "version": before["version"] if is_unchanged else randbits(63)}


def hash_passwords(passwords: Mapping[str, str], current: Mapping[str, str]) -> dict[str, str]:
    """The hash of each user's password: the current one where it fits, so that nothing changes that need not."""
    return {
        username: current[username]
        if username in current and password_matches(current[username], password)
        else hash_password(password)
        for username, password in passwords.items()
    }
