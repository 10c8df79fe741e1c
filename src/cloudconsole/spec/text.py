"""Escape and truncate untrusted text; format a value for a table cell."""

import json
import unicodedata
from collections.abc import Callable
from typing import Any, Final


def escape(text: str) -> str:
    """The text on one line: whatever is not seen, or moves what is, as a Python escape."""
    return _escaped(text, lambda unseen: unseen.encode("unicode_escape").decode())


def escape_json(text: str) -> str:
    """JSON text on one line: besides what JSON escapes anyway, what a terminal or a reader of lines would act upon."""
    return _escaped(text, lambda unseen: json.dumps(unseen)[1:-1])


def _escaped(text: str, escape: Callable[[str], str]) -> str:
    if text.isprintable():
        return text
    return "".join(each if _is_printable(each) else escape(each) for each in text)


def _is_printable(character: str) -> bool:
    # Spaces of other widths, such as that of Chinese text, count as unprintable in Python.
    return character.isprintable() or unicodedata.category(character) == "Zs"


def format_cell(value: Any) -> str:
    """Like a line, it does not control what shows it."""
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


def escape_and_truncate(text: object, most: int = SHORT_LENGTH) -> str:
    """On one line, and of so many characters at the most."""
    # Cut before, too: a console may send very much.
    shown = escape(str(text)[: most + 1])
    return shown if len(shown) <= most else f"{shown[: most - 1]}…"
