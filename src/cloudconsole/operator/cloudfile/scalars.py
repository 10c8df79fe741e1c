"""What a plain word in a YAML file means: YAML 1.2's core schema and dates, every number exact.

A number with zeros in front stays text: YAML's versions differ in what it means.
"""

import re
from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from typing import Any, Final


class TimeText(str):
    """A date or time that stood in the file without quotes, as it stood there."""

    __slots__ = ()


def _boolean(text: str) -> bool:
    return text.lower() == "true"


def _whole(text: str) -> int:
    number = int(text, 0)
    # Python reads hexadecimal digits without end, but does not write as many decimal ones.
    str(number)
    return number


def _special(text: str) -> Decimal:
    return Decimal(text.replace(".", ""))


_MEANINGS: Final[tuple[tuple[re.Pattern[str], Callable[[str], Any]], ...]] = (
    (re.compile(r"|~|null|Null|NULL"), lambda _text: None),
    (re.compile(r"true|True|TRUE|false|False|FALSE"), _boolean),
    (re.compile(r"[-+]?(?:0|[1-9][0-9]*)|0o[0-7]+|0x[0-9a-fA-F]+"), _whole),
    (re.compile(r"[-+]?(?:\.[0-9]+|(?:0|[1-9][0-9]*)(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?"), Decimal),
    (re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)"), _special),
    (re.compile(r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}(?:(?:[Tt]|[ \t]+)[0-9]{1,2}:.*)?"), TimeText),
)
_FIRST_CHARACTERS: Final = frozenset("~nNtTfF+-.0123456789")


def meaning_of(text: str) -> Any:
    """The value of a word without quotes; ValueError where no computer can hold it."""
    if text and text[0] not in _FIRST_CHARACTERS:
        return text
    for pattern, make in _MEANINGS:
        if pattern.fullmatch(text):
            try:
                return make(text)
            except (ValueError, InvalidOperation):
                raise ValueError("is a number too large to hold") from None
    return text
