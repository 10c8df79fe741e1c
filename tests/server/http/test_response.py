"""A success says the same whether it is written in one piece or in the server's usual way."""

import asyncio
from typing import Any

import pytest

from cloudconsole.server.http.request import RESPONSE_WRITER, Headers, Message, Request
from cloudconsole.server.http.response import Response, error_headers, json_response, plain_response, send_response
from cloudconsole.spec.errors import Unavailable

HeaderList = list[tuple[bytes, bytes]]


async def nothing() -> Message:
    raise AssertionError("a request without a body has nothing to receive")


def request(**scope: Any) -> Request:
    given = {"method": "GET", "path": "/api/", "scheme": "http", **scope}
    return Request(given, Headers([(b"x-request-id", b"its-own-id")]), nothing)


def as_usual(response: Response) -> HeaderList:
    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    asyncio.run(send_response(response, request(), send))
    return sorted(sent[0]["headers"])


def in_one_piece(response: Response) -> HeaderList:
    heads: list[bytes] = []

    class Recorder:
        def write(self, head: bytes, _body: bytes) -> bool:
            heads.append(head)
            return True

    async def send(_message: Message) -> None:
        raise AssertionError("it was written already")

    asyncio.run(send_response(response, request(**{RESPONSE_WRITER: Recorder()}), send))
    status, *lines = heads[0].removesuffix(b"\r\n").split(b"\r\n")
    assert status == b"HTTP/1.1 200 OK"
    return sorted((name, value) for name, _, value in (line.partition(b": ") for line in lines))


@pytest.mark.parametrize(
    "response",
    [plain_response(b"{}"), plain_response(b"{}", age=0), plain_response(b"{}", age=12), json_response(b"[1]")],
)
def test_both_ways_send_the_same_headers(response: Response) -> None:
    assert in_one_piece(response) == as_usual(response)


@pytest.mark.parametrize(("age", "told"), [(None, []), (0, [b"0"]), (12, [b"12"])])
def test_only_an_answer_with_an_age_tells_it(age: int | None, told: list[bytes]) -> None:
    headers = in_one_piece(plain_response(b"{}", age))
    assert [value for name, value in headers if name == b"age"] == told


@pytest.mark.parametrize("closes", [True, False])
def test_the_connection_of_who_cannot_be_served_ends_unless_another_would_not_help(closes: bool) -> None:
    headers = error_headers(Unavailable(closes=closes))
    assert ((b"connection", b"close") in headers) == closes
    assert (b"retry-after", b"1") in headers
