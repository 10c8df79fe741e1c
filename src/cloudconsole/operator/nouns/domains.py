"""Domains. Disabling one sets the domain's own `enabled`."""

from collections.abc import Mapping
from typing import Any

from sqlalchemy import Select, select

from cloudconsole.operator import models, records
from cloudconsole.operator.desk import Desk
from cloudconsole.operator.models import read_part
from cloudconsole.operator.nouns.noun import Done, Filter, NumberedNoun, Values, prefix_filter, switch_filter
from cloudconsole.operator.nouns.places import find_tenant, require_owner
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
            "tenant": Filter(
                "only this tenant's", lambda desk, name: columns.tenant_id == find_tenant(desk, name)["id"]
            ),
            "prefix": prefix_filter(columns.name, "name"),
            "disabled": switch_filter(~columns.enabled, "only those not in service"),
        }

    def disable(self, desk: Desk, key: str) -> Done:
        return self._change(desk, "disable", self._require(desk, key), {"enabled": False})

    def enable(self, desk: Desk, key: str) -> Done:
        return self._change(desk, "enable", self._require(desk, key), {"enabled": True})

    def _query(self) -> Select[Any]:
        tenants = tables.tenants.c
        owned = select(self.table, tenants.name.label("tenant"))
        return owned.join(tables.tenants, tenants.id == self.table.c.tenant_id)

    def _record(self, row: Row) -> Record:
        return {"tenant": row["tenant"], **records.domain_record(row)}

    def _row(self, desk: Desk, values: Values) -> Row:
        tenant_id, others = require_owner(desk, values)
        return records.domain_row(read_part(models.Domain, others, desk.zone), tenant_id)
