"""Queries of the operator pages: repaired where they are no text, and complete fields only."""

import pytest

from cloudconsole.server.admin_ui.templating import MAX_QUERY, parse_query
from cloudconsole.server.http.request import Headers, Request


async def receive() -> dict[str, object]:
    raise AssertionError("a query needs no body")


def read(query: bytes) -> dict[str, str]:
    scope = {"method": "GET", "path": "/admin/tenant/", "scheme": "http", "query_string": query}
    return parse_query(Request(scope, Headers([]), receive))


@pytest.mark.parametrize("name", [b"caf\xe9", b"caf%e9", b"caf\xff", b"caf%ff"])
def test_bytes_that_are_no_text_are_replaced(name: bytes) -> None:
    assert read(b"name=" + name + b"&after=5") == {"name": "caf\ufffd", "after": "5"}


@pytest.mark.parametrize("long", ["云" * 4000, "%e4%ba%91" * 1000, "x" * MAX_QUERY])
def test_fields_beyond_the_longest_query_are_dropped_whole(long: str) -> None:
    assert read(f"name=a&after={long}".encode()) == {"name": "a"}
