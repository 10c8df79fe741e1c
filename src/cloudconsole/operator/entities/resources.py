"""Resources and nodes."""

from collections.abc import Container, Iterator, Mapping
from datetime import tzinfo
from functools import partial
from typing import Any, ClassVar, Final

from sqlalchemy import ColumnElement, Engine, Select, Table, delete, func, or_, select, union, union_all

from cloudconsole.core.clock import format_utc
from cloudconsole.core.resources import KINDS
from cloudconsole.operator import entity_models, rows_and_records
from cloudconsole.operator.audit import record_change
from cloudconsole.operator.entities.base import ChangeResult, EntityType, Records, Values
from cloudconsole.operator.entities.fields_and_filters import (
    Filter,
    kind_filter,
    name_filters,
    node_filter,
    search_filter,
    tenant_filter,
)
from cloudconsole.operator.entities.pagination import LAST, PageRequest, select_page
from cloudconsole.operator.entities.prices import check_priced
from cloudconsole.operator.entities.references import (
    count_references,
    find_node,
    node_problems,
    reject_if_referenced,
    require_owner,
    with_tenant,
)
from cloudconsole.operator.entity_models import Resource, parse_model, resource_errors
from cloudconsole.operator.errors import FieldError, OperatorError
from cloudconsole.operator.messages import Message
from cloudconsole.operator.quota_check import check_quotas
from cloudconsole.operator.resource_and_price_rules import disabled_error
from cloudconsole.operator.rows_and_records import Record, Row
from cloudconsole.operator.transaction import OperatorTransaction, operator_transaction
from cloudconsole.store import counters, tables
from cloudconsole.store.billing.entries import detach_entries
from cloudconsole.store.billing.resources import record_resources
from cloudconsole.store.billing.verification import incorrect_record, repair_record
from cloudconsole.store.sql import ordered_search, starts_with, unindexed

_MANY_RUNNING: Final = 100_000
"""From here on a scan finds a page of running resources fast; fewer are fast to sort."""


class Resources(EntityType):
    name = "resource"
    label = "resource"
    plural = "resources"
    model = entity_models.Resource
    table = tables.resources
    owner = "the tenant it belongs to"
    fixed = frozenset({"id", "tenant", "kind", "started", "ended"})
    verbs = ("add", "change", "end", "remove", "show", "list")
    generated: ClassVar[Mapping[str, str]] = {"started": "now"}
    overridable = frozenset({"add", "change"})

    def filters(self) -> Mapping[str, Filter]:
        return self._filters_for(())

    def _filters_for(self, names: Container[str]) -> Mapping[str, Filter]:
        # Use only the index of the most selective filter.
        columns = self.table.c
        leading = next((name for name in ("tenant", "node", "kind") if name in names), None)
        tenant, node, kind = (
            column if name == leading else unindexed(column)
            for name, column in {"tenant": columns.tenant_id, "node": columns.node_id, "kind": columns.kind}.items()
        )
        return {
            "search": search_filter("id or name", columns.id, columns.name),
            "tenant": tenant_filter(tenant),
            "kind": kind_filter(kind, "only this kind", KINDS),
            "node": node_filter(node, "only those on this node"),
            "prefix": Filter("only those whose id or name begins with this", self._has_prefix),
            "running": Filter("only running resources", self._is_running, is_switch=True),
        }

    def change(self, tx: OperatorTransaction, key: str, values: Values) -> ChangeResult:
        """Rename, resize or move a resource, from now on."""
        return self._change(tx, "change", self._live(tx, key), values)

    def end(self, tx: OperatorTransaction, key: str, at: str | None = None) -> ChangeResult:
        """End a resource, not before its start; the hour of the end is billed.

        A future end can be changed.
        """
        current = self._live(tx, key)
        row = self._changed_row(tx, self.record_of(current), {"ended": format_utc(tx.now) if at is None else at})
        return self._write(tx, "end", current, row)

    def sortable(self) -> Mapping[str, ColumnElement[Any]]:
        columns = self.table.c
        # Whatever has no index of its own is sorted after a scan of the table: an index of other columns is slower.
        return {
            "kind": columns.kind,
            "name": columns.name,
            "size": unindexed(columns.size_gb),
            "started": unindexed(columns.started_at),
            "ended": func.coalesce(columns.ended_at, LAST),
        }

    def _records(self, tx: OperatorTransaction, filters: Values, page: PageRequest) -> Records:
        """Search a prefix by id and by name separately, since one query would sort all rows."""
        others = dict(filters)
        prefix = others.pop("prefix", None)
        if prefix is None:
            return super()._records(tx, others, page)
        columns = self.table.c
        named = ordered_search(tx.connection, columns.name, partial(starts_with, prefix=prefix))
        searches = [
            self._paged(tx, select(columns.id).where(condition), others, page).subquery()
            for condition in (starts_with(columns.id, prefix), named)
        ]
        either = union(*(select(search.c.id) for search in searches))
        query = select_page(self._query().where(columns.id.in_(either)), page, self._columns_of(page.order), None)
        return [self.record_of(dict(row)) for row in tx.connection.execute(query).mappings()]

    def _has_prefix(self, _tx: OperatorTransaction, prefix: str) -> ColumnElement[bool]:
        columns = self.table.c
        return or_(starts_with(columns.id, prefix), starts_with(columns.name, prefix))

    def _is_running(self, tx: OperatorTransaction, _value: Any) -> ColumnElement[bool]:
        columns = self.table.c
        started, ended = unindexed(columns.started_at), unindexed(columns.ended_at)
        open_ended = columns.ended_at.is_(None)
        if tx.connection.execute(select(columns.id).where(open_ended).offset(_MANY_RUNNING).limit(1)).first() is None:
            # In an old store most resources have ended; the index has the others together.
            few = self.table.alias().c
            ids = (select(few.id).where(condition) for condition in (few.ended_at.is_(None), few.ended_at > tx.now))
            return (started <= tx.now) & columns.id.in_(union_all(*ids))
        return (started <= tx.now) & (ended.is_(None) | (ended > tx.now))

    def _live(self, tx: OperatorTransaction, key: str) -> Row:
        current = self._require(tx, key)
        if current["ended_at"] is not None and current["ended_at"] <= tx.now:
            raise OperatorError(Message("resource {key} has already ended", "资源 {key} 已结束", key=key))
        return current

    def _complete(self, tx: OperatorTransaction, values: Values) -> Values:
        return {"started": format_utc(tx.now), **values}

    def _query(self) -> Select[Any]:
        nodes = tables.nodes
        query = with_tenant(self.table).outerjoin(nodes, nodes.c.id == self.table.c.node_id)
        return query.add_columns(nodes.c.name.label("node"))

    def record_of(self, row: Row) -> Record:
        return {"tenant": row["tenant"], **rows_and_records.resource_record(row, row["node"])}

    def _row(self, tx: OperatorTransaction, values: Values) -> Row:
        def errors(resource: Resource) -> Iterator[FieldError]:
            yield from resource_errors(resource)
            yield from node_problems(tx, resource.node)

        tenant_id, others, owner_errors = require_owner(tx, values)
        resource = parse_model(Resource, others, tx, owner_errors, errors)
        node_id = None if resource.node is None else find_node(tx, resource.node)["id"]
        return rows_and_records.resource_row(resource, tenant_id, node_id)

    def _check(self, tx: OperatorTransaction, before: Row | None, after: Row | None) -> None:
        if after is None:
            return
        if before is None:
            _reject_disabled(tx, tables.tenants, "tenant", after["tenant_id"])
        if after["node_id"] is not None and (before is None or before["node_id"] != after["node_id"]):
            _reject_disabled(tx, tables.nodes, "node", after["node_id"])
        check_priced(tx, after)
        check_quotas(tx, before, after)

    def _follow(self, tx: OperatorTransaction, before: Row | None, after: Row | None) -> None:
        counters.update_counters(tx.connection, *([] if row is None else [row] for row in (before, after)))
        record_resources(tx.connection, [(before, after)], tx.now, tx.zone)


