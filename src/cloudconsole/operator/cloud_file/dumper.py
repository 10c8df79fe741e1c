"""Dump a store as a cloud file; equal stores give equal text."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

from sqlalchemy import Engine

from cloudconsole.core.resources import PRICED_UNITS
from cloudconsole.operator import rows_and_records
from cloudconsole.operator.cloud_file.table_changes import rows_of
from cloudconsole.operator.cloud_file.yaml import Plain, flow
from cloudconsole.operator.rows_and_records import Record, Row
from cloudconsole.store import tables
from cloudconsole.store.base import read_only_engine

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
_TIMES: Final = frozenset(("from", "date", "started", "ended"))
"""Fields written as YAML timestamps, without quotes."""


def dump(engine: Engine) -> str:
    with read_only_engine(engine).begin() as connection:
        store = {table.name: rows_of(connection, table) for table in _DUMPED}
    return _HEADER + "".join(f"{line}\n" for line in _lines(store))


def _lines(store: dict[str, list[Row]]) -> Iterator[str]:
    nodes = {row["id"]: row["name"] for row in store["nodes"]}
    yield from _section("nodes", "", (flow(name) for name in sorted(nodes.values())))
    disabled = sorted(row["name"] for row in store["nodes"] if row["disabled"])
    yield from _section("disabled_nodes", "", map(flow, disabled))
    yield from _section("flavors", "", _items(store["flavors"], _by_number, rows_and_records.flavor_record))
    prices = [_price(row, nodes) for row in sorted(store["prices"], key=lambda row: _price_order(row, nodes))]
    yield from _section("prices", "", map(_line, prices))
    yield from _section("news", "", _items(store["news"], lambda row: row["id"], rows_and_records.news_record))
    shared = [row for row in store["urls"] if row["tenant_id"] is None]
    yield from _section("urls", "", _items(shared, lambda row: row["id"], rows_and_records.url_record))
    tenants = sorted(store["tenants"], key=lambda row: row["name"])
    if tenants:
        yield "tenants:"
    owned = {name: _by_tenant(store[name]) for name in ("quotas", "accounts", "urls", "domains", "resources")}
    for tenant in tenants:
        parts = {name: rows.get(tenant["id"], []) for name, rows in owned.items()}
        yield from _tenant(tenant, parts, nodes)


def _tenant(tenant: Row, parts: dict[str, list[Row]], nodes: dict[int, str]) -> Iterator[str]:
    inner = "    "
    yield f"  - {_block(rows_and_records.tenant_record(tenant), inner)}"
    for row in parts["quotas"]:
        yield f"{inner}quotas:"
        yield from (f"{inner}  {name}: {limit}" for name, limit in rows_and_records.quota_record(row).items())
    yield from _section("accounts", inner, _items(parts["accounts"], lambda row: row["username"], _account))
    yield from _section("urls", inner, _items(parts["urls"], lambda row: row["id"], rows_and_records.url_record))
    domains = (
        _block(rows_and_records.domain_record(row), f"{inner}    ") for row in sorted(parts["domains"], key=_by_number)
    )
    yield from _section("domains", inner, domains)
    resources = _items(parts["resources"], lambda row: row["id"], lambda row: _resource(row, nodes))
    yield from _section("resources", inner, resources)


def _section(name: str, indent: str, items: Iterable[str]) -> Iterator[str]:
    lines = [f"{indent}  - {item}" for item in items]
    if lines:
        yield f"{indent}{name}:"
        yield from lines


def _items(rows: list[Row], order: Callable[[Row], Any], make: Callable[[Row], Record]) -> Iterator[str]:
    return (_line(make(row)) for row in sorted(rows, key=order))


def _block(item: Record, indent: str) -> str:
    return f"\n{indent}".join(f"{key}: {flow(value)}" for key, value in item.items())


def _by_tenant(rows: list[Row]) -> dict[int, list[Row]]:
    owned: dict[int, list[Row]] = {}
    for row in rows:
        owned.setdefault(row["tenant_id"], []).append(row)
    return owned


def _by_number(row: Row) -> tuple[int, str]:
    return len(row["id"]), row["id"]


def _price_order(row: Row, nodes: dict[int, str]) -> tuple[int, str, str, str, int]:
    return _KINDS.index(row["kind"]), row["unit"], row["type"] or "", nodes.get(row["node_id"], ""), row["start"]


def _account(row: Row) -> Record:
    return {**rows_and_records.account_record(row), "password_hash": row["password_hash"]}


def _price(row: Row, nodes: dict[int, str]) -> Record:
    return rows_and_records.price_record(row, nodes.get(row["node_id"]))


def _resource(row: Row, nodes: dict[int, str]) -> Record:
    return rows_and_records.resource_record(row, nodes.get(row["node_id"]))


def _line(record: Record) -> str:
    return flow({name: Plain(value) if name in _TIMES else value for name, value in record.items()})
