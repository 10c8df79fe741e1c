"""Tenants."""

from collections.abc import Mapping
from typing import Any, ClassVar

from sqlalchemy import ColumnElement, Table, delete, func, insert, select

from cloudconsole.core.resources import QUOTA_DEFAULTS
from cloudconsole.operator import entity_models, rows_and_records
from cloudconsole.operator.entities.accounts import (
    end_account_sessions,
    end_federated_sessions,
    ends_federated_sessions,
    reject_removing_last_operator,
)
from cloudconsole.operator.entities.base import EntityType, Values
from cloudconsole.operator.entities.fields_and_filters import Filter, name_filters, search_filter
from cloudconsole.operator.entities.references import count_references, reject_if_referenced
from cloudconsole.operator.entity_models import parse_model
from cloudconsole.operator.errors import ValidationError
from cloudconsole.operator.fields import parse_project
from cloudconsole.operator.messages import Message
from cloudconsole.operator.rows_and_records import Record, Row
from cloudconsole.operator.transaction import OperatorTransaction
from cloudconsole.store import tables
from cloudconsole.store.billing.entries import detach_entries


class Tenants(EntityType):
    name = "tenant"
    label = "tenant"
    plural = "tenants"
    model = entity_models.Tenant
    table = tables.tenants
    key = "name"
    overridable = frozenset({"disable"})
    users: ClassVar[Mapping[str, tuple[Table, str]]] = {
        "account": (tables.accounts, "tenant_id"),
        "resource": (tables.resources, "tenant_id"),
        "domain": (tables.domains, "tenant_id"),
        "URL": (tables.urls, "tenant_id"),
    }

    def filters(self) -> Mapping[str, Filter]:
        columns = self.table.c
        return {
            **name_filters(self.table),
            "search": search_filter("name or OpenStack project", columns.name, columns.project),
            "project": Filter("only the tenant of this OpenStack project", self._is_project),
        }

    def sortable(self) -> Mapping[str, ColumnElement[Any]]:
        return {"project": func.coalesce(self.table.c.project, "")}

    def record_of(self, row: Row) -> Record:
        return rows_and_records.tenant_record(row)

    def _row(self, tx: OperatorTransaction, values: Values) -> Row:
        return rows_and_records.tenant_row(parse_model(entity_models.Tenant, values, tx))

    def _check(self, tx: OperatorTransaction, before: Row | None, after: Row | None) -> None:
        if after is not None:
            self._reject_duplicate_name(tx, before, after)
            self._reject_duplicate_project(tx, before, after)
        if before is not None and after is None:
            reject_if_referenced("tenant", before["name"], count_references(tx, self.users, before["id"]))
        if before is not None and after is not None and after["disabled"] and not before["disabled"]:
            reject_removing_last_operator(tx, tables.accounts.c.tenant_id == before["id"])

    def _is_project(self, _tx: OperatorTransaction, project: str) -> ColumnElement[bool]:
        try:
            return self.table.c.project == parse_project(project)
        except ValueError as problem:
            raise ValidationError([(("project",), problem.args[0])]) from None

    def _reject_duplicate_project(self, tx: OperatorTransaction, before: Row | None, after: Row) -> None:
        columns, project = self.table.c, after["project"]
        if project is None or (before is not None and before["project"] == project):
            return
        other = tx.connection.scalar(select(columns.name).where(columns.project == project))
        if other is not None:
            raise ValidationError(
                [(("project",), Message("already belongs to the tenant {tenant}", "已属于租户 {tenant}", tenant=other))]
            )

    def _follow(self, tx: OperatorTransaction, before: Row | None, after: Row | None) -> None:
        connection = tx.connection
        if before is None and after is not None:
            tenant_id = self._require(tx, after["name"])["id"]
            connection.execute(insert(tables.quotas).values(tenant_id=tenant_id, **QUOTA_DEFAULTS))
        elif before is not None and after is None:
            for table in (tables.quotas, tables.totals, tables.usage):
                connection.execute(delete(table).where(table.c.tenant_id == before["id"]))
            detach_entries(connection, "tenant", before["id"], before["name"])
        elif before is not None and after is not None:
            if after["disabled"] and not before["disabled"]:
                end_account_sessions(tx, before["id"])
            if ends_federated_sessions(before, after):
                end_federated_sessions(tx, before["id"])
