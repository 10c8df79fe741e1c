"""Quotas of tenants."""

from collections.abc import Mapping
from typing import Any

from sqlalchemy import ColumnElement, Select, case

from cloudconsole.core.resources import QUOTA_DEFAULTS, QUOTA_USES, UNLIMITED
from cloudconsole.operator import entity_models, rows_and_records
from cloudconsole.operator.entities.base import ChangeResult, EntityType, Values
from cloudconsole.operator.entities.fields_and_filters import Filter, InputField, prefix_filter, search_filter
from cloudconsole.operator.entities.pagination import LAST
from cloudconsole.operator.entities.references import with_tenant
from cloudconsole.operator.entity_models import parse_quotas
from cloudconsole.operator.near_quotas import NEAR_PERCENT, is_near_a_quota
from cloudconsole.operator.quota_check import check_limits
from cloudconsole.operator.rows_and_records import Record, Row
from cloudconsole.operator.transaction import OperatorTransaction
from cloudconsole.store import tables


class Quotas(EntityType):
    name = "quota"
    label = "tenant"
    plural = "quotas"
    model = entity_models.EntityModel
    table = tables.quotas
    key = "tenant"
    fixed = frozenset({"tenant"})
    verbs = ("change", "reset", "show", "list")
    overridable = frozenset({"change", "reset"})

    def reset(self, tx: OperatorTransaction, key: str) -> ChangeResult:
        """Reset a tenant's quotas to the defaults."""
        return self._change(tx, "reset", self._require(tx, key), QUOTA_DEFAULTS)

    def inputs(self) -> tuple[InputField, ...]:
        limits = (InputField(name, f"default {default}", "number") for name, default in QUOTA_DEFAULTS.items())
        return InputField("tenant", "the tenant's name", "text", is_required=True), *limits

    def filters(self) -> Mapping[str, Filter]:
        name = tables.tenants.c.name
        return {
            "search": search_filter("tenant", name),
            "prefix": prefix_filter(name, "tenant"),
            "near": Filter(
                f"only of tenants that use at least {NEAR_PERCENT} percent of a quota",
                lambda tx, _value: is_near_a_quota(tx),
                is_switch=True,
            ),
        }

    def sortable(self) -> Mapping[str, ColumnElement[Any]]:
        columns = self.table.c
        return {name: case((columns[name] == UNLIMITED, LAST), else_=columns[name]) for name in QUOTA_USES}

    def _query(self) -> Select[Any]:
        return with_tenant(self.table)

    def _key_column(self) -> ColumnElement[Any]:
        return tables.tenants.c.name

    def record_of(self, row: Row) -> Record:
        return {"tenant": row["tenant"], **rows_and_records.quota_record(row)}

    def _check(self, tx: OperatorTransaction, before: Row | None, after: Row | None) -> None:
        if before is not None and after is not None:
            check_limits(tx, before["tenant_id"], before, after)

    def _row(self, tx: OperatorTransaction, values: Values) -> Row:
        del tx
        return parse_quotas({name: value for name, value in values.items() if name != "tenant"})
