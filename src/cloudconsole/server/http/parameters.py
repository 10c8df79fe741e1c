"""Parameters of actions: decoding and validation, one by one, so that an error names the invalid one."""

import re
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, Final, NamedTuple

import msgspec
from msgspec import DecodeError, Struct, ValidationError
from msgspec.inspect import (
    CollectionType,
    DictType,
    IntType,
    Metadata,
    NoneType,
    StructType,
    TupleType,
    Type,
    UnionType,
    type_info,
)
from msgspec.json import Decoder
from msgspec.structs import fields as fields_of

from cloudconsole.server.http.body import Fields, required_identifier, undecoded_json
from cloudconsole.server.http.parameter_problems import invalid_parameter
from cloudconsole.spec.actions import Identifier
from cloudconsole.spec.errors import MalformedBody, MissingField
from cloudconsole.spec.operations import JSON

_STRUCTURED: Final = (CollectionType, TupleType, DictType, StructType)
_MAX_EXACT: Final = 2**53
_INTEGER: Final = re.compile("-?[0-9]{1,30}")


def _number(text: str) -> int | float:
    """Read 2.0 as an integer, which it is by JSON Schema."""
    number = float(text)
    return int(number) if number.is_integer() and abs(number) < _MAX_EXACT else number


_decode: Final = Decoder(float_hook=_number).decode


class _Parameter(NamedTuple):
    name: str
    sent_as: str
    type: Any
    is_required: bool
    is_integer: bool
    is_structured: bool


_Decode = Callable[[_Parameter, Any], Any]


def read_parameters(kind: type[Struct], fields: Fields, body: bytes, media: str) -> Struct:
    """Return the parameters. `fields` are the identifiers, and all of a form.

    Null counts as absent, as does empty text in a form or for a required parameter.
    """
    parameters = _parameters_of(kind)
    identifiers = {
        each.name: required_identifier(fields, each.sent_as) for each in parameters if each.type == Identifier
    }
    typed = tuple(each for each in parameters if each.type != Identifier)
    if not typed:
        return kind(**identifiers)
    return kind(**identifiers, **(_from_json(typed, body) if media == JSON else _from_form(typed, fields)))


def _from_json(parameters: tuple[_Parameter, ...], body: bytes) -> dict[str, Any]:
    # The body has been parsed once, so it is valid JSON except for the texts in these fields.
    given = undecoded_json(body, tuple(each.sent_as for each in parameters))
    required = {each.sent_as for each in parameters if each.is_required}
    texts = {
        name: text
        for name, raw in given.items()
        if (text := bytes(raw)) != b"null" and not (text == b'""' and name in required)
    }
    try:
        return _decoded(parameters, texts, lambda each, text: msgspec.convert(_decode(text), each.type))
    except (DecodeError, RecursionError):
        raise MalformedBody from None


def _from_form(parameters: tuple[_Parameter, ...], fields: Fields) -> dict[str, Any]:
    return _decoded(parameters, {name: text for name, text in fields.items() if text}, _from_text)


def _from_text(parameter: _Parameter, text: str) -> Any:
    """Decode a value of a form: lists and objects are JSON."""
    if not parameter.is_structured:
        if parameter.is_integer and not _INTEGER.fullmatch(text):
            raise ValidationError("Expected `int`")
        return msgspec.convert(text, parameter.type, strict=False)
    try:
        return msgspec.convert(_decode(text), parameter.type)
    except (DecodeError, RecursionError) as problem:
        raise ValidationError(str(problem)) from None


def _decoded(parameters: tuple[_Parameter, ...], given: dict[str, Any], decode: _Decode) -> dict[str, Any]:
    values = {}
    for each in parameters:
        if each.sent_as in given:
            try:
                values[each.name] = decode(each, given[each.sent_as])
            except ValidationError as problem:
                raise invalid_parameter(each.sent_as, str(problem)) from None
        elif each.is_required:
            raise MissingField(each.sent_as)
    return values


@cache
def _parameters_of(kind: type[Struct]) -> tuple[_Parameter, ...]:
    parameters = []
    for each in fields_of(kind):
        kinds = list(_kinds(type_info(each.type)))
        is_integer = all(isinstance(one, IntType | NoneType) for one in kinds)
        is_structured = any(isinstance(one, _STRUCTURED) for one in kinds)
        parameters.append(_Parameter(each.name, each.encode_name, each.type, each.required, is_integer, is_structured))
    return tuple(parameters)


def _kinds(kind: Type) -> Iterator[Type]:
    """Yield the types of a union, or the type itself, without their annotations."""
    if isinstance(kind, Metadata):
        yield from _kinds(kind.type)
    elif isinstance(kind, UnionType):
        for each in kind.types:
            yield from _kinds(each)
    else:
        yield kind
