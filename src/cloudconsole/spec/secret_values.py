"""Remove secrets from texts by their values."""

import json
import re
from collections.abc import Callable, Iterable
from html import escape
from typing import Final
from urllib.parse import quote, quote_plus

MIN_LENGTH: Final = 8
"""Shorter values may occur anywhere as ordinary words: replacing those would disclose them."""
_WORDS: Final = frozenset({"password", "username"})
"""Longer words that rejections of logins contain."""
HIDDEN: Final = "[secret]"


def distinctive(passwords: Iterable[str]) -> list[str]:
    """Return the passwords that can be told from ordinary words."""
    return [password for password in passwords if len(password) >= MIN_LENGTH and password.lower() not in _WORDS]


class Secrets:
    """Secrets to remove from texts, in every encoding in which a server may return them."""

    def __init__(self, passwords: Iterable[str], hidden: str = HIDDEN) -> None:
        """`hidden` replaces them."""
        self._hidden = hidden
        # Longest first: one secret may be part of another.
        forms = sorted({form for password in passwords for form in _encodings(password)}, key=len, reverse=True)
        self._passwords = re.compile("|".join(map(re.escape, forms)), re.IGNORECASE) if forms else None
        self._cookies: set[str] = set()

    def add_cookie(self, value: str) -> None:
        if len(value) >= MIN_LENGTH:
            self._cookies |= {value, *(quoter(value) for quoter in _QUOTERS)}

    def remove_from(self, text: str) -> str:
        if self._passwords is not None:
            text = self._passwords.sub(lambda _: self._hidden, text)
        for value in sorted((value for value in self._cookies if value in text), key=len, reverse=True):
            text = text.replace(value, self._hidden)
        return text


_QUOTERS: Final[tuple[Callable[[str], str], ...]] = (
    lambda text: json.dumps(text)[1:-1],
    lambda text: json.dumps(text, ensure_ascii=False)[1:-1],
)
"""How `json_line` may encode a text."""

_ENCODERS: Final[tuple[Callable[[str], str], ...]] = (
    str,
    quote,
    quote_plus,
    escape,
    lambda text: quote(text, safe=""),
    lambda text: quote_plus(text, encoding="latin-1", errors="replace"),
    lambda text: text.encode("latin-1", "replace").decode("utf-8", "backslashreplace"),
    lambda text: json.dumps(text)[1:-1].replace("/", r"\/"),
    *_QUOTERS,
)
"""How a server may encode it."""


def _encodings(secret: str) -> set[str]:
    forms = {encode(secret) for encode in _ENCODERS} - {""}
    # Twice: the quoted value may be JSON within JSON.
    for _ in range(2):
        forms |= {quoter(form) for form in forms for quoter in _QUOTERS}
    return forms
