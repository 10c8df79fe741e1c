"""URLs published to one tenant, or to all. A disabled one is not shown."""

import secrets
import string
from collections.abc import Mapping
from typing import Any, ClassVar, Final

from sqlalchemy import Select

from cloudconsole.operator import models, records
from cloudconsole.operator.desk import Desk
from cloudconsole.operator.models import read_part
from cloudconsole.operator.nouns.filters import Filter, switch_filter, tenant_filter
from cloudconsole.operator.nouns.noun import Noun
from cloudconsole.operator.nouns.places import split_owner, with_tenant
from cloudconsole.operator.nouns.traits import Values
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
            "tenant": tenant_filter(columns.tenant_id),
            "shared": switch_filter(columns.tenant_id.is_(None), "only those published to all"),
            "disabled": switch_filter(columns.disabled, "only the disabled ones"),
        }

    def _complete(self, desk: Desk, values: Values) -> Values:
        del desk
        return {"id": "url-" + "".join(secrets.choice(_LETTERS) for _ in range(8)), **values}

    def _query(self) -> Select[Any]:
        return with_tenant(self.table, may_lack=True)

    def record_of(self, row: Row) -> Record:
        owner = {} if row["tenant"] is None else {"tenant": row["tenant"]}
        return {**owner, **records.url_record(row)}

    def _row(self, desk: Desk, values: Values) -> Row:
        tenant_id, others, findings = split_owner(desk, values)
        return records.url_row(read_part(models.UrlEntry, others, desk, findings), tenant_id)
