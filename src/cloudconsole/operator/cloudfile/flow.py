"""Plain data as one line of YAML that reads back as exactly the same."""

import json
import re
from decimal import Decimal
from typing import Any, Final

_PLAIN: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,63}")
_NOT_PLAIN: Final = frozenset(("null", "true", "false", "yes", "no", "on", "off", "y", "n"))
"""Words that mean something else to one YAML reader or another."""

# Characters that JSON leaves as they are and YAML takes for line breaks or refuses.
_ESCAPED: Final = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")
_LONGEST_PLAIN_KEY: Final = 128


class Plain(str):
    """Text that is known to read back as it stands, such as a time."""

    __slots__ = ()


def flow(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_key(key)}: {flow(part)}" for key, part in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(flow, value)) + "]"
    if isinstance(value, str):
        return _text(value)
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | Decimal):
        return str(value)
    raise TypeError(f"a cloud file holds no {type(value).__name__}")


def _key(key: str) -> str:
    text = _text(key)
    # YAML takes a longer key only where a question mark announces it.
    return text if len(text) <= _LONGEST_PLAIN_KEY else f"? {text} "


def _text(text: str) -> str:
    if isinstance(text, Plain) or (_PLAIN.fullmatch(text) and text.lower() not in _NOT_PLAIN):
        return str(text)
    quoted = json.dumps(text, ensure_ascii=False)
    return _ESCAPED.sub(lambda match: f"\\u{ord(match.group()):04x}", quoted)
