"""What a page's address asks for, and which thing a form is about."""

from collections.abc import Mapping
from typing import Final

from cloudconsole.server.http.body import MOST_FORM_FIELDS, form_pairs
from cloudconsole.server.http.request import Request

LONGEST_QUERY: Final = 8192
_REPLACED: Final = str.maketrans("\0", "\ufffd")
"""No name has a NUL, and PostgreSQL cannot even be asked for one: it goes the way of bytes that are no text."""


def query_of(request: Request) -> dict[str, str]:
    """The first fields of the query; of a repeated one the last counts, and what is no text is none."""
    query = request.query
    if len(query) > LONGEST_QUERY:
        query = query[:LONGEST_QUERY].rpartition(b"&")[0]
    fields = query.split(b"&", MOST_FORM_FIELDS)[:MOST_FORM_FIELDS]
    try:
        pairs = list(form_pairs(b"&".join(fields).decode(errors="replace").encode()))
    except ValueError:
        return {}
    return {name.decode(errors="replace"): value.decode(errors="replace").translate(_REPLACED) for name, value in pairs}


def key_of(fields: Mapping[str, str]) -> str:
    """The key of what a query or a form is about; nothing has one that is no text."""
    return fields.get("key", "").translate(_REPLACED)
