"""The fields that a test sends to its console. None is passed over: a misspelled one would prove nothing."""

import re
from collections.abc import Collection
from typing import Any, Final, NoReturn

from msgspec import MsgspecError, ValidationError
from msgspec.json import Decoder

from cloudconsole.server.http.body import Fields, json_text, media_type, read_body
from cloudconsole.server.http.request import Request
from cloudconsole.spec.constants import JSON
from cloudconsole.spec.errors import InvalidField, MalformedBody
from cloudconsole.spec.i18n import Text

MOST_BYTES = 65_536

# By Python's own float, numbers out of its range are infinite instead of an error.
_decode: Final = Decoder(float_hook=float).decode
_LONG_NUMBER: Final = re.compile("(?<![0-9])([0-9]{1000})[0-9]+")


async def read_fields(request: Request, known: Collection[str]) -> Fields:
    """The body's fields, which are JSON; null is as good as absent. Where none are known, nor is a body needed."""
    body = await read_body(request, MOST_BYTES)
    if not (known or body or request.head.media_type):
        return {}
    media_type(request, (JSON,))
    fields = _parse(body if known else body or b"{}")
    for name in fields:
        if name not in known:
            among = ", ".join(known) or "-"
            refuse(name[:64], f"is not known here; these are: {among}", f"未知；可用的字段为：{among}")
    return {name: value for name, value in fields.items() if value is not None}


def _parse(body: bytes) -> Fields:
    try:
        text = json_text(body)
        try:
            fields = _decode(text)
        except ValidationError:
            # Well-formed so far, with a whole number too long to hold. No field of ours is as long, so its end may go.
            fields = _decode(_LONG_NUMBER.sub(r"\1", text))
    except (ValueError, MsgspecError, RecursionError):
        raise MalformedBody from None
    if not isinstance(fields, dict):
        raise MalformedBody
    return fields


def refuse(field: str, en: str, zh: str) -> NoReturn:
    raise InvalidField(field, Text(f"The field '{{field}}' {en}.", f"字段“{{field}}”{zh}。"))


def switch(fields: Fields, name: str) -> bool | None:
    value = fields.get(name)
    if value is not None and not isinstance(value, bool):
        refuse(name, "must be true or false", "必须是 true 或 false")
    return value


def whole_number(fields: Fields, name: str, low: int, high: int) -> int | None:
    value = fields.get(name)
    if value is not None and (type(value) is not int or not low <= value <= high):
        refuse(name, f"must be a whole number from {low} to {high}", f"必须是 {low} 到 {high} 的整数")
    return value


def number(fields: Fields, name: str, low: float, high: float) -> float | None:
    value = fields.get(name)
    # A comparison with what is no number is never true.
    if value is not None and (type(value) not in (int, float) or not low <= value <= high):
        refuse(name, f"must be a number from {low} to {high}", f"必须是 {low} 到 {high} 的数字")
    return value


def one_of(fields: Fields, name: str, choices: Collection[str]) -> str | None:
    value: Any = fields.get(name)
    if value is not None and (not isinstance(value, str) or value not in choices):
        among = ", ".join(choices)
        refuse(name, f"must be one of: {among}", f"必须是下列之一：{among}")
    return value
