"""Prices, and the check that resources keep a price."""

import operator
from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from operator import itemgetter
from typing import Any, Final

from sqlalchemy import ColumnElement, Select, and_, func, insert, or_, select

from cloudconsole.core.clock import format_utc
from cloudconsole.core.resources import PRICED_UNITS
from cloudconsole.operator import entity_models, rows_and_records
from cloudconsole.operator.entities.base import ChangeResult, EntityType, Records, Values
from cloudconsole.operator.entities.fields_and_filters import (
    Filter,
    kind_filter,
    node_filter,
    search_filter,
    value_filter,
)
from cloudconsole.operator.entities.pagination import PageRequest
from cloudconsole.operator.entities.references import find_node, node_problems
from cloudconsole.operator.entity_models import Price, parse_model, price_errors
from cloudconsole.operator.errors import FieldError, OperatorError, ValidationError, raise_if_invalid
from cloudconsole.operator.messages import Message, Term
from cloudconsole.operator.price_check import check_past_costs, following_price
from cloudconsole.operator.resource_and_price_rules import Starts, start_on, unpriced_problem
from cloudconsole.operator.rows_and_records import Record, Row
from cloudconsole.operator.transaction import OperatorTransaction
from cloudconsole.operator.unpriced_resources import reject_unpriced_projects
from cloudconsole.store import tables
from cloudconsole.store.billing.prices import record_prices
from cloudconsole.store.tables import nodes, prices, resources


def price_starts(tx: OperatorTransaction, kind: str, *, without: int | None = None) -> dict[int | None, int]:
    """Return the starts of a kind's prices, optionally ignoring one of them."""
    columns = prices.c
    query = select(columns.node_id, func.min(columns.start)).group_by(columns.node_id)
    query = query.where(columns.kind == kind, columns.type.is_(None))
    if without is not None:
        query = query.where(columns.id != without)
    return {row[0]: row[1] for row in tx.connection.execute(query)}


def check_priced(tx: OperatorTransaction, resource: Row) -> None:
    """Reject a billable resource that has no price when it starts."""
    kind = resource["kind"]
    if kind not in PRICED_UNITS:
        return
    problem = unpriced_problem(kind, resource["node_id"], resource["started_at"], price_starts(tx, kind))
    if problem is not None:
        raise OperatorError(problem)


def reject_unpriced(tx: OperatorTransaction, kind: str, current: Starts, changed: Starts) -> None:
    """Reject a change of prices that leaves a resource of the store without a price."""
    unpriced = _unpriced(tx, current, changed)
    if unpriced is None:
        return
    columns = resources.c
    query = select(columns.id, nodes.c.name, columns.started_at).join(nodes, nodes.c.id == columns.node_id)
    query = query.where(columns.kind == kind, unpriced).order_by(columns.id)
    count = tx.connection.scalar(select(func.count()).select_from(query.subquery()))
    first = tx.connection.execute(query.limit(1)).one_or_none()
    if first is not None:
        example = Message(
            "{id} on {node}, started {time}",
            "{id}（节点 {node}，开始于 {time}）",
            id=first.id,
            node=first.name,
            time=format_utc(first.started_at),
        )
        values = {"kind": Term("kind", kind), "example": example, "count": count}
        if count == 1:
            raise OperatorError(
                Message(
                    "the {kind} {example} needs this price: no other applies on its node from its start",
                    "{kind} {example} 需要此价格：自其开始时起，该节点上没有其他适用的价格",
                    **values,
                )
            )
        raise OperatorError(
            Message(
                "{count} resources of kind {kind}, such as {example}, need this price: "
                "no other applies on their nodes from their start",
                "{count} 个{kind}（例如 {example}）需要此价格：自其开始时起，所在节点上没有其他适用的价格",
                **values,
            )
        )


def _unpriced(tx: OperatorTransaction, current: Starts, changed: Starts) -> ColumnElement[bool] | None:
    columns = resources.c
    spans = [
        and_(columns.node_id == node_id, columns.started_at >= now_from, columns.started_at < then_from)
        for node_id in tx.connection.scalars(select(nodes.c.id))
        if (now_from := start_on(current, node_id)) < (then_from := start_on(changed, node_id))
    ]
    return or_(*spans) if spans else None


KEY_FORM: Final = "KIND[:TYPE]/UNIT/FROM[/NODE]"


