"""Parsing of flag and form text: numbers, switches, JSON."""

import json
import re
from decimal import Decimal
from typing import Any, Final

import msgspec

from cloudconsole.operator.messages import Message
from cloudconsole.operator.resource_and_price_rules import MAX_VALUE
from cloudconsole.spec.i18n import Text

_MAX_DIGITS: Final = 18
"""More digits exceed every field; each field checks its own range."""
_SYNTAX_ERRORS: Final = {
    "expecting ',' delimiter": "缺少逗号",
    "expecting ':' delimiter": "缺少冒号",
    "expecting property name enclosed in double quotes": "缺少双引号括起的属性名",
    "expecting value": "缺少值",
    "extra data": "有多余内容",
    "illegal trailing comma before end of array": "数组末尾有多余逗号",
    "illegal trailing comma before end of object": "对象末尾有多余逗号",
    "invalid \\escape": "转义符无效",
    "invalid \\uxxxx escape": "\\uXXXX 转义无效",
    "invalid \\uXXXX escape": "\\uXXXX 转义无效",
    "invalid control character": "包含控制字符",
    "unterminated string starting": "字符串未结束",
}
"""Messages of Python's JSON parser in Chinese."""
_DECODER: Final = msgspec.json.Decoder(float_hook=Decimal)


def parse_number(text: str) -> int:
    if not re.fullmatch(r"-?[0-9]+", text):
        raise ValueError(Message("must be a whole number", "必须是整数"))
    if len(text) > _MAX_DIGITS:
        raise ValueError(Message("must be at most {most}", "不能大于 {most}", most=MAX_VALUE))
    return int(text)


def parse_switch(text: str) -> bool:
    if text not in ("true", "false"):
        raise ValueError(Message("must be true or false", "必须是 true 或 false"))
    return text == "true"


def parse_json(text: str | bytes) -> Any:
    """Parse JSON, keeping decimals exact."""
    try:
        return _DECODER.decode(text)
    except (msgspec.DecodeError, UnicodeError, RecursionError, ValueError, ArithmeticError):
        raise ValueError(Message("must be JSON{where}", "必须是 JSON{where}", where=_where(text))) from None


def _where(text: str | bytes) -> Text | Message:
    """Return the line and column of the error, if known."""
    try:
        json.loads(text)
    except json.JSONDecodeError as problem:
        english = _lower(problem.msg)
        return Message(
            "; line {line}, column {column}: {problem}",
            "；第 {line} 行第 {column} 列：{problem}",
            line=problem.lineno,
            column=problem.colno,
            problem=Text(english, _SYNTAX_ERRORS.get(english, english)),
        )
    except (RecursionError, ValueError):
        pass
    return Text("", "")


def _lower(words: str) -> str:
    return words[:1].lower() + words[1:].removesuffix(" at")
