"""Escape and truncate untrusted text; format a value for a table cell."""

import json
import unicodedata
from collections.abc import Callable
from typing import Any, Final


def escape(text: str) -> str:
    """Escape invisible and control characters, so that the text is one safe line."""
    return _escaped(text, lambda character: character.encode("unicode_escape").decode())


def escape_json(text: str) -> str:
    """Escape, in JSON text, characters that a terminal or a line reader would interpret."""
    return _escaped(text, lambda character: json.dumps(character)[1:-1])


def _escaped(text: str, escape: Callable[[str], str]) -> str:
    if text.isprintable():
        return text
    return "".join(each if _is_printable(each) else escape(each) for each in text)


def _is_printable(character: str) -> bool:
    # Python counts other spaces, such as the ideographic space, as unprintable.
    return character.isprintable() or unicodedata.category(character) == "Zs"


def format_cell(value: Any) -> str:
    """Format a value as one escaped line."""
    if value is None or value is False:
        return "" if value is None else "no"
    if value is True:
        return "yes"
    if not isinstance(value, dict | list):
        return escape(str(value))
    # Imported here so that `cloudconsole --help` does not load msgspec.
    from cloudconsole.spec.envelope import encode

    return escape(encode(value).decode())


SHORT_LENGTH: Final = 40
LONG_LENGTH: Final = 1000


def escape_and_truncate(text: object, max_length: int = SHORT_LENGTH) -> str:
    """Escape the text and truncate it to a maximum length."""
    # Truncate first, too: a console may send very long text.
    escaped = escape(str(text)[: max_length + 1])
    return escaped if len(escaped) <= max_length else f"{escaped[: max_length - 1]}…"


def is_utf8_encodable(text: str) -> bool:
    """Whether the text can be encoded: undecodable input contains lone surrogates."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
