"""Values from elsewhere in a line that people and programs read, and secrets kept out of it."""

import json
import re
from collections.abc import Callable, Iterable
from html import escape
from typing import Any, Final
from urllib.parse import quote, quote_plus

LONGEST: Final = 400
READ_AT_MOST: Final = 65_536
"""Much more than is shown of a text: a secret that is cut in two would not be known for one."""
SHORTEST_COOKIE: Final = 8
"""A shorter value is a word that may occur anywhere."""
HIDDEN: Final = "[secret]"


def quote_value(value: Any) -> str:
    """A value as JSON on one line, a set as a list; where something in it could not be seen, all of it in ASCII."""
    if isinstance(value, bytes):
        return quote_value(value[:READ_AT_MOST].decode("utf-8", "backslashreplace"))
    text = json.dumps(value, ensure_ascii=False, default=sorted)
    return text if text.isprintable() else json.dumps(value, default=sorted).replace("\x7f", "\\u007f")


class Secrets:
    """What must not be read in any line, in whatever form it was sent back."""

    def __init__(self, passwords: Iterable[str]) -> None:
        # Longest first: one may be a part of another.
        forms = sorted({form for password in passwords for form in _in_every_form(password)}, key=len, reverse=True)
        self._passwords = re.compile("|".join(map(re.escape, forms)), re.IGNORECASE) if forms else None
        self._cookies: set[str] = set()

    def add_cookie(self, value: str) -> None:
        if len(value) >= SHORTEST_COOKIE:
            self._cookies |= {value, *(as_shown(value) for as_shown in _SHOWN)}

    def hidden_in(self, text: str) -> str:
        if self._passwords is not None:
            text = self._passwords.sub(HIDDEN, text)
        for value in sorted((value for value in self._cookies if value in text), key=len, reverse=True):
            text = text.replace(value, HIDDEN)
        return text


def redact(text: str, secrets: Secrets) -> str:
    """The text without secrets, without anything that a terminal would act upon, and not too long."""
    text = secrets.hidden_in(text[:READ_AT_MOST])
    seen = "".join(each if each.isprintable() else each.encode("unicode_escape").decode() for each in text)
    return seen if len(seen) <= LONGEST else f"{seen[:LONGEST]}…"


_SHOWN: Final[tuple[Callable[[str], str], ...]] = (
    lambda text: json.dumps(text)[1:-1],
    lambda text: json.dumps(text, ensure_ascii=False)[1:-1],
)
"""How `shown` may write a text."""

_SENT: Final[tuple[Callable[[str], str], ...]] = (
    str,
    quote,
    quote_plus,
    escape,
    lambda text: quote(text, safe=""),
    lambda text: quote_plus(text, encoding="latin-1", errors="replace"),
    lambda text: text.encode("latin-1", "replace").decode("utf-8", "backslashreplace"),
    lambda text: json.dumps(text)[1:-1].replace("/", r"\/"),
    *_SHOWN,
)
"""How a server may write it."""


def _in_every_form(secret: str) -> set[str]:
    forms = {write(secret) for write in _SENT} - {""}
    # Twice: what is shown may be JSON that was within JSON.
    for _ in range(2):
        forms |= {as_shown(form) for form in forms for as_shown in _SHOWN}
    return forms
