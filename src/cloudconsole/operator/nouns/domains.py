"""Domains. Disabling one sets the domain's own `enabled`."""

from collections.abc import Mapping
from typing import Any

from sqlalchemy import ColumnElement, Select, or_

from cloudconsole.operator import models, records
from cloudconsole.operator.conditions import begins_with
from cloudconsole.operator.desk import Desk
from cloudconsole.operator.models import read_part
from cloudconsole.operator.nouns.filters import Filter, switch_filter, tenant_filter
from cloudconsole.operator.nouns.noun import Done, NumberedNoun
from cloudconsole.operator.nouns.places import require_owner, with_tenant
from cloudconsole.operator.nouns.traits import Values
from cloudconsole.operator.records import Record, Row
from cloudconsole.store import tables


class Domains(NumberedNoun):
    name = "domain"
    thing = "domain"
    plural = "domains"
    model = models.Domain
    table = tables.domains
    owner = "the tenant it belongs to"
    fixed = frozenset({"id"})

    def filters(self) -> Mapping[str, Filter]:
        columns = self.table.c
        return {
            "tenant": tenant_filter(columns.tenant_id),
            "prefix": Filter("only those whose id or name begins so", self._begins),
            "disabled": switch_filter(~columns.enabled, "only those not in service"),
        }

    def disable(self, desk: Desk, key: str) -> Done:
        return self._change(desk, "disable", self._require(desk, key), {"enabled": False})

    def enable(self, desk: Desk, key: str) -> Done:
        return self._change(desk, "enable", self._require(desk, key), {"enabled": True})

    def _begins(self, _desk: Desk, prefix: str) -> ColumnElement[bool]:
        columns = self.table.c
        return or_(begins_with(columns.id, prefix), begins_with(columns.name, prefix))

    def _query(self) -> Select[Any]:
        return with_tenant(self.table)

    def record_of(self, row: Row) -> Record:
        return {"tenant": row["tenant"], **records.domain_record(row)}

    def _row(self, desk: Desk, values: Values) -> Row:
        tenant_id, others, findings = require_owner(desk, values)
        return records.domain_row(read_part(models.Domain, others, desk, findings), tenant_id)
