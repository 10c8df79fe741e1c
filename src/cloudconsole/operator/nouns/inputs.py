"""What a noun's fields take, for whoever asks an operator for them: read off the models."""

from collections.abc import Mapping
from functools import cache
from types import UnionType
from typing import Any, Final, Literal, NamedTuple, Union, get_args, get_origin

from pydantic import BeforeValidator
from pydantic.fields import FieldInfo

from cloudconsole.operator.fields import TIME
from cloudconsole.operator.models import Part

Shape = Literal["text", "number", "switch", "json", "time"]
_HIDDEN: Final = frozenset({"password", "password_hash", "password_file"})
"""Fields that only a file has."""


class Input(NamedTuple):
    """One field: its name, what it is for, how it is written, and whether it must be given or may be nothing."""

    name: str
    help: str
    shape: Shape
    is_required: bool = False
    may_be_nothing: bool = False
    choices: tuple[str, ...] = ()
    """All that it may be, where that is little."""
    default: Any = None
    """What it is where it is not given."""


def inputs_of(model: type[Part], made_up: Mapping[str, str]) -> tuple[Input, ...]:
    """The inputs of a model's fields; what is made up where it is missing is not required."""
    return tuple(
        given._replace(help=f"{given.help} (default: {made_up[given.name]})", is_required=False)
        if given.name in made_up
        else given
        for given in _fields_of(model)
    )


@cache
def _fields_of(model: type[Part]) -> tuple[Input, ...]:
    fields = {info.alias or name: info for name, info in model.model_fields.items()}
    return tuple(
        Input(
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


def _shape(info: FieldInfo) -> Shape:
    kind: Any = info.annotation
    if kind is bool:
        return "switch"
    if TIME in (*info.metadata, *(part for choice in get_args(kind) for part in getattr(choice, "__metadata__", ()))):
        return "time"
    # Prices are numbers inside only: they are written as text.
    if kind is int and not any(isinstance(part, BeforeValidator) for part in info.metadata):
        return "number"
    return "text" if kind in (int, str) or get_origin(kind) in (Literal, Union, UnionType) else "json"
