"""URLs published to one tenant, or to all. A disabled one is not shown."""

import secrets
import string
from collections.abc import Mapping
from typing import Any, ClassVar, Final

from sqlalchemy import Select, select

from cloudconsole.operator import models, records
from cloudconsole.operator.desk import Desk
from cloudconsole.operator.models import read_part
from cloudconsole.operator.nouns.noun import Filter, Noun, Values, switch_filter
from cloudconsole.operator.nouns.places import find_tenant, split_owner
from cloudconsole.operator.records import Record, Row
from cloudconsole.store import tables

_LETTERS: Final = string.ascii_lowercase + string.digits


class Urls(Noun):
    name = "url"
    thing = "URL"
    plural = "URLs"
    model = models.UrlEntry
    table = tables.urls
    owner = "the tenant it is published to (default: all)"
    may_lack_owner = True
    fixed = frozenset({"id"})
    made_up: ClassVar[Mapping[str, str]] = {"id": "one is made up"}

    def filters(self) -> Mapping[str, Filter]:
        columns = self.table.c
        return {
            "tenant": Filter(
                "only this tenant's", lambda desk, name: columns.tenant_id == find_tenant(desk, name)["id"]
            ),
            "shared": switch_filter(columns.tenant_id.is_(None), "only those published to all"),
            "disabled": switch_filter(columns.disabled, "only the disabled ones"),
        }

    def _complete(self, desk: Desk, values: Values) -> Values:
        del desk
        return {"id": "url-" + "".join(secrets.choice(_LETTERS) for _ in range(8)), **values}

    def _query(self) -> Select[Any]:
        tenants = tables.tenants.c
        owned = select(self.table, tenants.name.label("tenant"))
        return owned.outerjoin(tables.tenants, tenants.id == self.table.c.tenant_id)

    def _record(self, row: Row) -> Record:
        owner = {} if row["tenant"] is None else {"tenant": row["tenant"]}
        return {**owner, **records.url_record(row)}

    def _row(self, desk: Desk, values: Values) -> Row:
        tenant_id, others = split_owner(desk, values)
        return records.url_row(read_part(models.UrlEntry, others, desk.zone), tenant_id)
