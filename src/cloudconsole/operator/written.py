"""Values as operators write them, in a flag or a form: text made into what a field takes. A ValueError says why not."""

import json
import re
from decimal import Decimal
from typing import Any, Final

import msgspec

from cloudconsole.operator.rules import LARGEST

_MOST_DIGITS: Final = 18
"""More would fit no field; whether fewer do, the field says."""
_DECODER: Final = msgspec.json.Decoder(float_hook=Decimal)


def number_of(text: str) -> int:
    if not re.fullmatch(r"-?[0-9]+", text):
        raise ValueError("must be a whole number")
    if len(text) > _MOST_DIGITS:
        raise ValueError(f"must be at most {LARGEST}")
    return int(text)


def switch_of(text: str) -> bool:
    if text not in ("true", "false"):
        raise ValueError("must be true or false")
    return text == "true"


def json_of(text: str | bytes) -> Any:
    """JSON in which every number is as exact as it is written."""
    try:
        return _DECODER.decode(text)
    except (msgspec.DecodeError, UnicodeError, RecursionError, ValueError, ArithmeticError):
        raise ValueError(f"must be JSON{_where(text)}") from None


def _where(text: str | bytes) -> str:
    """In which line and column it goes wrong, as far as can be told."""
    try:
        json.loads(text)
    except json.JSONDecodeError as problem:
        return f"; line {problem.lineno}, column {problem.colno}: {_lower(problem.msg)}"
    except (RecursionError, ValueError):
        pass
    return ""


def _lower(words: str) -> str:
    return words[:1].lower() + words[1:].removesuffix(" at")
