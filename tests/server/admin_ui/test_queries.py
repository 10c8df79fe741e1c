"""Query parsing: invalid UTF-8 is replaced, truncated fields are dropped."""

import pytest

from cloudconsole.server.admin_ui.templating import MAX_QUERY, parse_query
from cloudconsole.server.http.request import Headers, Request


async def receive() -> dict[str, object]:
    raise AssertionError("a query needs no body")


def read(query: bytes) -> dict[str, str]:
    scope = {"method": "GET", "path": "/admin/tenant/", "scheme": "http", "query_string": query}
    return parse_query(Request(scope, Headers([]), receive))


@pytest.mark.parametrize("name", [b"caf\xe9", b"caf%e9", b"caf\xff", b"caf%ff"])
def test_invalid_utf8_is_replaced(name: bytes) -> None:
    assert read(b"name=" + name + b"&after=5") == {"name": "caf\ufffd", "after": "5"}


@pytest.mark.parametrize("long", ["云" * 4000, "%e4%ba%91" * 1000, "x" * MAX_QUERY])
def test_fields_beyond_the_length_limit_are_dropped(long: str) -> None:
    assert read(f"name=a&after={long}".encode()) == {"name": "a"}
