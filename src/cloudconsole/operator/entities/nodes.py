"""Nodes. A disabled one takes no new resources; those on it stay."""

from collections.abc import Mapping

from sqlalchemy import delete

from cloudconsole.operator import models, serializers
from cloudconsole.operator.entities.base import EntityType, Values
from cloudconsole.operator.entities.references import reject_if_referenced
from cloudconsole.operator.entities.schema import Filter, name_filters
from cloudconsole.operator.models import parse_model
from cloudconsole.operator.serializers import Record, Row
from cloudconsole.operator.transaction import OperatorTransaction
from cloudconsole.store import tables


class Nodes(EntityType):
    name = "node"
    label = "node"
    plural = "nodes"
    model = models.Node
    table = tables.nodes
    key = "name"

    def filters(self) -> Mapping[str, Filter]:
        return name_filters(self.table)

    def record_of(self, row: Row) -> Record:
        return serializers.node_record(row)

    def _row(self, tx: OperatorTransaction, values: Values) -> Row:
        node = parse_model(models.Node, values, tx)
        return {"name": node.name, "disabled": node.disabled}

    def _check(self, tx: OperatorTransaction, before: Row | None, after: Row | None) -> None:
        if after is not None:
            self._refuse_taken_name(tx, before, after)
        elif before is not None:
            users = {"price": (tables.prices, "node_id"), "resource": (tables.resources, "node_id")}
            reject_if_referenced(tx, f"the node {before['name']}", users, before["id"])

    def _follow(self, tx: OperatorTransaction, before: Row | None, after: Row | None) -> None:
        if before is not None and after is None:
            # Zeros are all that is left there, and the node's number may be given to another one.
            tx.connection.execute(delete(tables.totals).where(tables.totals.c.node_id == before["id"]))
