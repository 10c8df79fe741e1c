"""Request bodies: bounded in size, in one of two forms, read into plain fields."""

import re
from typing import Any, Final
from urllib.parse import parse_qsl

import msgspec

from cloudconsole.server.http.request import Request
from cloudconsole.spec.errors import (
    BodyTooLarge,
    InvalidField,
    MalformedBody,
    MissingField,
    UnsupportedMediaType,
)
from cloudconsole.spec.wire import JSON

LONGEST_IDENTIFIER: Final = 64

Fields = dict[str, Any]

# By Python's own float, numbers out of its range are infinite instead of an error.
_decode_json: Final = msgspec.json.Decoder(float_hook=float).decode
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_LONG_NUMBER: Final = re.compile("(?<![0-9])([0-9]{1000})[0-9]+")


async def read_body(request: Request, limit: int) -> bytes:
    """The whole body, refused as soon as it is known to be over the limit."""
    if request.head.content_length > limit:
        raise BodyTooLarge(limit)
    while not request.body_complete and len(request.body) <= limit:
        request.body += request.chunk_of(await request.receive())
    if len(request.body) > limit:
        raise BodyTooLarge(limit)
    return request.body


def media_type(request: Request, accepted: tuple[str, ...]) -> str:
    """The body's media type, if it is one of the accepted ones and in UTF-8."""
    name = request.head.media_type
    if name not in accepted or request.head.charset not in ("utf-8", "utf8", ""):
        raise UnsupportedMediaType(accepted)
    return name


def parse_fields(body: bytes, media: str) -> Fields:
    """The fields of a body; of a repeated one the last value counts."""
    try:
        # Decoded first: msgspec does not look at the bytes of text that it skips.
        text = body.decode("utf-8-sig" if media == JSON else "utf-8")
        fields = _parse_json(text) if media == JSON else _parse_form(text)
    except (ValueError, msgspec.MsgspecError, RecursionError):
        raise MalformedBody from None
    if not isinstance(fields, dict):
        raise MalformedBody
    return fields


def _parse_json(text: str) -> Any:
    try:
        return _decode_json(text)
    except msgspec.ValidationError:
        # Well-formed so far, with a whole number too long to hold. No field of ours is as long, so its end may go.
        return _decode_json(_LONG_NUMBER.sub(r"\1", text))


def _parse_form(text: str) -> Fields:
    return dict(parse_qsl(text, keep_blank_values=True, errors="strict"))


def required_text(fields: Fields, name: str) -> str:
    """A field that must be there, as text; absent, null and empty are the same."""
    value = fields.get(name)
    if value is None or value == "":
        raise MissingField(name)
    if not isinstance(value, str):
        raise InvalidField(name)
    return value


def required_identifier(fields: Fields, name: str) -> str:
    """A field that must be an identifier: short text without control characters, or a JSON integer for its digits."""
    value = fields.get(name)
    # bool is an int to Python, but no number to anyone else; huge numbers are refused before they are written out.
    if type(value) is int and abs(value) < 10**LONGEST_IDENTIFIER:
        return required_identifier({name: str(value)}, name)
    text = required_text(fields, name)
    if len(text) > LONGEST_IDENTIFIER or _CONTROL.search(text):
        raise InvalidField(name)
    return text
