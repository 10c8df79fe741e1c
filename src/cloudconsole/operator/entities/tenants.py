"""Tenants."""

from collections.abc import Mapping

from sqlalchemy import ColumnElement, delete, insert, select

from cloudconsole.core.hosts import normalise_project
from cloudconsole.core.resources import QUOTA_DEFAULTS
from cloudconsole.operator import models, serializers
from cloudconsole.operator.entities.accounts import (
    end_sessions_of_accounts,
    end_sessions_of_guests,
    ends_sessions_of_guests,
    refuse_no_operator_left,
)
from cloudconsole.operator.entities.base import Noun, Values
from cloudconsole.operator.entities.references import refuse_needed
from cloudconsole.operator.entities.schema import Filter, name_filters
from cloudconsole.operator.errors import Unfit
from cloudconsole.operator.models import read_part
from cloudconsole.operator.serializers import Record, Row
from cloudconsole.operator.transaction import Desk
from cloudconsole.store import tables


class Tenants(Noun):
    name = "tenant"
    thing = "tenant"
    plural = "tenants"
    model = models.Tenant
    table = tables.tenants
    key = "name"
    overridable = frozenset({"disable"})

    def filters(self) -> Mapping[str, Filter]:
        return {
            **name_filters(self.table),
            "project": Filter("only the one that is this project of an OpenStack", self._is_project),
        }

    def record_of(self, row: Row) -> Record:
        return serializers.tenant_record(row)

    def _row(self, desk: Desk, values: Values) -> Row:
        return serializers.tenant_row(read_part(models.Tenant, values, desk))

    def _check(self, desk: Desk, before: Row | None, after: Row | None) -> None:
        if after is not None:
            self._refuse_taken_name(desk, before, after)
            self._refuse_taken_project(desk, before, after)
        if before is not None and after is None:
            users = {
                "account": (tables.accounts, "tenant_id"),
                "resource": (tables.resources, "tenant_id"),
                "domain": (tables.domains, "tenant_id"),
                "URL": (tables.urls, "tenant_id"),
            }
            refuse_needed(desk, f"the tenant {before['name']}", users, before["id"])
        if before is not None and after is not None and after["disabled"] and not before["disabled"]:
            refuse_no_operator_left(desk, tables.accounts.c.tenant_id == before["id"])

    def _is_project(self, _desk: Desk, project: str) -> ColumnElement[bool]:
        try:
            return self.table.c.project == normalise_project(project)
        except ValueError as problem:
            raise Unfit([(("project",), str(problem))]) from None

    def _refuse_taken_project(self, desk: Desk, before: Row | None, after: Row) -> None:
        columns, project = self.table.c, after["project"]
        if project is None or (before is not None and before["project"] == project):
            return
        other = desk.connection.scalar(select(columns.name).where(columns.project == project))
        if other is not None:
            raise Unfit([(("project",), f"the tenant {other} is this project already")])

    def _follow(self, desk: Desk, before: Row | None, after: Row | None) -> None:
        connection = desk.connection
        if before is None and after is not None:
            tenant_id = self._require(desk, after["name"])["id"]
            connection.execute(insert(tables.quotas).values(tenant_id=tenant_id, **QUOTA_DEFAULTS))
        elif before is not None and after is None:
            for table in (tables.quotas, tables.totals, tables.usage):
                connection.execute(delete(table).where(table.c.tenant_id == before["id"]))
        elif before is not None and after is not None:
            if after["disabled"] and not before["disabled"]:
                end_sessions_of_accounts(desk, before["id"])
            if ends_sessions_of_guests(before, after):
                end_sessions_of_guests(desk, before["id"])
