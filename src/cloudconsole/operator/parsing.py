"""Parsing of flag and form text: numbers, switches, JSON."""

import json
import re
from decimal import Decimal
from typing import Any, Final

import msgspec

from cloudconsole.operator.resource_and_price_rules import MAX_VALUE

_MAX_DIGITS: Final = 18
"""More digits exceed every field; each field checks its own range."""
_DECODER: Final = msgspec.json.Decoder(float_hook=Decimal)


def parse_number(text: str) -> int:
    if not re.fullmatch(r"-?[0-9]+", text):
        raise ValueError("must be a whole number")
    if len(text) > _MAX_DIGITS:
        raise ValueError(f"must be at most {MAX_VALUE}")
    return int(text)


def parse_switch(text: str) -> bool:
    if text not in ("true", "false"):
        raise ValueError("must be true or false")
    return text == "true"


def parse_json(text: str | bytes) -> Any:
    """Parse JSON, keeping decimals exact."""
    try:
        return _DECODER.decode(text)
    except (msgspec.DecodeError, UnicodeError, RecursionError, ValueError, ArithmeticError):
        raise ValueError(f"must be JSON{_where(text)}") from None


def _where(text: str | bytes) -> str:
    """Return the line and column of the error, if known."""
    try:
        json.loads(text)
    except json.JSONDecodeError as problem:
        return f"; line {problem.lineno}, column {problem.colno}: {_lower(problem.msg)}"
    except (RecursionError, ValueError):
        pass
    return ""


def _lower(words: str) -> str:
    return words[:1].lower() + words[1:].removesuffix(" at")
