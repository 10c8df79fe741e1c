"""What nouns differ in: names, fields and rules, and how the table of each is written and read."""

from abc import ABC, abstractmethod
from collections.abc import Container, Mapping
from typing import Any, ClassVar

from sqlalchemy import ColumnElement, Select, Table, select

from cloudconsole.operator.desk import Desk
from cloudconsole.operator.models import Part
from cloudconsole.operator.nouns.filters import Filter
from cloudconsole.operator.nouns.inputs import Input, inputs_of
from cloudconsole.operator.nouns.wording import SWITCHED
from cloudconsole.operator.records import Record, Row

Values = Mapping[str, Any]


class Traits(ABC):
    """One kind of thing that operators keep. Values and records have the names of a cloud file."""

    name: ClassVar[str]
    thing: ClassVar[str]
    """What people call one."""
    plural: ClassVar[str]
    model: ClassVar[type[Part]]
    table: ClassVar[Table]
    key: ClassVar[str] = "id"
    """The field, and the column, that names one."""
    owner: ClassVar[str | None] = None
    """What is said of the field `tenant`, where there is one."""
    may_lack_owner: ClassVar[bool] = False
    fixed: ClassVar[frozenset[str]] = frozenset()
    """Fields that stay as they were added."""
    verbs: ClassVar[tuple[str, ...]] = ("add", "change", "disable", "enable", "remove", "show", "list")
    made_up: ClassVar[Mapping[str, str]] = {}
    """Required fields that need not be given, and what they are then."""
    overridable: ClassVar[frozenset[str]] = frozenset()
    """Verbs with a rule that a desk with `force` overrides."""

    def inputs(self) -> tuple[Input, ...]:
        """The fields that adding one takes, and a record has."""
        own = inputs_of(self.model, self.made_up)
        if self.owner is None:
            return own
        may_lack = self.may_lack_owner
        return Input("tenant", self.owner, "text", is_required=not may_lack, may_be_nothing=may_lack), *own

    def changeable(self) -> tuple[Input, ...]:
        """The fields that changing one takes: those with verbs of their own are none."""
        return tuple(given for given in self.inputs() if given.name not in (*self.fixed, *SWITCHED))

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
    def _row(self, desk: Desk, values: Values) -> Row:
        """Values that were found to fit, as columns."""

    def _complete(self, desk: Desk, values: Values) -> Values:
        """Values for a new one, with what is made up where it is not given."""
        del desk
        return values

    def _check(self, desk: Desk, before: Row | None, after: Row | None) -> None:  # noqa: B027 - many need none
        """Refuse what would leave the cloud wrong."""

    def _written(self, row: Row) -> Row:
        """The columns to write where something changed."""
        return row

    def _follow(self, desk: Desk, before: Row | None, after: Row | None) -> None:  # noqa: B027 - many need none
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
