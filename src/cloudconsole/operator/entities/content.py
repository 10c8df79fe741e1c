"""Flavors, URLs, domains, news."""

import secrets
import string
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, Final

from sqlalchemy import ColumnElement, Select, func, or_, select

from cloudconsole.core.clock import format_utc
from cloudconsole.operator import entity_models, rows_and_records
from cloudconsole.operator.entities.base import ChangeResult, EntityType, NumberedEntityType, Values
from cloudconsole.operator.entities.fields_and_filters import (
    Filter,
    name_filters,
    search_filter,
    switch_filter,
    tenant_filter,
)
from cloudconsole.operator.entities.references import require_owner, split_owner, with_tenant
from cloudconsole.operator.entity_models import parse_model
from cloudconsole.operator.errors import FieldError
from cloudconsole.operator.invalid_placeholder import INVALID
from cloudconsole.operator.resource_and_price_rules import MAX_VALUE
from cloudconsole.operator.rows_and_records import Record, Row
from cloudconsole.operator.transaction import OperatorTransaction
from cloudconsole.store import tables
from cloudconsole.store.sql import starts_with


class Flavors(NumberedEntityType):
    name = "flavor"
    label = "flavor"
    plural = "flavors"
    model = entity_models.Flavor
    table = tables.flavors
    fixed = frozenset({"id"})

    def filters(self) -> Mapping[str, Filter]:
        columns = self.table.c
        return {**name_filters(self.table), "search": search_filter("id or name", columns.id, columns.name)}

    def sortable(self) -> Mapping[str, ColumnElement[Any]]:
        columns = self.table.c
        return {"name": columns.name, "vcpus": columns.vcpus, "ram": columns.ram_mb, "disk": columns.disk_gb}

    def record_of(self, row: Row) -> Record:
        return rows_and_records.flavor_record(row)

    def _row(self, tx: OperatorTransaction, values: Values) -> Row:
        def errors(flavor: entity_models.Flavor) -> Iterator[FieldError]:
            columns = self.table.c
            same = (
                ()
                if flavor.name is INVALID
                else tx.connection.scalars(select(columns.id).where(columns.name == flavor.name))
            )
            if any(each != flavor.id for each in same):
                yield ("name",), self._exists_already(flavor.name)

        return rows_and_records.flavor_row(parse_model(entity_models.Flavor, values, tx, check=errors))


_LETTERS: Final = string.ascii_lowercase + string.digits


class Urls(EntityType):
    name = "url"
    label = "URL"
    plural = "URLs"
    model = entity_models.UrlEntry
    table = tables.urls
    owner = "the tenant it is published to (default: all)"
    may_lack_owner = True
    fixed = frozenset({"id"})
    generated: ClassVar[Mapping[str, str]] = {"id": "generated"}

    def filters(self) -> Mapping[str, Filter]:
        columns = self.table.c
        return {
            "search": search_filter("id or URL", columns.id, columns.url),
            "tenant": tenant_filter(columns.tenant_id),
            "shared": switch_filter(columns.tenant_id.is_(None), "only those published to all"),
            "disabled": switch_filter(columns.disabled, "only the disabled ones"),
        }

    def sortable(self) -> Mapping[str, ColumnElement[Any]]:
        columns = self.table.c
        return {"tenant": func.coalesce(tables.tenants.c.name, ""), "type": columns.type, "url": columns.url}

    def _complete(self, tx: OperatorTransaction, values: Values) -> Values:
        del tx
        return {"id": "url-" + "".join(secrets.choice(_LETTERS) for _ in range(8)), **values}

    def _query(self) -> Select[Any]:
        return with_tenant(self.table, may_lack=True)

    def record_of(self, row: Row) -> Record:
        owner = {} if row["tenant"] is None else {"tenant": row["tenant"]}
        return {**owner, **rows_and_records.url_record(row)}

    def _row(self, tx: OperatorTransaction, values: Values) -> Row:
        tenant_id, others, errors = split_owner(tx, values)
        return rows_and_records.url_row(parse_model(entity_models.UrlEntry, others, tx, errors), tenant_id)


