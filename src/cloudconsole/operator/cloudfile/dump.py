"""The whole store as a cloud file: the same store gives the same text, however it came to be."""

import json
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, Final

from sqlalchemy import Engine

from cloudconsole.core.estimate import amount_text
from cloudconsole.core.kinds import PRICED_UNITS, QUOTA_DEFAULTS
from cloudconsole.operator.cloudfile.flow import Plain, flow
from cloudconsole.operator.cloudfile.sync import Row, rows_of
from cloudconsole.store import tables
from cloudconsole.store.engine import reading

_HEADER: Final = """\
# A cloud in a file. `cloudconsole admin load FILE` makes a store equal to it.
# Times are UTC. RAM is in MB, disks and sizes in GB, prices per hour and unit. A quota of -1 is unlimited.
version: 1
"""
_DUMPED: Final = (
    tables.nodes,
    tables.flavors,
    tables.prices,
    tables.news,
    tables.urls,
    tables.tenants,
    tables.quotas,
    tables.accounts,
    tables.domains,
    tables.resources,
)
_KINDS: Final = list(PRICED_UNITS)


def dump(engine: Engine) -> str:
    with reading(engine).begin() as connection:
        store = {table.name: rows_of(connection, table) for table in _DUMPED}
    return _HEADER + "".join(f"{line}\n" for line in _lines(store))


def _lines(store: dict[str, list[Row]]) -> Iterator[str]:
    nodes = {row["id"]: row["name"] for row in store["nodes"]}
    yield from _section("nodes", "", (flow(name) for name in sorted(nodes.values())))
    yield from _section("flavors", "", _items(store["flavors"], _by_number, _flavor))
    prices = [_price(row, nodes) for row in sorted(store["prices"], key=lambda row: _price_order(row, nodes))]
    yield from _section("prices", "", map(flow, prices))
    yield from _section("news", "", _items(store["news"], lambda row: row["id"], _news))
    shared = [row for row in store["urls"] if row["tenant_id"] is None]
    yield from _section("urls", "", _items(shared, lambda row: row["id"], _url))
    tenants = sorted(store["tenants"], key=lambda row: row["name"])
    if tenants:
        yield "tenants:"
    owned = {name: _by_tenant(store[name]) for name in ("quotas", "accounts", "urls", "domains", "resources")}
    for tenant in tenants:
        parts = {name: rows.get(tenant["id"], []) for name, rows in owned.items()}
        yield from _tenant(tenant, parts, nodes)


def _tenant(tenant: Row, parts: dict[str, list[Row]], nodes: dict[int, str]) -> Iterator[str]:
    inner = "    "
    yield f"  - name: {flow(tenant['name'])}"
    for row in parts["quotas"]:
        yield f"{inner}quotas:"
        yield from (f"{inner}  {name}: {row[name]}" for name in QUOTA_DEFAULTS)
    yield from _section("accounts", inner, _items(parts["accounts"], lambda row: row["username"], _account))
    yield from _section("urls", inner, _items(parts["urls"], lambda row: row["id"], _url))
    domains = (_block(_domain(row), f"{inner}    ") for row in sorted(parts["domains"], key=_by_number))
    yield from _section("domains", inner, domains)
    resources = _items(parts["resources"], lambda row: row["id"], lambda row: _resource(row, nodes))
    yield from _section("resources", inner, resources)


def _section(name: str, indent: str, items: Iterable[str]) -> Iterator[str]:
    lines = [f"{indent}  - {item}" for item in items]
    if lines:
        yield f"{indent}{name}:"
        yield from lines


def _items(rows: list[Row], order: Callable[[Row], Any], make: Callable[[Row], Row]) -> Iterator[str]:
    return (flow(make(row)) for row in sorted(rows, key=order))


def _block(item: Row, indent: str) -> str:
    return f"\n{indent}".join(f"{key}: {flow(value)}" for key, value in item.items())


def _by_tenant(rows: list[Row]) -> dict[int, list[Row]]:
    owned: dict[int, list[Row]] = {}
    for row in rows:
        owned.setdefault(row["tenant_id"], []).append(row)
    return owned


def _by_number(row: Row) -> tuple[int, str]:
    return len(row["id"]), row["id"]


def _price_order(row: Row, nodes: dict[int, str]) -> tuple[int, str, str, int]:
    return _KINDS.index(row["kind"]), row["unit"], nodes.get(row["node_id"], ""), row["start"]


def _price(row: Row, nodes: dict[int, str]) -> Row:
    place = {} if row["node_id"] is None else {"node": nodes[row["node_id"]]}
    # As text, which is written in quotes: another reader could take a number for a float.
    price = amount_text(row["billionths"])
    return {"kind": row["kind"], "unit": row["unit"], **place, "price": price, "from": _time(row["start"])}


def _flavor(row: Row) -> Row:
    sizes = {"vcpus": row["vcpus"], "ram": row["ram_mb"], "disk": row["disk_gb"]}
    return {"id": row["id"], "name": row["name"], **sizes}


def _news(row: Row) -> Row:
    return {"id": row["id"], "date": _time(row["published_at"]), "title": row["title"], "url": row["url"]}


def _url(row: Row) -> Row:
    return {"id": row["id"], "type": row["type"], "url": row["url"]}


def _account(row: Row) -> Row:
    disabled = {"disabled": True} if row["disabled"] else {}
    who = {"username": row["username"], "role": row["role"]}
    return {**who, **disabled, "password_hash": row["password_hash"]}


def _domain(row: Row) -> Row:
    return {
        "id": row["id"],
        "name": row["name"],
        "comment": row["comment"],
        "serviceAreas": row["service_areas"],
        "serviceType": row["service_type"],
        "enabled": row["enabled"],
        "cname": row["cname"],
        "status": row["status"],
        "cacheBehaviors": _parsed(row["cache_behaviors"]),
        "visitControlRules": _parsed(row["visit_control_rules"]),
        "originConfig": {
            "originIps": _parsed(row["origin_ips"]),
            "advOriginConfigs": _parsed(row["adv_origin_configs"]),
            "originDomainName": row["origin_domain_name"],
        },
        "queryStringSettings": row["query_string_settings"],
    }


def _parsed(text: str) -> Any:
    return json.loads(text, parse_float=Decimal)


def _resource(row: Row, nodes: dict[int, str]) -> Row:
    place = {} if row["node_id"] is None else {"node": nodes[row["node_id"]]}
    columns = {"vcpus": "vcpus", "ram": "ram_mb", "disk": "disk_gb", "size": "size_gb"}
    sizes = {name: row[column] for name, column in columns.items() if row[column]}
    ended = {} if row["ended_at"] is None else {"ended": _time(row["ended_at"])}
    what = {"id": row["id"], "kind": row["kind"], "name": row["name"]}
    return {**what, **place, **sizes, "started": _time(row["started_at"]), **ended}


def _time(seconds: int) -> Plain:
    return Plain(datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ"))
