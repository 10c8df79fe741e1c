"""Holding a batch of lines against the store."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from sqlalchemy import Table, select

from cloudconsole.core.resources import PRICED_UNITS
from cloudconsole.operator.bulk.lines import Line, ResourceLine
from cloudconsole.operator.cloudfile.problems import Problem
from cloudconsole.operator.desk import Desk
from cloudconsole.operator.errors import Finding
from cloudconsole.operator.fitting import resource_findings
from cloudconsole.operator.gaps import UNUSABLE
from cloudconsole.operator.nouns.pricing import price_starts
from cloudconsole.operator.nouns.usage import Room, over_quota
from cloudconsole.operator.records import Row, resource_row
from cloudconsole.operator.rules import SIZES, Starts, disabled_refusal, unpriced_problem
from cloudconsole.operator.words import path_text
from cloudconsole.store import tables
from cloudconsole.store.sql import among

_UNKNOWN: Final = -1
_FIELDS: Final = {column: name for name, column in SIZES.items()} | {
    "tenant_id": "tenant",
    "node_id": "node",
    "started_at": "started",
    "ended_at": "ended",
}
"""The fields by the names of their columns, where those differ."""
_TAKING: Final = ("kind", *SIZES.values(), "ended_at")
"""The columns that say what is taken of a quota."""


@dataclass
class Checked:
    """What to do about a batch: rows to add, how many lines are in already, and why lines are refused."""

    rows: dict[str, Row] = field(default_factory=dict)
    passed: int = 0
    problems: list[Problem] = field(default_factory=list)


class _View(NamedTuple):
    """What the store has that these lines speak of."""

    tenants: dict[str, Row]
    nodes: dict[str, Row]
    prices: dict[str, Starts]
    there: dict[str, Row]
    room: Room | None


def check_batch(desk: Desk, lines: list[Line], *, stops: bool = True) -> Checked:
    """Check lines in order; with `stops`, up to the first that is refused."""
    view = _look(desk, lines)
    checked = Checked()
    for number, resource, faults in lines:
        row = _row(view, resource)
        known = view.there.get(resource.id) or checked.rows.get(resource.id)
        if known is not None and known == row and not faults:
            checked.passed += 1
            continue
        findings = [*faults, *_findings(view, resource, row, known)]
        if findings:
            checked.problems += [Problem(number, path_text(path), message) for path, message in findings]
            if stops:
                break
            continue
        checked.rows[resource.id] = row
    return checked


def _look(desk: Desk, lines: list[Line]) -> _View:
    tenants = _named(desk, tables.tenants, {line.resource.tenant for line in lines} - {UNUSABLE})
    ids = {line.resource.id for line in lines} - {UNUSABLE}
    known = among(desk.connection, tables.resources.c.id, ids)
    there = desk.connection.execute(select(tables.resources).where(known)).mappings()
    return _View(
        tenants,
        _named(desk, tables.nodes),
        {kind: price_starts(desk, kind) for kind in PRICED_UNITS},
        {row["id"]: dict(row) for row in there},
        None if desk.force else Room(desk, [tenant["id"] for tenant in tenants.values()]),
    )


def _named(desk: Desk, table: Table, names: set[str] | None = None) -> dict[str, Row]:
    query = select(table) if names is None else select(table).where(among(desk.connection, table.c.name, names))
    return {row["name"]: dict(row) for row in desk.connection.execute(query).mappings()}


def _row(view: _View, resource: ResourceLine) -> Row:
    """The resource as a row, in which an unknown tenant or node is `_UNKNOWN`, and so equal to none that is there."""
    tenant_id, node_id = _id(view.tenants, resource.tenant), None
    if resource.node is not None:
        node_id = _id(view.nodes, resource.node)
    return resource_row(resource, tenant_id, node_id)


def _id(places: dict[str, Row], name: str) -> int:
    return int(places[name]["id"]) if name in places else _UNKNOWN


def _findings(view: _View, resource: ResourceLine, row: Row, known: Row | None) -> Iterator[Finding]:
    for thing, name, column in (("tenant", resource.tenant, "tenant_id"), ("node", resource.node, "node_id")):
        if name is not UNUSABLE and row[column] == _UNKNOWN:
            yield (thing,), f"there is no such {thing}: add it first"
    yield from resource_findings(resource)
    if known is None:
        yield from _findings_of_new(view, resource, row)
    elif different := [_FIELDS.get(name, name) for name in row if _differ(row[name], known[name])]:
        yield ("id",), f"there is a resource {resource.id} already, and it differs in {', '.join(different)}"


def _differ(value: Any, known: Any) -> bool:
    """Whether two values surely do; of one that is faulty there is enough to say already."""
    return value is not UNUSABLE and value not in (known, _UNKNOWN)


def _findings_of_new(view: _View, resource: ResourceLine, row: Row) -> Iterator[Finding]:
    places = (("tenant", view.tenants, resource.tenant), ("node", view.nodes, resource.node))
    for thing, known, name in places:
        if name in known and known[name]["disabled"]:
            yield (thing,), disabled_refusal(thing, name)
    if UNUSABLE not in (row["kind"], row["started_at"]) and row["node_id"] not in (None, _UNKNOWN):
        starts = view.prices.get(resource.kind, {})
        problem = unpriced_problem(resource.kind, row["node_id"], resource.started, starts)
        if problem is not None:
            yield ("started",), problem
    if view.room is not None and row["tenant_id"] != _UNKNOWN and not any(row[name] is UNUSABLE for name in _TAKING):
        over = view.room.take(row)
        if over:
            yield (), f"{over_quota(over)}: raise the quota of {resource.tenant}, or give --force"
