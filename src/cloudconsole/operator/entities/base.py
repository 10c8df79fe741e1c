"""Entity base class: CRUD verbs, hooks, paging."""

from abc import ABC, abstractmethod
from collections.abc import Container, Mapping
from typing import Any, ClassVar, Final, NamedTuple

from sqlalchemy import ColumnElement, Select, Table, delete, func, insert, select, tuple_, update

from cloudconsole.operator.audit import record_change
from cloudconsole.operator.entities.schema import Filter, InputField, inputs_of
from cloudconsole.operator.errors import OperatorError, ValidationError
from cloudconsole.operator.models import EntityModel
from cloudconsole.operator.names import texts_in
from cloudconsole.operator.serializers import Record, Row
from cloudconsole.operator.transaction import OperatorTransaction
from cloudconsole.operator.validation import with_article

TOGGLE_FIELDS: Final = ("disabled", "enabled")
"""Fields that have verbs of their own."""

PAST_TENSE: Final[Mapping[str, str]] = {
    "add": "added",
    "change": "changed",
    "disable": "disabled",
    "enable": "enabled",
    "end": "ended",
    "reset": "reset to the defaults",
    "remove": "removed",
}
"""What a verb did."""

NOTHING_TO_CHANGE: Final = "nothing to change"


Values = Mapping[str, Any]


class EntityTraits(ABC):
    """One kind of thing that operators keep. Values and records have the names of a cloud file."""

    name: ClassVar[str]
    label: ClassVar[str]
    """What people call one."""
    plural: ClassVar[str]
    model: ClassVar[type[EntityModel]]
    table: ClassVar[Table]
    key: ClassVar[str] = "id"
    """The field, and the column, that names one."""
    owner: ClassVar[str | None] = None
    """What is said of the field `tenant`, where there is one."""
    may_lack_owner: ClassVar[bool] = False
    fixed: ClassVar[frozenset[str]] = frozenset()
    """Fields that stay as they were added."""
    verbs: ClassVar[tuple[str, ...]] = ("add", "change", "disable", "enable", "remove", "show", "list")
    generated: ClassVar[Mapping[str, str]] = {}
    """Required fields that need not be given, and what they are then."""
    overridable: ClassVar[frozenset[str]] = frozenset()
    """Verbs with a rule that a desk with `force` overrides."""

    def inputs(self) -> tuple[InputField, ...]:
        """The fields that adding one takes, and a record has."""
        own = inputs_of(self.model, self.generated)
        if self.owner is None:
            return own
        may_lack = self.may_lack_owner
        return InputField("tenant", self.owner, "text", is_required=not may_lack, may_be_nothing=may_lack), *own

    def changeable(self) -> tuple[InputField, ...]:
        """The fields that changing one takes: those with verbs of their own are none."""
        return tuple(given for given in self.inputs() if given.name not in (*self.fixed, *TOGGLE_FIELDS))

    def filters(self) -> Mapping[str, Filter]:
        return {}

    def _filters_for(self, wanted: Container[str]) -> Mapping[str, Filter]:
        """The filters as they serve best where these are wanted together."""
        del wanted
        return self.filters()

    def key_of(self, record: Record) -> str:
        """The key of a record, which the other verbs take."""
        return str(record[self.key])

    @abstractmethod
    def record_of(self, row: Row) -> Record:
        """A row, with the column names of the table and its `tenant` and `node` named, in the names of a cloud file."""

    @abstractmethod
    def _row(self, tx: OperatorTransaction, values: Values) -> Row:
        """Values that were found to fit, as columns."""

    def _complete(self, tx: OperatorTransaction, values: Values) -> Values:
        """Values for a new one, with what is made up where it is not given."""
        del tx
        return values

    def _check(self, tx: OperatorTransaction, before: Row | None, after: Row | None) -> None:  # noqa: B027 - many need none
        """Refuse what would leave the cloud wrong."""

    def _written(self, row: Row) -> Row:
        """The columns to write where something changed."""
        return row

    def _follow(self, tx: OperatorTransaction, before: Row | None, after: Row | None) -> None:  # noqa: B027 - many need none
        """Do what a change brings with it; before a removal and after any other change."""

    def _query(self) -> Select[Any]:
        return select(self.table)

    def _order(self) -> tuple[ColumnElement[Any], ...]:
        return (self.table.c[self.key],)

    def _place(self, key: str) -> tuple[Any, ...]:
        """Where a key stands in that order."""
        return (self._value_of(key),)

    def _value_of(self, key: str) -> Any:
        """A key as its column has it."""
        return key


Records = list[Record]
PAGE_SIZE: Final = 100


class ChangeResult(NamedTuple):
    """A thing before and after a change; None where it was not there. Equal where there was nothing to change."""

    subject: str
    before: Record | None
    after: Record | None

    @property
    def changed(self) -> bool:
        return self.before != self.after


