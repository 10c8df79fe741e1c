"""Bilingual texts and `Accept-Language` negotiation."""

from functools import lru_cache
from typing import Final, Literal, NamedTuple

Language = Literal["en", "zh"]

MAX_LANGUAGES: Final = 32
"""Entries of `Accept-Language` that are considered."""


class Text(NamedTuple):
    """One message in both languages."""

    en: str
    zh: str

    def format_in(self, language: Language, **values: object) -> str:
        return getattr(self, language).format(**values) if values else str(getattr(self, language))


@lru_cache(maxsize=512)
def choose_language(accept_language: str) -> Language:
    """Choose Chinese if `Accept-Language` prefers it to English, else English."""
    weights: dict[str, float] = {}
    for entry in accept_language[:1000].split(",", MAX_LANGUAGES)[:MAX_LANGUAGES]:
        tag, _, parameters = entry.partition(";")
        primary = tag.strip().lower().split("-")[0]
        weights[primary] = max(weights.get(primary, 0.0), _weight(parameters))
    anything = weights.get("*", 0.0)
    chinese, english = weights.get("zh", anything), weights.get("en", anything)
    return "zh" if chinese > english else "en"


def _weight(parameters: str) -> float:
    name, _, value = parameters.strip().partition("=")
    if name.strip().lower() != "q":
        return 1.0
    try:
        weight = float(value)
    except ValueError:
        return 0.0
    return weight if 0.0 <= weight <= 1.0 else 0.0
