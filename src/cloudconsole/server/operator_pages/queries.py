"""What a page's address asks for, and which thing a form is about."""

from collections.abc import Mapping
from typing import Final
from urllib.parse import parse_qsl

from cloudconsole.server.http.request import Request

LONGEST_QUERY: Final = 8192
_REPLACED: Final = str.maketrans("\0", "\ufffd")
"""No name has a NUL, and PostgreSQL cannot even be asked for one: it goes the way of bytes that are no text."""


def query_of(request: Request) -> dict[str, str]:
    """The fields of the query; of a repeated one the last counts, and what is no text is none."""
    text = request.query[:LONGEST_QUERY].decode("latin-1")
    fields = parse_qsl(text, keep_blank_values=True, errors="replace")
    return {name: value.translate(_REPLACED) for name, value in fields}


def key_of(fields: Mapping[str, str]) -> str:
    """The key of what a query or a form is about; nothing has one that is no text."""
    return fields.get("key", "").translate(_REPLACED)
