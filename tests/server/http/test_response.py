"""Response headers: connections that end, cookies, and when they are `Secure`."""

import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Final

import pytest

from cloudconsole.server.config.settings import Settings
from cloudconsole.server.http.response import error_headers
from cloudconsole.spec.errors import Unavailable
from tests.harness import ApiClient, FakeClock, Reply
from tests.server.http.conftest import StartConsole


@pytest.mark.parametrize("closes", [True, False])
def test_unavailable_closes_the_connection_only_if_it_says_so(closes: bool) -> None:
    headers = error_headers(Unavailable(closes=closes))
    assert ((b"connection", b"close") in headers) == closes
    assert (b"retry-after", b"1") in headers


# Set-Cookie.

ORIGIN: Final = "console.example.com"


@pytest.mark.parametrize("elapsed", [0, 1, 40 * 86_400, 107 * 86_400])
def test_the_csrf_cookie_expires_52_weeks_after_each_response(
    anonymous_client: ApiClient, clock: FakeClock, elapsed: int
) -> None:
    anonymous_client.open()
    clock.moment += elapsed
    for reply in (anonymous_client.open(), anonymous_client.login()):
        (expires,) = re.findall(r"Expires=([^;]+) GMT", reply.set_cookies["csrftoken"])
        expected = datetime.fromtimestamp(clock.moment, UTC) + timedelta(weeks=52)
        assert datetime.strptime(expires, "%a, %d %b %Y %H:%M:%S").replace(tzinfo=UTC) == expected


def secure_in(reply: Reply) -> set[bool]:
    return {"; Secure" in line for line in reply.set_cookies.values()}


@pytest.mark.parametrize("connection", ["http", "https"])
@pytest.mark.parametrize("public", [None, "http", "https"])
def test_secure_follows_the_public_origin_else_the_connection(
    settings: Settings, start_console: StartConsole, connection: str, public: str | None
) -> None:
    public_origin = None if public is None else f"{public}://{ORIGIN}"
    settings = replace(settings, hosts=(ORIGIN,), public_origin=public_origin)
    client = ApiClient(start_console(settings, f"{connection}://{ORIGIN}"))
    replies = [client.open(), client.login(region=f"{public or connection}://{ORIGIN}/v3"), client.logout()]
    assert [reply.status for reply in replies] == [200, 200, 200]
    assert [secure_in(reply) for reply in replies] == [{(public or connection) == "https"}] * 3
