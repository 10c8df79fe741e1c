"""A value as people read it in a line or a table."""

from typing import Any

from cloudconsole.spec.envelope import encode
from cloudconsole.spec.visible import visible


def cell(value: Any) -> str:
    """Like a line, it does not control what shows it."""
    if value is None or value is False:
        return "" if value is None else "no"
    if value is True:
        return "yes"
    return visible(encode(value).decode() if isinstance(value, dict | list) else str(value))
