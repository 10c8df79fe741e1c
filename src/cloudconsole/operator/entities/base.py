"""Base classes of entity types: CRUD verbs, hooks, pagination."""

from abc import ABC, abstractmethod
from collections.abc import Container, Mapping, Sequence
from typing import Any, ClassVar, Final, NamedTuple

from sqlalchemy import ColumnElement, Select, Table, delete, func, insert, select, update

from cloudconsole.operator.audit import record_change
from cloudconsole.operator.entities.fields_and_filters import Filter, InputField, inputs_of
from cloudconsole.operator.entities.pagination import PAGE_SIZE, Order, PageRequest, select_page
from cloudconsole.operator.entities.references import count_references, not_found
from cloudconsole.operator.entity_models import EntityModel
from cloudconsole.operator.errors import FieldError, OperatorError, ValidationError, raise_if_invalid
from cloudconsole.operator.messages import Message, Term, any_of
from cloudconsole.operator.new_and_existing_names import texts_in
from cloudconsole.operator.rows_and_records import Record, Row
from cloudconsole.operator.transaction import OperatorTransaction

TOGGLE_FIELDS: Final = ("disabled", "enabled")
"""Fields changed by the verbs disable and enable."""

PAST_TENSE: Final[Mapping[str, str]] = {
    "add": "added",
    "change": "changed",
    "disable": "disabled",
    "enable": "enabled",
    "end": "ended",
    "reset": "reset to the defaults",
    "remove": "removed",
}

Values = Mapping[str, Any]


class EntityTraits(ABC):
    """Description and hooks of an entity type. Values and records use the field names of a cloud file."""

    name: ClassVar[str]
    label: ClassVar[str]
    """The name in messages."""
    plural: ClassVar[str]
    model: ClassVar[type[EntityModel]]
    table: ClassVar[Table]
    key: ClassVar[str] = "id"
    """The field and column that identify an entity."""
    owner: ClassVar[str | None] = None
    """Help text of the field `tenant`, if there is one."""
    may_lack_owner: ClassVar[bool] = False
    fixed: ClassVar[frozenset[str]] = frozenset()
    """Fields that cannot be changed."""
    verbs: ClassVar[tuple[str, ...]] = ("add", "change", "disable", "enable", "remove", "show", "list")
    generated: ClassVar[Mapping[str, str]] = {}
    """Required fields that are generated if missing, with a description of the value."""
    overridable: ClassVar[frozenset[str]] = frozenset()
    """Verbs with a rule that `force` overrides."""

    users: ClassVar[Mapping[str, tuple[Table, str]]] = {}
    """Tables and columns that refer to it and prevent its removal, by the name of their entity."""

    def inputs(self) -> tuple[InputField, ...]:
        """Return the fields of `add` and of a record."""
        own = inputs_of(self.model, self.generated)
        if self.owner is None:
            return own
        may_lack = self.may_lack_owner
        return InputField("tenant", self.owner, "text", is_required=not may_lack, may_be_nothing=may_lack), *own

    def changeable(self) -> tuple[InputField, ...]:
        """Return the fields of `change`."""
        return tuple(field for field in self.inputs() if field.name not in (*self.fixed, *TOGGLE_FIELDS))

    def filters(self) -> Mapping[str, Filter]:
        return {}

    def _filters_for(self, names: Container[str]) -> Mapping[str, Filter]:
        """Return the filters in the form that is fastest for this combination."""
        del names
        return self.filters()

    def sortable(self) -> Mapping[str, ColumnElement[Any]]:
        """Return the fields besides the key that lists can be sorted by, as columns without NULLs."""
        return {}

    def sort_fields(self) -> tuple[str, ...]:
        """Return all fields that lists can be sorted by; the first is that of the default order."""
        return self.key, *(name for name in self.sortable() if name != self.key)

    def key_of(self, record: Record) -> str:
        """Return the key of a record, as passed to the other verbs."""
        return str(record[self.key])

    @abstractmethod
    def record_of(self, row: Row) -> Record:
        """Convert a row, whose `tenant` and `node` are names, to a record."""

    @abstractmethod
    def _row(self, tx: OperatorTransaction, values: Values) -> Row:
        """Validate values and convert them to columns."""

    def _complete(self, tx: OperatorTransaction, values: Values) -> Values:
        """Add generated values for a new entity."""
        del tx
        return values

    def _check(self, tx: OperatorTransaction, before: Row | None, after: Row | None) -> None:  # noqa: B027 - many need none
        """Reject a change that violates a rule."""

    def _written(self, row: Row) -> Row:
        """Return the columns to write for a changed row."""
        return row

    def _follow(self, tx: OperatorTransaction, before: Row | None, after: Row | None) -> None:  # noqa: B027 - many need none
        """Apply side effects: before a removal, after any other change."""

    def _query(self) -> Select[Any]:
        return select(self.table)

    def _key_column(self) -> ColumnElement[Any]:
        return self.table.c[self.key]

    def _order(self) -> tuple[ColumnElement[Any], ...]:
        """Return the columns of the default order."""
        return (self._key_column(),)

    def _sort_key(self, key: str) -> tuple[Any, ...]:
        """Return the values of the order columns for a key."""
        return (self._value_of(key),)

    def _value_of(self, key: str) -> Any:
        """Convert a key to its column's type."""
        return key


