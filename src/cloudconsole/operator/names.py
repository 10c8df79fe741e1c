"""What a name may be: text that is the same to whoever sees it and to whoever compares it."""

import unicodedata
from typing import Final

from cloudconsole.core.usernames import INVISIBLE

_BREAKS: Final = ("Cc", "Zl", "Zp")
_SPACES: Final = " \u3000"
"""The space, and that of Chinese text, which is seen to be another."""
_MEANINGLESS: Final = ("Cn", "Co", "Cs")
CONTROL_CHARACTERS: Final = "must not have control characters, such as a tab or a line break"


def name_problem(text: str) -> str | None:
    """Why this cannot be a name, if so; an empty one is for others to judge."""
    if text.isascii() and text.isprintable() and text == text.strip():
        return None
    if text and not text.strip():
        return "must not be blank"
    return _character_problem(text) or _form_problem(text)


def fitted(text: str) -> str:
    """As much of a text as can be a name; nothing where none of it can."""
    spaced = "".join(" " if character.isspace() and character not in _SPACES else character for character in text)
    seen = "".join(character for character in spaced if _character_problem(character) is None)
    composed = unicodedata.normalize("NFC", seen).strip()
    while composed and unicodedata.category(composed[0]).startswith("M"):
        composed = composed[1:].lstrip()
    return composed


def _character_problem(text: str) -> str | None:
    for character in text:
        category = unicodedata.category(character)
        if category in _BREAKS:
            return CONTROL_CHARACTERS
        if category == "Cf" or INVISIBLE.match(character):
            return f"has the invisible character U+{ord(character):04X}: take it out"
        if category == "Zs" and character not in _SPACES:
            return f"has U+{ord(character):04X}, which looks like a space: write a space"
        if category in _MEANINGLESS:
            return f"has U+{ord(character):04X}, which is no character to all: take it out"
    return None


def _form_problem(text: str) -> str | None:
    if unicodedata.category(text[0]).startswith("M"):
        return "must not begin with an accent: put it behind a letter"
    if text != text.strip():
        return "must not begin or end with a space: take it away"
    if not unicodedata.is_normalized("NFC", text):
        return "must be in Unicode's composed form (NFC): write each letter and its accents as one character"
    return None
