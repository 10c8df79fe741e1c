"""Tenants."""

from collections.abc import Mapping

from sqlalchemy import delete, insert

from cloudconsole.core.kinds import QUOTA_DEFAULTS
from cloudconsole.operator import models, records
from cloudconsole.operator.desk import Desk
from cloudconsole.operator.models import read_part
from cloudconsole.operator.nouns.filters import Filter, name_filters
from cloudconsole.operator.nouns.noun import Noun, Values
from cloudconsole.operator.nouns.operators import refuse_no_operator_left
from cloudconsole.operator.nouns.places import refuse_needed
from cloudconsole.operator.nouns.sessions import end_sessions_of_tenant
from cloudconsole.operator.records import Record, Row
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
        return name_filters(self.table)

    def record_of(self, row: Row) -> Record:
        return records.tenant_record(row)

    def _row(self, desk: Desk, values: Values) -> Row:
        tenant = read_part(models.Tenant, values, desk)
        return {"name": tenant.name, "disabled": tenant.disabled}

    def _check(self, desk: Desk, before: Row | None, after: Row | None) -> None:
        if after is not None:
            self._refuse_taken_name(desk, before, after)
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

    def _follow(self, desk: Desk, before: Row | None, after: Row | None) -> None:
        connection = desk.connection
        if before is None and after is not None:
            tenant_id = self._require(desk, after["name"])["id"]
            connection.execute(insert(tables.quotas).values(tenant_id=tenant_id, **QUOTA_DEFAULTS))
        elif before is not None and after is None:
            for table in (tables.quotas, tables.totals, tables.usage):
                connection.execute(delete(table).where(table.c.tenant_id == before["id"]))
        elif before is not None and after is not None and after["disabled"] and not before["disabled"]:
            end_sessions_of_tenant(desk, before["id"])
