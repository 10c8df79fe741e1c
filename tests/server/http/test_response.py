"""Response headers: equal on both ways to send a response; cookies, and when they are `Secure`."""

import asyncio
import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Final

import pytest

from cloudconsole.server.config.settings import Settings
from cloudconsole.server.http.request import RESPONSE_WRITER, Message
from cloudconsole.server.http.response import Response, error_headers, json_response, plain_response, send_response
from cloudconsole.spec.errors import Unavailable
from tests.harness import ApiClient, FakeClock, Reply
from tests.server.http.conftest import StartConsole
from tests.server.http.helpers import make_request

HeaderList = list[tuple[bytes, bytes]]

OWN_ID: Final = [(b"x-request-id", b"its-own-id")]


def headers_sent_by_asgi(response: Response) -> HeaderList:
    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    asyncio.run(send_response(response, make_request(OWN_ID), send))
    return sorted(sent[0]["headers"])


def headers_written_directly(response: Response) -> HeaderList:
    heads: list[bytes] = []

    class Recorder:
        def write(self, head: bytes, _body: bytes) -> bool:
            heads.append(head)
            return True

    async def send(_message: Message) -> None:
        raise AssertionError("the response was already written")

    asyncio.run(send_response(response, make_request(OWN_ID, **{RESPONSE_WRITER: Recorder()}), send))
    status, *lines = heads[0].removesuffix(b"\r\n").split(b"\r\n")
    assert status == b"HTTP/1.1 200 OK"
    return sorted((name, value) for name, _, value in (line.partition(b": ") for line in lines))


@pytest.mark.parametrize(
    ("response", "ages"),
    [
        (plain_response(b"{}"), []),
        (plain_response(b"{}", age=0), [b"0"]),
        (plain_response(b"{}", age=12), [b"12"]),
        (json_response(b"[1]"), []),
    ],
)
def test_both_ways_send_the_same_headers_with_an_age_if_there_is_one(response: Response, ages: list[bytes]) -> None:
    headers = headers_written_directly(response)
    assert headers == headers_sent_by_asgi(response)
    assert [value for name, value in headers if name == b"age"] == ages


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
