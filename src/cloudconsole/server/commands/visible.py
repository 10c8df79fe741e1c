"""Text from anywhere as a terminal may show it: seen whole, and never obeyed."""

import unicodedata


def visible(text: str) -> str:
    """The text with every control character, those that turn its direction too, written out as Python writes it."""
    if text.isprintable():
        return text
    return "".join(character if _is_seen(character) else _written_out(character) for character in text)


def _is_seen(character: str) -> bool:
    # Spaces of other widths, such as that of Chinese text, count as unprintable in Python.
    return character.isprintable() or unicodedata.category(character) == "Zs"


def _written_out(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")