Records = list[Record]


class ChangeResult(NamedTuple):
    """An entity before and after a change; None if it did not exist. Both are equal if nothing changed."""

    subject: str
    before: Record | None
    after: Record | None

    @property
    def changed(self) -> bool:
        return self.before != self.after


class EntityType(EntityTraits):
    """An entity type with its verbs."""

    def add(self, tx: OperatorTransaction, values: Values) -> ChangeResult:
        row = self._new_row(tx, values)
        key = str(row[self.key])
        tx.connection.execute(insert(self.table).values(self._written(row)))
        self._follow(tx, None, row)
        return self._record_change(tx, "add", key, None, self.show(tx, key))

    def fresh_key(self, tx: OperatorTransaction) -> str | None:
        """Return a key for `add_once`, or None if keys are not generated."""
        return str(self._complete(tx, {})[self.key]) if self.key in self.generated else None

    def add_once(self, tx: OperatorTransaction, key: str, values: Values) -> ChangeResult:
        """Add an entity under a fresh key, idempotently; generate another key if it is in use."""
        current = self._find(tx, key)
        if current is None:
            return self.add(tx, {**values, self.key: self._value_of(key)})
        record = self.record_of(current)
        row = self._row(tx, {**{name: record[name] for name in self.generated}, **values})
        if row == {column: current[column] for column in row}:
            return ChangeResult(key, record, record)
        return self.add(tx, values)

    def change(self, tx: OperatorTransaction, key: str, values: Values) -> ChangeResult:
        return self._change(tx, "change", self._require(tx, key), values)

    def disable(self, tx: OperatorTransaction, key: str) -> ChangeResult:
        return self._change(tx, "disable", self._require(tx, key), {"disabled": True})

    def enable(self, tx: OperatorTransaction, key: str) -> ChangeResult:
        return self._change(tx, "enable", self._require(tx, key), {"disabled": False})

    def remove(self, tx: OperatorTransaction, key: str) -> ChangeResult:
        current = self._require(tx, key)
        self._check(tx, current, None)
        self._follow(tx, current, None)
        tx.connection.execute(delete(self.table).where(self._is(current)))
        return self._record_change(tx, "remove", key, self.record_of(current), None)

    def check(self, tx: OperatorTransaction, verb: str, key: str) -> None:
        """Reject what `disable` or `remove` would reject, without a change."""
        current = self._require(tx, key)
        disabled = {"disabled": True}
        self._check(tx, current, None if verb == "remove" else self._changed_row(tx, self.record_of(current), disabled))

    def dependents(self, tx: OperatorTransaction, key: str) -> dict[str, int]:
        """Return how many entities of each type prevent the removal; types without any are omitted."""
        return count_references(tx, self.users, self._require(tx, key)["id"]) if self.users else {}

    def exists(self, tx: OperatorTransaction, key: str) -> bool:
        return self._find(tx, key) is not None

    def show(self, tx: OperatorTransaction, key: str) -> Record:
        return self.record_of(self._require(tx, key))

    def list(
        self,
        tx: OperatorTransaction,
        filters: Values | None = None,
        after: str | None = None,
        limit: int | None = PAGE_SIZE,
        *,
        before: str | None = None,
        order: Order | None = None,
    ) -> Records:
        """Return a page of the entities that match all filters.

        It begins after the key `after`, or ends before the key `before`. In another order than the default one, there
        must be an entity with this key.
        """
        self._require_sortable(order)
        page = PageRequest(order or Order(self.sort_fields()[0]), after, before, limit)
        records = self._records(tx, filters or {}, page)
        return records[::-1] if page.is_backward else records

    def count(self, tx: OperatorTransaction, filters: Values, limit: int) -> int:
        """Count the entities that match all filters, up to a limit."""
        found = self._matching(tx, self._query(), filters).limit(limit).subquery()
        return tx.connection.scalar(select(func.count()).select_from(found)) or 0

    def _records(self, tx: OperatorTransaction, filters: Values, page: PageRequest) -> Records:
        """Return the records of a page in the direction of reading."""
        query = self._paged(tx, self._query(), filters, page)
        return [self.record_of(dict(row)) for row in tx.connection.execute(query).mappings()]

    def _paged(self, tx: OperatorTransaction, query: Select[Any], filters: Values, page: PageRequest) -> Select[Any]:
        columns = self._columns_of(page.order)
        return select_page(self._matching(tx, query, filters), page, columns, self._position(tx, page, columns))

    def _matching(self, tx: OperatorTransaction, query: Select[Any], filters: Values) -> Select[Any]:
        available = self._filters_for(filters)
        return query.where(*(available[name].condition(tx, value) for name, value in filters.items()))

    def _columns_of(self, order: Order) -> tuple[ColumnElement[Any], ...]:
        own = () if order.field == self.key else (self.sortable()[order.field],)
        return *own, *self._order()

    def _position(
        self, tx: OperatorTransaction, page: PageRequest, columns: tuple[ColumnElement[Any], ...]
    ) -> tuple[Any, ...] | None:
        """Return the values of the row from which to read."""
        if page.key is None or page.order.field == self.key:
            return None if page.key is None else self._sort_key(page.key)
        query = self._query().with_only_columns(*columns, maintain_column_froms=True)
        row = tx.connection.execute(query.where(self._key_column() == self._value_of(page.key))).one_or_none()
        if row is None:
            raise OperatorError(not_found(self.label, page.key))
        return tuple(row)

    def _require_sortable(self, order: Order | None) -> None:
        fields = self.sort_fields()
        if order is not None and order.field not in fields:
            problem = Message(
                "cannot sort by {field}: use {fields}",
                "不能按 {field} 排序：可选 {fields}",
                field=order.field,
                fields=any_of(fields),
            )
            raise ValidationError([(("sort",), problem)])

    def _new_row(self, tx: OperatorTransaction, values: Values) -> Row:
        """Return the row of a new entity; raise if it cannot be added."""
        values = self._complete(tx, values)
        try:
            row = self._row(tx, values)
        except ValidationError as error:
            is_valid = all(path[:1] != (self.key,) for path, _ in error.errors)
            taken = self._taken(tx, str(values[self.key])) if is_valid and self.key in values else []
            raise ValidationError([*error.errors, *taken]) from None
        raise_if_invalid(self._taken(tx, str(row[self.key])))
        self._check(tx, None, row)
        return row

    def _taken(self, tx: OperatorTransaction, key: str) -> Sequence[FieldError]:
        return [] if self._find(tx, key) is None else [((self.key,), self._exists_already(key))]

    def _change(self, tx: OperatorTransaction, verb: str, current: Row, values: Values) -> ChangeResult:
        before = self.record_of(current)
        for field in self.fixed.intersection(values):
            if values[field] != before.get(field):
                raise OperatorError(
                    Message("{field}: cannot be changed", "{field}：不能修改", field=Term("field", field))
                )
        return self._write(tx, verb, current, self._changed_row(tx, before, values))

    def _changed_row(self, tx: OperatorTransaction, before: Record, values: Values) -> Row:
        """Return the row with changed values; its current names stay valid."""
        return self._row(tx.allowing_names(frozenset(texts_in(before))), before | dict(values))

    def _write(self, tx: OperatorTransaction, verb: str, current: Row, row: Row) -> ChangeResult:
        """Update the current row if it differs."""
        before = self.record_of(current)
        key = self.key_of(before)
        if row == {column: current[column] for column in row}:
            return ChangeResult(key, before, before)
        self._check(tx, current, row)
        tx.connection.execute(update(self.table).where(self._is(current)).values(self._written(row)))
        self._follow(tx, current, current | row)
        (after,) = tx.connection.execute(self._query().where(self._is(current))).mappings()
        record = self.record_of(dict(after))
        if (new_key := self.key_of(record)) != key:
            # Under the new key too, so that a search for it shows the former one.
            record_change(tx, f"{self.name}.rename", new_key, before, record)
        return self._record_change(tx, verb, key, before, record)

    def _record_change(
        self, tx: OperatorTransaction, verb: str, key: str, before: Record | None, after: Record | None
    ) -> ChangeResult:
        record_change(tx, f"{self.name}.{verb}", key, before, after)
        return ChangeResult(key, before, after)

    def _is(self, current: Row) -> ColumnElement[bool]:
        (primary,) = self.table.primary_key.columns
        condition: ColumnElement[bool] = primary == current[primary.name]
        return condition

    def _find(self, tx: OperatorTransaction, key: str) -> Row | None:
        query = self._query().where(self._key_column() == self._value_of(key))
        row = tx.connection.execute(query).mappings().one_or_none()
        return None if row is None else dict(row)

    def _require(self, tx: OperatorTransaction, key: str) -> Row:
        row = self._find(tx, key)
        if row is None:
            raise OperatorError(not_found(self.label, key))
        return row

    def _exists_already(self, key: str) -> Message:
        return Message(
            "{entity} {key} already exists", "{entity} {key} 已存在", entity=Term("entity", self.label), key=key
        )

    def _reject_duplicate_name(self, tx: OperatorTransaction, before: Row | None, after: Row) -> None:
        columns = self.table.c
        if before is not None and before["name"] == after["name"]:
            return
        if tx.connection.scalar(select(columns.id).where(columns.name == after["name"])) is not None:
            raise ValidationError([(("name",), self._exists_already(after["name"]))])


class NumberedEntityType(EntityType):
    """An entity type whose ids are digits as text, listed in numeric order."""

    def _order(self) -> tuple[ColumnElement[Any], ...]:
        key = self.table.c[self.key]
        return func.length(key), key

    def _sort_key(self, key: str) -> tuple[Any, ...]:
        return len(key), key
