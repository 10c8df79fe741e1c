"""What is wrong with a value: where, and in plain words."""

import re
from collections.abc import Mapping
from typing import Final

from pydantic_core import ErrorDetails

Path = tuple[str | int, ...]
"""The way to a value: keys of mappings and places in lists."""

_WORDS: Final[Mapping[str, str]] = {
    "missing": "is missing",
    "extra_forbidden": "is not known here: check the spelling or take it out",
    "string_type": "must be text: put it in quotes",
    "string_unicode": "has half of a character: write the character itself",
    "string_too_short": "must not be empty",
    "string_too_long": "must have at most {max_length} characters",
    "int_type": "must be a whole number",
    "bool_type": "must be true or false",
    "list_type": "must be a list",
    "dict_type": "must be a mapping of names to values",
    "model_type": "must be a mapping of names to values",
    "literal_error": "must be {expected}",
    "greater_than_equal": "must be at least {ge}",
    "less_than_equal": "must be at most {le}",
    "value_error": "{error}",
}


def a(thing: str) -> str:
    """`a tenant`, `an account`, and `a URL` as it is spoken."""
    return f"{'an' if thing[0] in 'aeiou' else 'a'} {thing}"


def path_of(detail: ErrorDetails) -> Path:
    loc = detail["loc"]
    return loc[:-1] if loc[-1] == "[key]" and detail["type"] != "extra_forbidden" else loc


def message_of(detail: ErrorDetails) -> str:
    if detail["type"].endswith("_type") and detail["input"] is None:
        return "has no value"
    words = _WORDS.get(detail["type"])
    return words.format(**detail.get("ctx", {})) if words else detail["msg"]


def path_text(path: Path) -> str:
    """A path as people write it, such as `tenants[0].accounts[1].username`."""
    text = "".join(f"[{step}]" if isinstance(step, int) else f".{_key_text(step)}" for step in path)
    return text.removeprefix(".")


def _key_text(key: str) -> str:
    return key if re.fullmatch(r"[\w-]{1,64}", key) else ascii(key[:64])
