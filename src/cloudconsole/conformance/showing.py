"""Values from elsewhere in a line that people and programs read, and secrets kept out of it."""

import json
from collections.abc import Iterable
from html import escape
from typing import Any, Final
from urllib.parse import quote, quote_plus

LONGEST: Final = 400
READ_AT_MOST: Final = 65_536
"""Much more than is shown of a text: a secret that is cut in two would not be known for one."""
HIDDEN: Final = "[secret]"


def shown(value: Any) -> str:
    """A value as JSON on one line, a set as a list; where something in it could not be seen, all of it in ASCII."""
    if isinstance(value, bytes):
        return shown(value.decode("utf-8", "backslashreplace"))
    text = json.dumps(value, ensure_ascii=False, default=sorted)
    return text if text.isprintable() else json.dumps(value, default=sorted).replace("\x7f", "\\u007f")


def one_line(text: str, secrets: Iterable[str]) -> str:
    """The text without secrets, without anything that a terminal would act upon, and not too long."""
    text = text[:READ_AT_MOST]
    # Longest first: one may be a part of another.
    for secret in sorted(_in_every_form(secrets), key=len, reverse=True):
        text = text.replace(secret, HIDDEN)
    seen = "".join(each if each.isprintable() else each.encode("unicode_escape").decode() for each in text)
    return seen if len(seen) <= LONGEST else f"{seen[:LONGEST]}…"


def _in_every_form(secrets: Iterable[str]) -> set[str]:
    forms: set[str] = set()
    for secret in secrets:
        forms |= {secret, quote(secret, safe=""), quote_plus(secret), escape(secret)}
        forms |= {json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1]}
    return forms - {""}