class Prices(EntityType):
    name = "price"
    label = "price"
    plural = "prices"
    model = entity_models.Price
    table = tables.prices
    verbs = ("add", "change", "remove", "show", "list")
    overridable = frozenset({"add", "change", "remove"})

    def filters(self) -> Mapping[str, Filter]:
        columns = self.table.c
        return {
            "search": search_filter("type or node", columns.type, tables.nodes.c.name),
            "kind": kind_filter(columns.kind, "only this kind", PRICED_UNITS),
            "type": value_filter(columns.type, "only those for this flavor or volume type"),
            "node": node_filter(columns.node_id, "only those for this node"),
        }

    def sort_fields(self) -> tuple[str, ...]:
        return tuple(_ORDERS)

    def key_of(self, record: Record) -> str:
        kind = f"{record['kind']}:{_escaped(record['type'])}" if "type" in record else record["kind"]
        parts = [kind, record["unit"], record["from"], record.get("node")]
        return "/".join(part for part in parts if part is not None)

    def add(self, tx: OperatorTransaction, values: Values) -> ChangeResult:
        row = self._row(tx, values)
        self._check(tx, None, row)
        tx.connection.execute(insert(self.table).values(row))
        self._follow(tx, None, row)
        record = rows_and_records.price_record(row, values.get("node"))
        return self._record_change(tx, "add", self.key_of(record), None, record)

    def after_removal(self, tx: OperatorTransaction, key: str) -> Message | None:
        """Say what applies from now on without this price; None if it is not in force."""
        return following_price(tx, self._require(tx, key))

    def _records(self, tx: OperatorTransaction, filters: Values, page: PageRequest) -> Records:
        # There are at most thousands, and no index has their order: prices for all nodes come before those of a node.
        query = self._matching(tx, self._query(), filters)
        records = [self.record_of(dict(row)) for row in tx.connection.execute(query).mappings()]
        value_of = _ORDERS[page.order.field]

        def position(record: Record) -> Any:
            return value_of(record), _order(record)

        if page.key is not None:
            bound = position(self.show(tx, page.key))
            beyond = operator.lt if page.is_descending else operator.gt
            records = [record for record in records if beyond(position(record), bound)]
        records.sort(key=position, reverse=page.is_descending)
        return records[: page.limit]

    def _query(self) -> Select[Any]:
        nodes = tables.nodes.c
        return select(self.table, nodes.name.label("node")).outerjoin(tables.nodes, nodes.id == self.table.c.node_id)

    def _find(self, tx: OperatorTransaction, key: str) -> Row | None:
        kind_part, unit, start, node, *_ = (*key.split("/", 3), None, None, None, None)
        kind, colon, escaped = (kind_part or "").partition(":")
        try:
            price = parse_model(Price, {"kind": kind, "unit": unit, "from": start, "node": node, "price": "0"}, tx)
        except OperatorError:
            raise OperatorError(
                Message(
                    "{key} is not a price's key: use {form}",
                    "{key} 不是价格的键：格式为 {form}",
                    key=key,
                    form=KEY_FORM,
                )
            ) from None
        columns, node_name = self.table.c, tables.nodes.c.name
        query = self._query().where(columns.kind == price.kind, columns.unit == price.unit)
        query = query.where(columns.start == price.start, node_name.is_not_distinct_from(price.node))
        query = query.where(columns.type.is_not_distinct_from(unescaped(escaped) if colon else None))
        row = tx.connection.execute(query).mappings().one_or_none()
        return None if row is None else dict(row)

    def record_of(self, row: Row) -> Record:
        return rows_and_records.price_record(row, row["node"])

    def _row(self, tx: OperatorTransaction, values: Values) -> Row:
        def errors(price: Price) -> Iterator[FieldError]:
            yield from price_errors(price)
            yield from node_problems(tx, price.node)

        price = parse_model(Price, values, tx, check=errors)
        return rows_and_records.price_row(price, None if price.node is None else find_node(tx, price.node)["id"])

    def _check(self, tx: OperatorTransaction, before: Row | None, after: Row | None) -> None:
        _reject_moved(tx, before, after)
        self._reject_duplicate(tx, before, after)
        if before is not None:
            current = price_starts(tx, before["kind"])
            changed = self._starts_after(tx, before, after)
            reject_unpriced(tx, before["kind"], current, changed)
            reject_unpriced_projects(tx, [(before, after)])
        check_past_costs(tx, before, after)

    def _follow(self, tx: OperatorTransaction, before: Row | None, after: Row | None) -> None:
        record_prices(tx.connection, [(before, after)], tx.now, tx.zone)

    def _reject_duplicate(self, tx: OperatorTransaction, before: Row | None, after: Row | None) -> None:
        if after is None:
            return
        columns, same = self.table.c, ("kind", "unit", "type", "node_id", "start")
        query = select(columns.id).where(*(columns[name].is_not_distinct_from(after[name]) for name in same))
        existing = tx.connection.scalar(query)
        if existing is not None and (before is None or existing != before["id"]):
            problem = Message(
                "a price with this kind, unit, type, node and start already exists",
                "种类、单位、类型、节点和生效时间均相同的价格已存在",
            )
            raise ValidationError([(("from",), problem)])

    def _starts_after(self, tx: OperatorTransaction, before: Row, after: Row | None) -> Starts:
        """Return the starts of the kind's prices after this change or removal."""
        starts = price_starts(tx, before["kind"], without=before["id"])
        if after is not None and after["kind"] == before["kind"] and after["type"] is None:
            starts[after["node_id"]] = min(after["start"], starts.get(after["node_id"], after["start"]))
        return starts


def is_in_force(record: Record, now: int) -> bool:
    """Return whether a price is in force or has been."""
    return bool(record["from"] <= format_utc(now))


def _reject_moved(tx: OperatorTransaction, before: Row | None, after: Row | None) -> None:
    """Reject a change by which the price list would contradict the record of costs, which keeps what has applied."""
    if before is None or after is None or before["start"] > tx.now:
        return
    names = {"kind": "kind", "unit": "unit", "type": "type", "node": "node_id", "from": "start"}
    raise_if_invalid(((field,), _IN_FORCE) for field, column in names.items() if before[column] != after[column])


_IN_FORCE: Final = Message(
    "cannot be changed, because the price has been in force: add a new price instead",
    "价格已生效，不能修改此项，请另行添加新价格",
)


def _order(record: Record) -> tuple[str, ...]:
    return record["kind"], record["unit"], record.get("type", ""), record.get("node", ""), record["from"]


_ORDERS: Final[Mapping[str, Callable[[Record], Any]]] = {
    "kind": itemgetter("kind"),
    "unit": itemgetter("unit"),
    "type": lambda record: record.get("type", ""),
    "node": lambda record: record.get("node", ""),
    "price": lambda record: Decimal(record["price"]),
    "from": itemgetter("from"),
}
"""The values by which prices can be sorted."""


def _escaped(type_name: str) -> str:
    """Escape a type for use in a key, whose parts are separated by slashes."""
    return type_name.replace("%", "%25").replace("/", "%2F")


def unescaped(part: str) -> str:
    return part.replace("%2F", "/").replace("%25", "%")
