"""Domains. Disabling one sets the domain's own `enabled`."""

from collections.abc import Mapping
from typing import Any

from sqlalchemy import Select

from cloudconsole.operator import models, records
from cloudconsole.operator.desk import Desk
from cloudconsole.operator.models import read_part
from cloudconsole.operator.nouns.filters import Filter, prefix_filter, switch_filter, tenant_filter
from cloudconsole.operator.nouns.noun import Done, NumberedNoun, Values
from cloudconsole.operator.nouns.places import require_owner, with_tenant
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
            "prefix": prefix_filter(columns.name, "name"),
            "disabled": switch_filter(~columns.enabled, "only those not in service"),
        }

    def disable(self, desk: Desk, key: str) -> Done:
        return self._change(desk, "disable", self._require(desk, key), {"enabled": False})

    def enable(self, desk: Desk, key: str) -> Done:
        return self._change(desk, "enable", self._require(desk, key), {"enabled": True})

    def _query(self) -> Select[Any]:
        return with_tenant(self.table)

    def record_of(self, row: Row) -> Record:
        return {"tenant": row["tenant"], **records.domain_record(row)}

    def _row(self, desk: Desk, values: Values) -> Row:
        tenant_id, others = require_owner(desk, values)
        return records.domain_row(read_part(models.Domain, others, desk), tenant_id)