class Domains(NumberedEntityType):
    name = "domain"
    label = "domain"
    plural = "domains"
    model = entity_models.Domain
    table = tables.domains
    owner = "the tenant it belongs to"
    fixed = frozenset({"id"})

    def filters(self) -> Mapping[str, Filter]:
        columns = self.table.c
        return {
            "search": search_filter("id, name or CNAME", columns.id, columns.name, columns.cname),
            "tenant": tenant_filter(columns.tenant_id),
            "prefix": Filter("only those whose id or name begins with this", self._has_prefix),
            "disabled": switch_filter(~columns.enabled, "only the disabled ones"),
        }

    def sortable(self) -> Mapping[str, ColumnElement[Any]]:
        columns = self.table.c
        return {"tenant": tables.tenants.c.name, "name": columns.name, "status": columns.status}

    def disable(self, tx: OperatorTransaction, key: str) -> ChangeResult:
        return self._change(tx, "disable", self._require(tx, key), {"enabled": False})

    def enable(self, tx: OperatorTransaction, key: str) -> ChangeResult:
        return self._change(tx, "enable", self._require(tx, key), {"enabled": True})

    def _has_prefix(self, _tx: OperatorTransaction, prefix: str) -> ColumnElement[bool]:
        columns = self.table.c
        return or_(starts_with(columns.id, prefix), starts_with(columns.name, prefix))

    def _query(self) -> Select[Any]:
        return with_tenant(self.table)

    def record_of(self, row: Row) -> Record:
        return {"tenant": row["tenant"], **rows_and_records.domain_record(row)}

    def _row(self, tx: OperatorTransaction, values: Values) -> Row:
        tenant_id, others, errors = require_owner(tx, values)
        return rows_and_records.domain_row(parse_model(entity_models.Domain, others, tx, errors), tenant_id)


class News(EntityType):
    name = "news"
    label = "news item"
    plural = "news"
    model = entity_models.News
    table = tables.news
    fixed = frozenset({"id"})
    generated: ClassVar[Mapping[str, str]] = {"id": "the next one", "date": "now"}

    def filters(self) -> Mapping[str, Filter]:
        columns = self.table.c
        return {
            "search": search_filter("title or URL", columns.title, columns.url),
            "upcoming": Filter(
                "only those still to appear", lambda tx, _value: columns.published_at > tx.now, is_switch=True
            ),
            "pinned": switch_filter(columns.pinned, "only the pinned ones"),
            "disabled": switch_filter(columns.disabled, "only the withdrawn ones"),
        }

    def sortable(self) -> Mapping[str, ColumnElement[Any]]:
        return {"date": self.table.c.published_at, "title": self.table.c.title}

    def in_other_language(self, tx: OperatorTransaction, record: Record) -> str | None:
        """Return the key of the item with the same date and URL in the other language."""
        columns, language = self.table.c, record.get("language")
        if language is None:
            return None
        row = self._require(tx, self.key_of(record))
        query = select(columns.id).where(columns.published_at == row["published_at"], columns.url == row["url"])
        found = tx.connection.scalar(query.where(columns.language != language).order_by(columns.id).limit(1))
        return None if found is None else str(found)

    def _complete(self, tx: OperatorTransaction, values: Values) -> Values:
        last = tx.connection.scalar(select(func.max(self.table.c.id))) or 0
        return {"id": last + 1, "date": format_utc(tx.now), **values}

    def record_of(self, row: Row) -> Record:
        return rows_and_records.news_record(row)

    def _row(self, tx: OperatorTransaction, values: Values) -> Row:
        return rows_and_records.news_row(parse_model(entity_models.News, values, tx))

    def _value_of(self, key: str) -> Any:
        is_number = key.isascii() and key.isdecimal() and len(key) <= len(str(MAX_VALUE))
        return int(key) if is_number else 0
