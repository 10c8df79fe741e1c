"""Fields of test control requests."""

import re
from collections.abc import Collection
from typing import Any, Final, NoReturn

from msgspec import MsgspecError, ValidationError
from msgspec.json import Decoder

from cloudconsole.server.http.body import Fields, json_text, media_type, read_body
from cloudconsole.server.http.request import Request
from cloudconsole.spec.errors import InvalidField, MalformedBody
from cloudconsole.spec.i18n import Text
from cloudconsole.spec.operations import JSON

MAX_BODY_BYTES: Final = 65_536

# Python's float turns numbers out of range into infinity instead of raising an error.
_decode: Final = Decoder(float_hook=float).decode
_LONG_NUMBER: Final = re.compile("(?<![0-9])([0-9]{1000})[0-9]+")


async def read_fields(request: Request, known: Collection[str], max_bytes: int = MAX_BODY_BYTES) -> Fields:
    """Return the fields of a JSON body without nulls."""
    body = await read_body(request, max_bytes)
    media_type(request, (JSON,))
    fields = _parse(body)
    for name in fields:
        if name not in known:
            among = ", ".join(known)
            reject(name[:64], f"is unknown; known fields: {among}", f"未知；可用的字段为：{among}")
    return {name: value for name, value in fields.items() if value is not None}


def _parse(body: bytes) -> Fields:
    try:
        text = json_text(body)
        try:
            fields = _decode(text)
        except ValidationError:
            # Well-formed, but with an integer too long to decode. No valid value is as long, so truncate it.
            fields = _decode(_LONG_NUMBER.sub(r"\1", text))
    except (ValueError, MsgspecError, RecursionError):
        raise MalformedBody from None
    if not isinstance(fields, dict):
        raise MalformedBody
    return fields


def reject(field: str, en: str, zh: str) -> NoReturn:
    raise InvalidField(field, Text(f"The field '{{field}}' {en}.", f"字段“{{field}}”{zh}。"))


def switch(fields: Fields, name: str) -> bool | None:
    value = fields.get(name)
    if value is not None and not isinstance(value, bool):
        reject(name, "must be true or false", "必须是 true 或 false")
    return value


def whole_number(fields: Fields, name: str, low: int, high: int) -> int | None:
    value = fields.get(name)
    if value is not None and (type(value) is not int or not low <= value <= high):
        reject(name, f"must be a whole number from {low} to {high}", f"必须是 {low} 到 {high} 的整数")
    return value


def number(fields: Fields, name: str, low: float, high: float) -> float | None:
    value = fields.get(name)
    # NaN fails every comparison.
    if value is not None and (type(value) not in (int, float) or not low <= value <= high):
        reject(name, f"must be a number from {low} to {high}", f"必须是 {low} 到 {high} 的数字")
    return value


def one_of(fields: Fields, name: str, choices: Collection[str]) -> str | None:
    value: Any = fields.get(name)
    if value is not None and (not isinstance(value, str) or value not in choices):
        among = ", ".join(choices)
        reject(name, f"must be one of: {among}", f"必须是下列之一：{among}")
    return value
