"""Input-field metadata and list filters."""

from collections.abc import Callable, Collection, Mapping
from functools import cache
from types import UnionType
from typing import Any, Final, Literal, NamedTuple, Union, get_args, get_origin

from pydantic import BeforeValidator
from pydantic.fields import FieldInfo
from sqlalchemy import ColumnElement, Table, or_

from cloudconsole.operator.entities.references import find_node, find_tenant
from cloudconsole.operator.entity_models import EntityModel
from cloudconsole.operator.errors import ValidationError
from cloudconsole.operator.fields import TIME
from cloudconsole.operator.messages import Enumeration, Message, Term
from cloudconsole.operator.transaction import OperatorTransaction
from cloudconsole.spec.i18n import Text
from cloudconsole.store.sql import contains, starts_with

InputType = Literal["text", "number", "switch", "json", "time"]
_HIDDEN: Final = frozenset({"password", "password_hash", "password_file"})
"""Fields that only a cloud file has."""


class InputField(NamedTuple):
    """Metadata of an input field, for flags and forms."""

    name: str
    help: str
    shape: InputType
    is_required: bool = False
    may_be_nothing: bool = False
    choices: tuple[str, ...] = ()
    """All valid values, if they are few."""
    default: Any = None
    """The value if omitted."""


def inputs_of(model: type[EntityModel], generated: Mapping[str, str]) -> tuple[InputField, ...]:
    """Return the inputs of a model; generated fields are optional."""
    return tuple(
        given._replace(help=f"{given.help} (default: {generated[given.name]})", is_required=False)
        if given.name in generated
        else given
        for given in _fields_of(model)
    )


@cache
def _fields_of(model: type[EntityModel]) -> tuple[InputField, ...]:
    fields = {info.alias or name: info for name, info in model.model_fields.items()}
    return tuple(
        InputField(
            name,
            info.description or "",
            _shape(info),
            is_required=info.is_required(),
            may_be_nothing=type(None) in get_args(info.annotation),
            choices=_choices(info.annotation),
            default=None if info.is_required() else info.default,
        )
        for name, info in fields.items()
        if name not in _HIDDEN
    )


def _choices(annotation: Any) -> tuple[str, ...]:
    """Return the values of a `Literal`, which may be optional."""
    literals = [each for each in (annotation, *get_args(annotation)) if get_origin(each) is Literal]
    return get_args(literals[0]) if literals else ()


def _shape(info: FieldInfo) -> InputType:
    kind: Any = info.annotation
    if kind is bool:
        return "switch"
    if TIME in (*info.metadata, *(part for choice in get_args(kind) for part in getattr(choice, "__metadata__", ()))):
        return "time"
    # Prices are integers only internally: their input is text.
    if kind is int and not any(isinstance(part, BeforeValidator) for part in info.metadata):
        return "number"
    return "text" if kind in (int, str) or get_origin(kind) in (Literal, Union, UnionType) else "json"


class Filter(NamedTuple):
    """A list filter: its help text and the condition for a value."""

    help: str
    condition: Callable[[OperatorTransaction, Any], ColumnElement[bool]]
    is_switch: bool = False
    choices: tuple[str, ...] = ()
    """All valid values, if they are few."""


MAX_SEARCH_LENGTH: Final = 255


def search_filter(subject: str, *columns: ColumnElement[Any]) -> Filter:
    """Return a filter by a part of any of these columns."""

    def condition(tx: OperatorTransaction, text: str) -> ColumnElement[bool]:
        if len(text) > MAX_SEARCH_LENGTH:
            problem = Message("must have at most {length} characters", "最多 {length} 个字符", length=MAX_SEARCH_LENGTH)
            raise ValidationError([(("search",), problem)])
        return or_(*(contains(tx.connection, column, text) for column in columns))

    return Filter(f"only those whose {subject} contains this, ignoring the case of A to Z", condition)


def prefix_filter(column: ColumnElement[Any], subject: str) -> Filter:
    return Filter(f"only those whose {subject} begins with this", lambda _tx, prefix: starts_with(column, prefix))


def switch_filter(column: ColumnElement[bool], help_text: str) -> Filter:
    return Filter(help_text, lambda _tx, _value: column, is_switch=True)


def value_filter(column: ColumnElement[Any], help_text: str) -> Filter:
    return Filter(help_text, lambda _tx, value: column == value)


def name_filters(table: Table) -> Mapping[str, Filter]:
    """Return the filters of entities with a name and the field `disabled`."""
    return {
        "search": search_filter("name", table.c.name),
        "prefix": prefix_filter(table.c.name, "name"),
        "disabled": switch_filter(table.c.disabled, "only the disabled ones"),
    }


def tenant_filter(column: ColumnElement[Any]) -> Filter:
    return Filter("only this tenant's", lambda tx, name: column == find_tenant(tx, name)["id"])


def node_filter(column: ColumnElement[Any], help_text: str) -> Filter:
    return Filter(help_text, lambda tx, name: column == find_node(tx, name)["id"])


def kind_filter(column: ColumnElement[Any], help_text: str, kinds: Collection[str]) -> Filter:
    def condition(_tx: OperatorTransaction, kind: str) -> ColumnElement[bool]:
        if kind not in kinds:
            raise ValidationError([(("kind",), _unknown_kind(kind, kinds))])
        return column == kind

    return Filter(help_text, condition, choices=tuple(kinds))


def _unknown_kind(kind: str, kinds: Collection[str]) -> Message:
    known = Enumeration([Term("kind", each) for each in kinds], Text(", ", "、"))
    return Message("unknown kind {kind}: use {kinds}", "未知的种类 {kind}：可选 {kinds}", kind=kind, kinds=known)
