"""Quote untrusted values in report lines, and redact secrets."""

import json
import re
from collections.abc import Callable, Iterable
from html import escape
from typing import Any, Final
from urllib.parse import quote, quote_plus

MAX_LENGTH: Final = 400
MAX_READ: Final = 65_536
"""Much longer than the shown text: a truncated secret would not be recognised."""
MIN_COOKIE_LENGTH: Final = 8
"""Shorter values may occur anywhere as ordinary words."""
HIDDEN: Final = "[secret]"


def json_line(value: Any) -> str:
    """Format a value as one line of JSON, a set as a list; in ASCII if it contains unprintable characters."""
    if isinstance(value, bytes):
        return json_line(value[:MAX_READ].decode("utf-8", "backslashreplace"))
    text = json.dumps(value, ensure_ascii=False, default=sorted)
    return text if text.isprintable() else json.dumps(value, default=sorted).replace("\x7f", "\\u007f")


class Secrets:
    """Secrets to remove from report lines, in every encoding in which a server may return them."""

    def __init__(self, passwords: Iterable[str]) -> None:
        # Longest first: one secret may be part of another.
        forms = sorted({form for password in passwords for form in _encodings(password)}, key=len, reverse=True)
        self._passwords = re.compile("|".join(map(re.escape, forms)), re.IGNORECASE) if forms else None
        self._cookies: set[str] = set()

    def add_cookie(self, value: str) -> None:
        if len(value) >= MIN_COOKIE_LENGTH:
            self._cookies |= {value, *(quoter(value) for quoter in _QUOTERS)}

    def remove_from(self, text: str) -> str:
        if self._passwords is not None:
            text = self._passwords.sub(HIDDEN, text)
        for value in sorted((value for value in self._cookies if value in text), key=len, reverse=True):
            text = text.replace(value, HIDDEN)
        return text


def redact(text: str, secrets: Secrets) -> str:
    """Remove secrets, escape control characters and truncate the text."""
    text = secrets.remove_from(text[:MAX_READ])
    escaped = "".join(each if each.isprintable() else each.encode("unicode_escape").decode() for each in text)
    return escaped if len(escaped) <= MAX_LENGTH else f"{escaped[:MAX_LENGTH]}…"


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
