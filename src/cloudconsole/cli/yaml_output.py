"""YAML in block style.

Each scalar is written as JSON, which is YAML that every parser reads as the same value. This needs no YAML library,
which the plain install does not have.
"""

import re
from collections.abc import Callable, Iterator
from typing import Any, Final

_PLAIN_KEY: Final = re.compile(r"(?!(?:y|n|yes|no|on|off|true|false|null)\Z)[A-Za-z_][A-Za-z0-9_]*", re.IGNORECASE)
"""Keys without quotes: those that no version of YAML reads as something else than text."""
_SURROGATES: Final = re.compile(r"\\\\|\\u(d[89ab][0-9a-f]{2})\\u(d[c-f][0-9a-f]{2})", re.IGNORECASE)


def yaml_lines(value: Any, to_json: Callable[[Any], str]) -> Iterator[str]:
    if isinstance(value, dict) and value:
        for key, below in value.items():
            name = key if _PLAIN_KEY.fullmatch(key) else _scalar(key, to_json)
            lines = yaml_lines(below, to_json)
            if below and isinstance(below, dict | list):
                yield f"{name}:"
                yield from (f"  {line}" for line in lines)
            else:
                yield f"{name}: {next(lines)}"
    elif isinstance(value, list) and value:
        for each in value:
            marks = iter(["- "])
            yield from (next(marks, "  ") + line for line in yaml_lines(each, to_json))
    else:
        yield _scalar(value, to_json)


def _scalar(value: Any, to_json: Callable[[Any], str]) -> str:
    """Write a value as JSON, except that YAML has another escape for characters beyond 16 bits."""
    return _SURROGATES.sub(_code_point, to_json(value))


def _code_point(found: re.Match[str]) -> str:
    if found[1] is None:
        return found[0]
    return f"\\U{0x10000 + ((int(found[1], 16) - 0xD800) << 10) + int(found[2], 16) - 0xDC00:08x}"
