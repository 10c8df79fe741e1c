"""Quotas: every tenant has all of them; `-1` is unlimited."""

from collections.abc import Mapping
from typing import Any

from sqlalchemy import ColumnElement, Select

from cloudconsole.core.resources import QUOTA_DEFAULTS
from cloudconsole.operator import models, records
from cloudconsole.operator.desk import Desk
from cloudconsole.operator.models import read_quotas
from cloudconsole.operator.nouns.filters import Filter, prefix_filter
from cloudconsole.operator.nouns.inputs import Input
from cloudconsole.operator.nouns.noun import Done, Noun
from cloudconsole.operator.nouns.places import with_tenant
from cloudconsole.operator.nouns.traits import Values
from cloudconsole.operator.records import Record, Row
from cloudconsole.store import tables


class Quotas(Noun):
    name = "quota"
    thing = "tenant"
    plural = "quotas"
    model = models.Part
    table = tables.quotas
    key = "tenant"
    fixed = frozenset({"tenant"})
    verbs = ("change", "reset", "show", "list")

    def reset(self, desk: Desk, key: str) -> Done:
        """Give a tenant what tenants get where nothing is said."""
        return self._change(desk, "reset", self._require(desk, key), QUOTA_DEFAULTS)

    def inputs(self) -> tuple[Input, ...]:
        limits = (Input(name, f"default {default}", "number") for name, default in QUOTA_DEFAULTS.items())
        return Input("tenant", "the tenant's name", "text", is_required=True), *limits

    def filters(self) -> Mapping[str, Filter]:
        return {"prefix": prefix_filter(tables.tenants.c.name, "tenant")}

    def _query(self) -> Select[Any]:
        return with_tenant(self.table)

    def _order(self) -> tuple[ColumnElement[Any], ...]:
        return (tables.tenants.c.name,)

    def _find(self, desk: Desk, key: str) -> Row | None:
        row = desk.connection.execute(self._query().where(tables.tenants.c.name == key)).mappings().one_or_none()
        return None if row is None else dict(row)

    def record_of(self, row: Row) -> Record:
        return {"tenant": row["tenant"], **records.quota_record(row)}

    def _row(self, desk: Desk, values: Values) -> Row:
        del desk
        return read_quotas({name: value for name, value in values.items() if name != "tenant"})