class EntityType(EntityTraits):
    """A kind of thing, and the verbs by which operators keep it."""

    # The verbs

    def add(self, tx: OperatorTransaction, values: Values) -> ChangeResult:
        row = self._new_row(tx, values)
        key = str(row[self.key])
        tx.connection.execute(insert(self.table).values(self._written(row)))
        self._follow(tx, None, row)
        return self._record_change(tx, "add", key, None, self.show(tx, key))

    def fresh_key(self, tx: OperatorTransaction) -> str | None:
        """A key for a new one, for `add_once`; None where keys are not made up."""
        return str(self._complete(tx, {})[self.key]) if self.key in self.generated else None

    def add_once(self, tx: OperatorTransaction, key: str, values: Values) -> ChangeResult:
        """Add one under a fresh key. The same again changes nothing; a key that another took meanwhile is made anew."""
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

    def show(self, tx: OperatorTransaction, key: str) -> Record:
        return self.record_of(self._require(tx, key))

    def list(
        self,
        tx: OperatorTransaction,
        filters: Values | None = None,
        after: str | None = None,
        limit: int | None = PAGE_SIZE,
    ) -> Records:
        """Those that all filters let through, in order, from behind the key `after` on."""
        query = self._paged(tx, self._query(), filters or {}, after, limit)
        return [self.record_of(dict(row)) for row in tx.connection.execute(query).mappings()]

    # How they do it

    def _paged(
        self, tx: OperatorTransaction, query: Select[Any], filters: Values, after: str | None, limit: int | None
    ) -> Select[Any]:
        """A query for no more than a page."""
        known = self._filters_for(filters)
        for name, value in filters.items():
            query = query.where(known[name].condition(tx, value))
        order = self._order()
        if after is not None:
            query = query.where(tuple_(*order) > tuple_(*self._place(after)))
        return query.order_by(*order).limit(limit)

    def _new_row(self, tx: OperatorTransaction, values: Values) -> Row:
        """The row of a new one, if it can be added."""
        row = self._row(tx, self._complete(tx, values))
        key = str(row[self.key])
        if self._find(tx, key) is not None:
            raise ValidationError([((self.key,), f"there is {with_article(self.label)} {key} already")])
        self._check(tx, None, row)
        return row

    def _change(self, tx: OperatorTransaction, verb: str, current: Row, values: Values) -> ChangeResult:
        before = self.record_of(current)
        for field in self.fixed.intersection(values):
            if values[field] != before.get(field):
                raise OperatorError(f"{field}: cannot be changed")
        return self._write(tx, verb, current, self._changed_row(tx, before, values))

    def _changed_row(self, tx: OperatorTransaction, before: Record, values: Values) -> Row:
        """The row of one with other values; names that it has already may stay."""
        return self._row(tx.keeping(frozenset(texts_in(before))), before | dict(values))

    def _write(self, tx: OperatorTransaction, verb: str, current: Row, row: Row) -> ChangeResult:
        """Make the current row this one, if it is not."""
        before = self.record_of(current)
        key = self.key_of(before)
        if row == {column: current[column] for column in row}:
            return ChangeResult(key, before, before)
        self._check(tx, current, row)
        tx.connection.execute(update(self.table).where(self._is(current)).values(self._written(row)))
        self._follow(tx, current, current | row)
        (after,) = tx.connection.execute(self._query().where(self._is(current))).mappings()
        record = self.record_of(dict(after))
        if (other := self.key_of(record)) != key:
            # Under the new key, too: whoever looks for that one finds what it was called before.
            record_change(tx, f"{self.name}.rename", other, before, record)
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
        query = self._query().where(self.table.c[self.key] == self._value_of(key))
        row = tx.connection.execute(query).mappings().one_or_none()
        return None if row is None else dict(row)

    def _require(self, tx: OperatorTransaction, key: str) -> Row:
        row = self._find(tx, key)
        if row is None:
            raise OperatorError(f"there is no {self.label} {key}")
        return row

    def _refuse_taken_name(self, tx: OperatorTransaction, before: Row | None, after: Row) -> None:
        """Refuse a name that another one has already."""
        columns = self.table.c
        if before is not None and before["name"] == after["name"]:
            return
        if tx.connection.scalar(select(columns.id).where(columns.name == after["name"])) is not None:
            raise ValidationError([(("name",), f"there is {with_article(self.label)} {after['name']} already")])


class NumberedEntityType(EntityType):
    """A noun whose ids are digits as text: listed by number."""

    def _order(self) -> tuple[ColumnElement[Any], ...]:
        key = self.table.c[self.key]
        return func.length(key), key

    def _place(self, key: str) -> tuple[Any, ...]:
        return len(key), key
