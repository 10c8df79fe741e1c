"""Successful responses have the same headers whether written in one piece or sent as ASGI messages."""

import asyncio
from typing import Any

import pytest

from cloudconsole.server.http.request import RESPONSE_WRITER, Headers, Message, Request
from cloudconsole.server.http.response import Response, error_headers, json_response, plain_response, send_response
from cloudconsole.spec.errors import Unavailable

HeaderList = list[tuple[bytes, bytes]]


async def no_body() -> Message:
    raise AssertionError("a request without a body has nothing to receive")


def request(**scope: Any) -> Request:
    given = {"method": "GET", "path": "/api/", "scheme": "http", **scope}
    return Request(given, Headers([(b"x-request-id", b"its-own-id")]), no_body)


def headers_sent_by_asgi(response: Response) -> HeaderList:
    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    asyncio.run(send_response(response, request(), send))
    return sorted(sent[0]["headers"])


def headers_written_directly(response: Response) -> HeaderList:
    heads: list[bytes] = []

    class Recorder:
        def write(self, head: bytes, _body: bytes) -> bool:
            heads.append(head)
            return True

    async def send(_message: Message) -> None:
        raise AssertionError("the response was already written")

    asyncio.run(send_response(response, request(**{RESPONSE_WRITER: Recorder()}), send))
    status, *lines = heads[0].removesuffix(b"\r\n").split(b"\r\n")
    assert status == b"HTTP/1.1 200 OK"
    return sorted((name, value) for name, _, value in (line.partition(b": ") for line in lines))


@pytest.mark.parametrize(
    "response",
    [plain_response(b"{}"), plain_response(b"{}", age=0), plain_response(b"{}", age=12), json_response(b"[1]")],
)
def test_both_paths_send_the_same_headers(response: Response) -> None:
    assert headers_written_directly(response) == headers_sent_by_asgi(response)


@pytest.mark.parametrize(("age", "expected"), [(None, []), (0, [b"0"]), (12, [b"12"])])
def test_only_a_response_with_an_age_has_an_age_header(age: int | None, expected: list[bytes]) -> None:
    headers = headers_written_directly(plain_response(b"{}", age))
    assert [value for name, value in headers if name == b"age"] == expected


@pytest.mark.parametrize("closes", [True, False])
def test_unavailable_closes_the_connection_only_if_it_says_so(closes: bool) -> None:
    headers = error_headers(Unavailable(closes=closes))
    assert ((b"connection", b"close") in headers) == closes
    assert (b"retry-after", b"1") in headers
