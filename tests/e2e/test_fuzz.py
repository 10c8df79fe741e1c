"""Fuzz tests of bytes on the socket: random input gets well-formed responses or none, never a server error.

`tests/fuzz` covers well-framed requests with odd methods, paths, headers and bodies.
"""

import re
from itertools import pairwise
from socket import SHUT_WR

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cloudconsole.server.http.response import NO_STORE, SECURITY_HEADERS
from cloudconsole.server.http.static import REVALIDATED
from tests.e2e.raw_http import chunked, head, log_in, raw_connection
from tests.harness import JSON, HeaderPairs, RunningServer

pytestmark = pytest.mark.slow

many_examples = settings(
    max_examples=100,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


def assert_all_well_formed(received: bytes) -> None:
    """Check that each of several responses has the application's headers, or is a plain-text one and the last."""
    assert received == b"" or received.startswith(b"HTTP/1.1 ")
    responses = [response for response in re.split(rb"(?=HTTP/1\.1 \d{3} )", received) if response]
    for number, response in enumerate(responses, start=1):
        status, headers = int(response[9:12]), response.partition(b"\r\n\r\n")[0].lower().split(b"\r\n")[1:]
        assert status < 500, response
        if status == 100:
            continue
        assert any(header.startswith(b"x-request-id:") for header in headers)
        caching = REVALIDATED if any(header.startswith(b"etag:") for header in headers) else NO_STORE
        assert {b"%b: %b" % (name, value.lower()) for name, value in [caching, *SECURITY_HEADERS]} <= set(headers)
        if b"content-type: text/plain" in headers:
            assert status in (400, 431)
            assert b"connection: close" in headers
            assert number == len(responses)


FRAGMENTS = [
    *(b"GET /api/ HTTP/1.1\r\n", b"POST /api/ HTTP/1.1\r\n", b"POST /auth/login/ HTTP/1.0\r\n"),
    *(b"GET http://127.0.0.1/ HTTP/1.1\r\n", b"OPTIONS * HTTP/1.1\r\n", b"CONNECT a:1 HTTP/1.1\r\n"),
    *(b"Content-Length: 5\r\n", b"Content-Length: 0\r\n", b"Content-Length: 99999999999\r\n"),
    *(b"Transfer-Encoding: chunked\r\n", b"Transfer-Encoding: chunked, gzip\r\n", b"Expect: 100-continue\r\n"),
    *(b"Connection: close\r\n", b"Connection: Upgrade, HTTP2-Settings\r\n"),
    *(b"Upgrade: h2c\r\n", b"Upgrade: websocket\r\n"),
    *(b"Host: 127.0.0.1\r\n", b"Cookie: a=b;;=;\r\n", b" folded\r\n", b"\r\n", b"\n", b"\r"),
    *(b"5\r\nhello\r\n", b"0\r\n\r\n", b"0\r\nHost: x\r\n\r\n", b"hello", b"{}"),
]


def receive_all(server: RunningServer, pieces: list[bytes]) -> bytes:
    """Send the pieces, half-close the connection, and return all that the server sends until it closes."""
    with raw_connection(server) as raw:
        try:
            for piece in pieces:
                raw.socket.sendall(piece)
            raw.socket.shutdown(SHUT_WR)
            return raw.rest()
        except TimeoutError:
            raise
        except OSError:
            # The server closed the connection before everything was sent.
            return b""


@many_examples
@given(
    pieces=st.lists(st.one_of(st.sampled_from(FRAGMENTS), st.binary(max_size=30)), max_size=14), in_one=st.booleans()
)
def test_fragments_of_requests_are_handled(server: RunningServer, pieces: list[bytes], in_one: bool) -> None:
    assert_all_well_formed(receive_all(server, [b"".join(pieces)] if in_one else pieces))


@many_examples
@given(data=st.binary(min_size=1, max_size=400))
def test_random_bytes_are_handled(server: RunningServer, data: bytes) -> None:
    assert_all_well_formed(receive_all(server, [data]))


@pytest.fixture(scope="module")
def session(server: RunningServer) -> HeaderPairs:
    return log_in(server)


@many_examples
@given(
    sizes=st.lists(st.integers(min_value=0, max_value=20), max_size=8),
    damage=st.one_of(st.none(), st.tuples(st.integers(min_value=0, max_value=120), st.binary(min_size=1, max_size=4))),
)
def test_chunked_bodies_are_handled(
    server: RunningServer, session: HeaderPairs, sizes: list[int], damage: tuple[int, bytes] | None
) -> None:
    text = b'{"action": "GetUrlList", "more": "0123456789012345678901234567890123456789"}'
    cuts = [sum(sizes[:number]) for number in range(len(sizes) + 1)] + [len(text)]
    body = chunked([text[start:end] for start, end in pairwise(cuts) if text[start:end]])
    if damage is not None:
        body = body[: damage[0]] + damage[1] + body[damage[0] :]
    framing = [("Host", "127.0.0.1"), ("Content-Type", JSON), ("Transfer-Encoding", "chunked"), ("Connection", "close")]
    received = receive_all(server, [head("POST", "/api/", [*framing, *session]) + body])
    assert_all_well_formed(received)
    assert damage is not None or received.startswith(b"HTTP/1.1 200 ")
