"""Quote untrusted values in report lines, and redact secrets."""

import json
from typing import Any, Final

from cloudconsole.spec.secret_values import HIDDEN, Secrets

__all__ = ["HIDDEN", "Secrets", "json_line", "redact"]

MAX_LENGTH: Final = 400
MAX_READ: Final = 65_536
"""Much longer than the shown text: a truncated secret would not be recognised."""


def json_line(value: Any) -> str:
    """Format a value as one line of JSON, a set as a list; in ASCII if it contains unprintable characters."""
    if isinstance(value, bytes):
        return json_line(value[:MAX_READ].decode("utf-8", "backslashreplace"))
    text = json.dumps(value, ensure_ascii=False, default=sorted)
    return text if text.isprintable() else json.dumps(value, default=sorted).replace("\x7f", "\\u007f")


def redact(text: str, secrets: Secrets) -> str:
    """Remove secrets, escape control characters and truncate the text."""
    text = secrets.remove_from(text[:MAX_READ])
    escaped = "".join(each if each.isprintable() else each.encode("unicode_escape").decode() for each in text)
    return escaped if len(escaped) <= MAX_LENGTH else f"{escaped[:MAX_LENGTH]}…"
