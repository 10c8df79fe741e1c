"""Text from elsewhere, made fit for a line that people or programs read."""

import json
import unicodedata
from collections.abc import Callable


def visible(text: str) -> str:
    """The text on one line: whatever is not seen, or moves what is, as a Python escape."""
    return _escaped(text, lambda unseen: unseen.encode("unicode_escape").decode())


def visible_json(text: str) -> str:
    """JSON text on one line: besides what JSON escapes anyway, what a terminal or a reader of lines would act upon."""
    return _escaped(text, lambda unseen: json.dumps(unseen)[1:-1])


def _escaped(text: str, escape: Callable[[str], str]) -> str:
    if text.isprintable():
        return text
    return "".join(each if _is_seen(each) else escape(each) for each in text)


def _is_seen(character: str) -> bool:
    # Spaces of other widths, such as that of Chinese text, count as unprintable in Python.
    return character.isprintable() or unicodedata.category(character) == "Zs"