def _reject_disabled(tx: OperatorTransaction, table: Any, thing: str, row_id: int) -> None:
    row = tx.connection.execute(select(table).where(table.c.id == row_id)).mappings().one()
    if row["disabled"]:
        raise OperatorError(disabled_error(thing, row["name"]))


class Nodes(EntityType):
    name = "node"
    label = "node"
    plural = "nodes"
    model = entity_models.Node
    table = tables.nodes
    key = "name"
    users: ClassVar[Mapping[str, tuple[Table, str]]] = {
        "price": (tables.prices, "node_id"),
        "resource": (tables.resources, "node_id"),
    }

    def filters(self) -> Mapping[str, Filter]:
        return name_filters(self.table)

    def record_of(self, row: Row) -> Record:
        return rows_and_records.node_record(row)

    def _row(self, tx: OperatorTransaction, values: Values) -> Row:
        node = parse_model(entity_models.Node, values, tx)
        return {"name": node.name, "disabled": node.disabled}

    def _check(self, tx: OperatorTransaction, before: Row | None, after: Row | None) -> None:
        if after is not None:
            self._reject_duplicate_name(tx, before, after)
        elif before is not None:
            reject_if_referenced("node", before["name"], count_references(tx, self.users, before["id"]))

    def _follow(self, tx: OperatorTransaction, before: Row | None, after: Row | None) -> None:
        if before is not None and after is None:
            # Only zeros are left, and the node's id may be reused.
            tx.connection.execute(delete(tables.totals).where(tables.totals.c.node_id == before["id"]))
            detach_entries(tx.connection, "node", before["id"], before["name"])


def recount(engine: Engine, *, actor: str, now: int, zone: tzinfo) -> int:
    """Recompute all counters if any is wrong, correct the billing record, and return the number of wrong ones."""
    with operator_transaction(engine, actor=actor, now=now, zone=zone) as tx:
        wrong = [*counters.incorrect_counters(tx.connection), *incorrect_record(tx.connection)]
        if wrong:
            counters.recount_all(tx.connection)
            repair_record(tx.connection, now, zone)
            record_change(tx, "recount", "totals", None, {"wrong": len(wrong)})
    return len(wrong)
