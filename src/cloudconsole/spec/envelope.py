"""The envelope around every answer: `message`, `code`, `data`, and for refusals `error` and perhaps `field`."""

from functools import cache
from typing import Annotated

import msgspec
from msgspec import UNSET, UnsetType

from cloudconsole.spec.errors import ApiError
from cloudconsole.spec.i18n import Language, Text
from cloudconsole.spec.records import field_doc

encode = msgspec.json.Encoder(decimal_format="number").encode


class Refusal(msgspec.Struct):
    """What every error looks like. Programs read `code` and `error`."""

    message: Annotated[str, field_doc("For people; Chinese or English, after `Accept-Language`. It may change.")]
    code: Annotated[int, field_doc("The HTTP status.")]
    data: Annotated[dict[str, str], field_doc("Always empty.", maxProperties=0)]
    error: Annotated[str, field_doc("A stable identifier for programs.")]
    field: Annotated[str, field_doc("The request field at fault, where it is one.")] | UnsetType = UNSET


def success(text: Text, language: Language, data: bytes) -> bytes:
    """An envelope around `data`, which is JSON already: payloads are encoded once and kept."""
    return b'{"message":%b,"code":200,"data":%b}' % (_message(text, language), data)


def notice(text: Text, code: int, language: Language, **values: object) -> bytes:
    """An envelope without data, for what is neither success nor refusal."""
    return encode({"message": text.format_in(language, **values), "code": code, "data": {}})


def error(error: ApiError, language: Language) -> bytes:
    return encode(Refusal(error.message(language), error.code, {}, error.error, error.field or UNSET))


@cache
def _message(text: Text, language: Language) -> bytes:
    return encode(text.format_in(language))
