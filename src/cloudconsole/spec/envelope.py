"""Response envelope: `message`, `code`, `data`, and for errors `error` and optionally `field`."""

from functools import cache
from typing import Annotated

import msgspec
from msgspec import UNSET, UnsetType

from cloudconsole.spec.errors import ApiError
from cloudconsole.spec.i18n import Language, Text
from cloudconsole.spec.records import field_doc

encode = msgspec.json.Encoder(decimal_format="number").encode


class Refusal(msgspec.Struct):
    """Envelope of every error. Programs read `code` and `error`."""

    message: Annotated[
        str, field_doc("Human-readable, in Chinese or English according to `Accept-Language`. It may change.")
    ]
    code: Annotated[int, field_doc("The HTTP status.")]
    data: Annotated[dict[str, str], field_doc("Always empty.", maxProperties=0)]
    error: Annotated[str, field_doc("A stable identifier for programs.")]
    field: Annotated[str, field_doc("The invalid request field, if the error concerns one.")] | UnsetType = UNSET


def success(text: Text, language: Language, data: bytes) -> bytes:
    """Wrap `data`, which is encoded JSON: payloads are encoded once and cached."""
    return b'{"message":%b,"code":200,"data":%b}' % (_message(text, language), data)


def notice(text: Text, code: int, language: Language, **values: object) -> bytes:
    """Encode an envelope without data for a response that is neither success nor error."""
    return encode({"message": text.format_in(language, **values), "code": code, "data": {}})


def error(error: ApiError, language: Language) -> bytes:
    return encode(Refusal(error.message(language), error.code, {}, error.error, error.field or UNSET))


@cache
def _message(text: Text, language: Language) -> bytes:
    return encode(text.format_in(language))
