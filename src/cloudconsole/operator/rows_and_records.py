"""Conversion of entities to rows of the store and to records.

A record uses the field names of a cloud file, UTC times and exact decimal prices as text; unset fields are omitted.
"""

import json
from decimal import Decimal
from typing import Any

from cloudconsole.core.clock import format_utc
from cloudconsole.core.pricing import format_amount
from cloudconsole.core.resources import QUOTA_DEFAULTS
from cloudconsole.operator.entity_models import Domain, Flavor, News, Price, Resource, Tenant, UrlEntry
from cloudconsole.operator.resource_and_price_rules import SIZES
from cloudconsole.spec.envelope import encode

Row = dict[str, Any]
Record = dict[str, Any]


def json_text(value: Any) -> str:
    """Encode as JSON, keeping decimals exact."""
    return encode(value).decode()


def parse_json(text: str) -> Any:
    return json.loads(text, parse_float=Decimal)


def _disabled(row: Row) -> Record:
    return {"disabled": True} if row["disabled"] else {}


def tenant_row(tenant: Tenant) -> Row:
    return {"name": tenant.name, "disabled": tenant.disabled, "project": tenant.project}


def tenant_record(row: Row) -> Record:
    project = {} if row["project"] is None else {"project": row["project"]}
    return {"name": row["name"], **project, **_disabled(row)}


def node_record(row: Row) -> Record:
    return {"name": row["name"], **_disabled(row)}


def quota_record(row: Row) -> Record:
    return {name: row[name] for name in QUOTA_DEFAULTS}


def account_record(row: Row) -> Record:
    """Return an account without its password hash."""
    return {"username": row["username"], "role": row["role"], **_disabled(row)}


def flavor_row(flavor: Flavor) -> Row:
    sizes = {"vcpus": flavor.vcpus, "ram_mb": flavor.ram, "disk_gb": flavor.disk}
    return {"id": flavor.id, "name": flavor.name, **sizes, "disabled": flavor.disabled}


def flavor_record(row: Row) -> Record:
    sizes = {"vcpus": row["vcpus"], "ram": row["ram_mb"], "disk": row["disk_gb"]}
    return {"id": row["id"], "name": row["name"], **sizes, **_disabled(row)}


def price_row(price: Price, node_id: int | None) -> Row:
    scope = {"kind": price.kind, "unit": price.unit, "type": price.type, "node_id": node_id}
    return {**scope, "start": price.start, "billionths": price.price}


def price_record(row: Row, node: str | None) -> Record:
    optional = {name: value for name, value in (("type", row["type"]), ("node", node)) if value is not None}
    # As text: other parsers could read a number as a float.
    price = format_amount(row["billionths"])
    return {"kind": row["kind"], "unit": row["unit"], **optional, "price": price, "from": format_utc(row["start"])}


def news_row(news: News) -> Row:
    content = {"title": news.title, "url": news.url, "language": news.language, "pinned": news.pinned}
    return {"id": news.id, "published_at": news.date, **content, "disabled": news.disabled}


def news_record(row: Row) -> Record:
    content = {"title": row["title"], "url": row["url"]}
    language = {} if row["language"] is None else {"language": row["language"]}
    pinned = {"pinned": True} if row["pinned"] else {}
    date = format_utc(row["published_at"])
    return {"id": row["id"], "date": date, **content, **language, **pinned, **_disabled(row)}


def url_row(url: UrlEntry, tenant_id: int | None) -> Row:
    return {"id": url.id, "tenant_id": tenant_id, "type": url.type, "url": url.url, "disabled": url.disabled}


def url_record(row: Row) -> Record:
    return {"id": row["id"], "type": row["type"], "url": row["url"], **_disabled(row)}


def resource_row(resource: Resource, tenant_id: int, node_id: int | None) -> Row:
    sizes = {column: resource.sizes[name] for name, column in SIZES.items()}
    identity = {"id": resource.id, "tenant_id": tenant_id, "kind": resource.kind, "name": resource.name}
    return {**identity, "node_id": node_id, **sizes, "started_at": resource.started, "ended_at": resource.ended}


def resource_record(row: Row, node: str | None) -> Record:
    location = {} if node is None else {"node": node}
    sizes = {name: row[column] for name, column in SIZES.items() if row[column]}
    ended = {} if row["ended_at"] is None else {"ended": format_utc(row["ended_at"])}
    identity = {"id": row["id"], "kind": row["kind"], "name": row["name"]}
    return {**identity, **location, **sizes, "started": format_utc(row["started_at"]), **ended}


def domain_row(domain: Domain, tenant_id: int) -> Row:
    origin = domain.origin_config
    return {
        "id": domain.id,
        "tenant_id": tenant_id,
        "name": domain.name,
        "comment": domain.comment,
        "service_areas": domain.service_areas,
        "service_type": domain.service_type,
        "enabled": domain.enabled,
        "cname": domain.cname,
        "status": domain.status,
        "cache_behaviors": json_text(domain.cache_behaviors),
        "visit_control_rules": json_text(domain.visit_control_rules),
        "origin_ips": json_text(origin.origin_ips),
        "adv_origin_configs": json_text(origin.adv_origin_configs),
        "origin_domain_name": origin.origin_domain_name,
        "query_string_settings": domain.query_string_settings,
    }


def domain_record(row: Row) -> Record:
    return {
        "id": row["id"],
        "name": row["name"],
        "comment": row["comment"],
        "serviceAreas": row["service_areas"],
        "serviceType": row["service_type"],
        "enabled": row["enabled"],
        "cname": row["cname"],
        "status": row["status"],
        "cacheBehaviors": parse_json(row["cache_behaviors"]),
        "visitControlRules": parse_json(row["visit_control_rules"]),
        "originConfig": {
            "originIps": parse_json(row["origin_ips"]),
            "advOriginConfigs": parse_json(row["adv_origin_configs"]),
            "originDomainName": row["origin_domain_name"],
        },
        "queryStringSettings": row["query_string_settings"],
    }
