"""Parameters of actions: decoding and validation, one by one, so that an error names the invalid one."""

from collections.abc import Callable
from functools import cache
from typing import Any, Final, NamedTuple

import msgspec
from msgspec import DecodeError, Struct, ValidationError
from msgspec.inspect import BoolType, FloatType, IntType, LiteralType, Metadata, StrType, Type, type_info
from msgspec.structs import fields as fields_of

from cloudconsole.server.http.body import Fields, required_identifier, undecoded_json
from cloudconsole.spec.actions import Identifier
from cloudconsole.spec.errors import InvalidField, MalformedBody, MissingField
from cloudconsole.spec.operations import JSON

_ABSENT: Final = (b"null", b'""')
_SCALARS: Final = (StrType, IntType, FloatType, BoolType, LiteralType)


class _Parameter(NamedTuple):
    name: str
    sent_as: str
    type: Any
    is_required: bool
    is_scalar: bool


_Decode = Callable[[_Parameter, Any], Any]


def read_parameters(kind: type[Struct], fields: Fields, body: bytes, media: str) -> Struct:
    """Return the parameters; null and empty text count as absent. `fields` are the identifiers, and all of a form."""
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
    texts = {name: text for name, raw in given.items() if (text := bytes(raw)) not in _ABSENT}
    try:
        return _decoded(parameters, texts, lambda each, text: msgspec.json.decode(text, type=each.type))
    except (DecodeError, RecursionError):
        raise MalformedBody from None


def _from_form(parameters: tuple[_Parameter, ...], fields: Fields) -> dict[str, Any]:
    return _decoded(parameters, {name: text for name, text in fields.items() if text}, _from_text)


def _from_text(parameter: _Parameter, text: str) -> Any:
    """Decode a value of a form: lists and objects are JSON."""
    if parameter.is_scalar:
        return msgspec.convert(text, parameter.type, strict=False)
    try:
        return msgspec.json.decode(text, type=parameter.type)
    except (DecodeError, RecursionError) as problem:
        raise ValidationError(str(problem)) from None


def _decoded(parameters: tuple[_Parameter, ...], given: dict[str, Any], decode: _Decode) -> dict[str, Any]:
    values = {}
    for each in parameters:
        if each.sent_as in given:
            try:
                values[each.name] = decode(each, given[each.sent_as])
            except ValidationError as problem:
                raise InvalidField.because(each.sent_as, str(problem)) from None
        elif each.is_required:
            raise MissingField(each.sent_as)
    return values


@cache
def _parameters_of(kind: type[Struct]) -> tuple[_Parameter, ...]:
    return tuple(
        _Parameter(each.name, each.encode_name, each.type, each.required, _is_scalar(type_info(each.type)))
        for each in fields_of(kind)
    )


def _is_scalar(kind: Type) -> bool:
    return _is_scalar(kind.type) if isinstance(kind, Metadata) else isinstance(kind, _SCALARS)
