"""Input-field metadata and list filters."""

from collections.abc import Callable, Collection, Mapping
from functools import cache
from types import UnionType
from typing import Any, Final, Literal, NamedTuple, Union, get_args, get_origin

from pydantic import BeforeValidator
from pydantic.fields import FieldInfo
from sqlalchemy import ColumnElement, Table

from cloudconsole.operator.entities.references import find_node, find_tenant
from cloudconsole.operator.errors import ValidationError
from cloudconsole.operator.fields import TIME
from cloudconsole.operator.models import EntityModel
from cloudconsole.operator.transaction import OperatorTransaction
from cloudconsole.store.sql import starts_with

InputType = Literal["text", "number", "switch", "json", "time"]
_HIDDEN: Final = frozenset({"password", "password_hash", "password_file"})
"""Fields that only a file has."""


class InputField(NamedTuple):
    """One field: its name, what it is for, how it is written, and whether it must be given or may be nothing."""

    name: str
    help: str
    shape: InputType
    is_required: bool = False
    may_be_nothing: bool = False
    choices: tuple[str, ...] = ()
    """All that it may be, where that is little."""
    default: Any = None
    """What it is where it is not given."""


def inputs_of(model: type[EntityModel], made_up: Mapping[str, str]) -> tuple[InputField, ...]:
    """The inputs of a model's fields; what is made up where it is missing is not required."""
    return tuple(
        given._replace(help=f"{given.help} (default: {made_up[given.name]})", is_required=False)
        if given.name in made_up
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
            choices=get_args(info.annotation) if get_origin(info.annotation) is Literal else (),
            default=None if info.is_required() else info.default,
        )
        for name, info in fields.items()
        if name not in _HIDDEN
    )


def _shape(info: FieldInfo) -> InputType:
    kind: Any = info.annotation
    if kind is bool:
        return "switch"
    if TIME in (*info.metadata, *(part for choice in get_args(kind) for part in getattr(choice, "__metadata__", ()))):
        return "time"
    # Prices are numbers inside only: they are written as text.
    if kind is int and not any(isinstance(part, BeforeValidator) for part in info.metadata):
        return "number"
    return "text" if kind in (int, str) or get_origin(kind) in (Literal, Union, UnionType) else "json"


class Filter(NamedTuple):
    """One way to list fewer: its help, and the condition for a value."""

    help: str
    condition: Callable[[OperatorTransaction, Any], ColumnElement[bool]]
    is_switch: bool = False
    choices: tuple[str, ...] = ()
    """All that it may be, where that is little."""


def prefix_filter(column: ColumnElement[Any], what: str) -> Filter:
    return Filter(f"only those whose {what} begins so", lambda _desk, prefix: starts_with(column, prefix))


def switch_filter(column: ColumnElement[bool], help_text: str) -> Filter:
    return Filter(help_text, lambda _desk, _value: column, is_switch=True)


def value_filter(column: ColumnElement[Any], help_text: str) -> Filter:
    return Filter(help_text, lambda _desk, value: column == value)


def name_filters(table: Table) -> Mapping[str, Filter]:
    """Of what has a name and can be disabled."""
    return {
        "prefix": prefix_filter(table.c.name, "name"),
        "disabled": switch_filter(table.c.disabled, "only the disabled ones"),
    }


def tenant_filter(column: ColumnElement[Any]) -> Filter:
    return Filter("only this tenant's", lambda tx, name: column == find_tenant(tx, name)["id"])


def node_filter(column: ColumnElement[Any], help_text: str) -> Filter:
    return Filter(help_text, lambda tx, name: column == find_node(tx, name)["id"])


def kind_filter(column: ColumnElement[Any], help_text: str, kinds: Collection[str]) -> Filter:
    def condition(_desk: OperatorTransaction, kind: str) -> ColumnElement[bool]:
        if kind not in kinds:
            raise ValidationError([(("kind",), f"there is no kind {kind}: give {', '.join(kinds)}")])
        return column == kind

    return Filter(help_text, condition, choices=tuple(kinds))
