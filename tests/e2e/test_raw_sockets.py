"""HTTP over raw sockets: well-formed, odd, slow, oversized and hostile input; the server keeps serving."""

import http.client
import json
import re
import socket
import time
from collections.abc import Iterable, Iterator
from itertools import repeat
from socket import SHUT_WR

import pytest

from cloudconsole.server.http.response import CLOSED_POLICY, NO_STORE, SECURITY_HEADERS
from tests.e2e.raw_http import PAUSE, RawConnection, chunked, head, raw_connection, request, split
from tests.harness import FORM, JSON, ApiClient, HeaderPairs, HttpTransport, Reply, RunningServer, running_server

FLAVORS = json.dumps({"action": "GetFlavors"}).encode()
FIVE_MB = 5 * 1024 * 1024
MAX_BODY = 65_536


@pytest.fixture(scope="module")
def short_timeout(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    """A server with a request timeout of one second."""
    with running_server(tmp_path_factory.mktemp("short_timeout"), "--request-timeout", "1") as running:
        yield running


def log_in(server: RunningServer) -> HeaderPairs:
    """Log in and return the headers of that session."""
    transport = HttpTransport(server.base)
    client = ApiClient(transport)
    assert client.login().status == 200
    transport.close()
    cookies = "; ".join(f"{name}={value}" for name, value in client.cookies.items())
    return [("Cookie", cookies), ("X-CSRFToken", client.token)]


@pytest.fixture(scope="module")
def session(server: RunningServer) -> HeaderPairs:
    return log_in(server)


@pytest.fixture(autouse=True)
def servers_still_respond(request: pytest.FixtureRequest) -> Iterator[None]:
    """Check after every test that the servers it used still serve a normal request."""
    yield
    for name in {"server", "short_timeout"} & set(request.fixturenames):
        running: RunningServer = request.getfixturevalue(name)
        transport = HttpTransport(running.base)
        assert transport.send("GET", "/api/", []).data["actions"]
        transport.close()


@pytest.fixture
def raw(server: RunningServer) -> Iterator[RawConnection]:
    with raw_connection(server) as connection:
        yield connection


@pytest.fixture
def short_timeout_raw(short_timeout: RunningServer) -> Iterator[RawConnection]:
    with raw_connection(short_timeout) as connection:
        yield connection


def with_length(session: HeaderPairs, length: int) -> HeaderPairs:
    return [*session, ("Content-Type", JSON), ("Content-Length", str(length))]


def with_chunks(session: HeaderPairs) -> HeaderPairs:
    return [*session, ("Content-Type", JSON), ("Transfer-Encoding", "chunked")]


def action_request(session: HeaderPairs, body: bytes = FLAVORS, *more: tuple[str, str]) -> bytes:
    return request("POST", "/api/", [*with_length(session, len(body)), *more], body)


def has_flavors(reply: Reply) -> bool:
    return len(reply.data["flavors"]) > 1


def assert_plain_error(reply: Reply, status: int) -> None:
    """Check a connection-level error: plain text, with the same security headers as any other response."""
    assert reply.status == status
    assert reply.header("connection") == "close"
    assert reply.header("content-type") == "text/plain"
    assert re.fullmatch("[0-9a-f]{16}", reply.header("x-request-id") or "")
    for name, value in [CLOSED_POLICY, NO_STORE, *SECURITY_HEADERS]:
        assert reply.header(name.decode()) == value.decode()


class TestContentLength:
    def test_bytes_beyond_the_length_are_not_part_of_the_body(self, raw: RawConnection, session: HeaderPairs) -> None:
        declared = b'{"action": "GetFlavors"'
        raw.send(request("POST", "/api/", with_length(session, len(declared)), declared + b"}"))
        assert raw.answer().error == "malformed_body"

    def test_request_before_garbage_is_answered(self, raw: RawConnection, session: HeaderPairs) -> None:
        raw.send(action_request(session) + b"}}} not http at all\r\n\r\n")
        assert has_flavors(raw.answer())
        assert b"200 OK" not in raw.rest()

    def test_request_after_a_body_is_a_separate_request(self, raw: RawConnection, session: HeaderPairs) -> None:
        raw.send(action_request(session) + request("GET", "/api/"))
        assert has_flavors(raw.answer())
        assert raw.answer().data["actions"]

    def test_body_shorter_than_declared_times_out(self, short_timeout_raw: RawConnection) -> None:
        short_timeout_raw.send(request("POST", "/api/", with_length([], len(FLAVORS) + 1), FLAVORS))
        assert_plain_error(short_timeout_raw.answer(), 408)
        assert short_timeout_raw.rest() == b""

    def test_truncated_body_is_rejected(self, raw: RawConnection, session: HeaderPairs) -> None:
        raw.send(request("POST", "/api/", with_length(session, len(FLAVORS) + 1), FLAVORS))
        raw.socket.shutdown(SHUT_WR)
        assert_plain_error(raw.answer(), 400)
        assert raw.rest() == b""

    @pytest.mark.parametrize("length", ["-1", "+5", "0x10", "5, 5", "5 5", "1e3", "9" * 30, "٣"])
    def test_malformed_length_is_rejected(self, raw: RawConnection, length: str) -> None:
        raw.send(
            b"POST /api/ HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: %b\r\n\r\n12345" % length.encode(),
        )
        assert_plain_error(raw.answer(), 400)
        assert raw.rest() == b""

    def test_conflicting_lengths_are_rejected(self, raw: RawConnection) -> None:
        raw.send(request("POST", "/api/", [("Content-Length", "5"), ("Content-Length", "6")], b"123456"))
        assert_plain_error(raw.answer(), 400)
        assert raw.rest() == b""


class TestChunkedBodies:
    def test_one_chunk_is_accepted(self, raw: RawConnection, session: HeaderPairs) -> None:
        raw.send(request("POST", "/api/", with_chunks(session), chunked([FLAVORS])))
        assert has_flavors(raw.answer())

    def test_chunks_split_across_packets_are_accepted(self, raw: RawConnection, session: HeaderPairs) -> None:
        raw.send(request("POST", "/api/", with_chunks(session)), *split(chunked(split(FLAVORS, 3)), 7))
        assert has_flavors(raw.answer())

    def test_request_sent_byte_by_byte_is_accepted(self, raw: RawConnection, session: HeaderPairs) -> None:
        everything = request("POST", "/api/", with_chunks(session), chunked(split(FLAVORS, 9)))
        for byte in split(everything, 1):
            raw.socket.sendall(byte)
        assert has_flavors(raw.answer())

    def test_a_body_of_many_tiny_chunks_is_rejected(self, raw: RawConnection, session: HeaderPairs) -> None:
        body = chunked(split(FLAVORS + b" " * 300, 1))
        raw.send(request("POST", "/api/", with_chunks(session), body))
        assert raw.answer().status == 400

    def test_too_many_trailers_are_rejected(self, raw: RawConnection, session: HeaderPairs) -> None:
        body = b"%x\r\n%b\r\n0\r\n%b\r\n" % (len(FLAVORS), FLAVORS, b"a: b\r\n" * 101)
        raw.send(request("POST", "/api/", with_chunks(session), body))
        assert raw.answer().status == 431

    def test_chunk_extensions_are_ignored(self, raw: RawConnection, session: HeaderPairs) -> None:
        body = b'%x;name="value"\r\n%b\r\n0\r\n\r\n' % (len(FLAVORS), FLAVORS)
        raw.send(request("POST", "/api/", with_chunks(session), body))
        assert has_flavors(raw.answer())

    @pytest.mark.parametrize("trailer", ["Host: evil.example.com", "X-CSRFToken: other", "Content-Type: text/plain"])
    def test_trailers_are_not_headers(self, raw: RawConnection, session: HeaderPairs, trailer: str) -> None:
        body = b"%x\r\n%b\r\n0\r\n%b\r\n\r\n" % (len(FLAVORS), FLAVORS, trailer.encode())
        raw.send(request("POST", "/api/", with_chunks(session), body) + action_request(session))
        assert has_flavors(raw.answer())
        assert has_flavors(raw.answer())

    def test_endless_trailers_are_cut_off(self, raw: RawConnection) -> None:
        raw.send(request("POST", "/api/", with_chunks([]), b"0\r\nX-Trailer: "))
        assert raw.send_until_closed(repeat(b"x" * 65_536, 1024)) < 64 * 1024 * 1024

    def test_a_second_request_follows_on_the_same_connection(self, raw: RawConnection, session: HeaderPairs) -> None:
        raw.send(request("POST", "/api/", with_chunks(session), chunked([FLAVORS])))
        assert has_flavors(raw.answer())
        raw.send(request("GET", "/api/"))
        assert raw.answer().data["actions"]

    def test_body_at_the_size_limit_is_accepted(self, raw: RawConnection, session: HeaderPairs) -> None:
        body = FLAVORS + b" " * (MAX_BODY - len(FLAVORS))
        raw.send(request("POST", "/api/", with_chunks(session), chunked(split(body, 1000))))
        assert has_flavors(raw.answer())

    def test_body_over_the_size_limit_is_rejected(self, raw: RawConnection, session: HeaderPairs) -> None:
        body = FLAVORS + b" " * (MAX_BODY - len(FLAVORS) + 1)
        raw.send(request("POST", "/api/", with_chunks(session), chunked(split(body, 1000))))
        assert raw.answer().error == "body_too_large"
        assert raw.rest() == b""

    @pytest.mark.parametrize(
        "body",
        [
            b"zz\r\nhello\r\n0\r\n\r\n",
            b"5\r\nhello world\r\n0\r\n\r\n",
            b"-5\r\nhello\r\n0\r\n\r\n",
            b"0x5\r\nhello\r\n0\r\n\r\n",
            b"ffffffffffffffffff\r\nhello\r\n0\r\n\r\n",
            b"5\nhello\n0\n\n",
            b"\r\n\r\n",
        ],
    )
    def test_malformed_chunk_is_rejected(self, raw: RawConnection, session: HeaderPairs, body: bytes) -> None:
        raw.send(request("POST", "/api/", with_chunks(session)), body)
        assert_plain_error(raw.answer(), 400)
        assert raw.rest() == b""

    def test_malformed_chunk_after_an_error_gets_no_second_response(self, raw: RawConnection) -> None:
        raw.send(request("POST", "/nowhere/", with_chunks([])), b"5\r\nhel")
        assert raw.answer().error == "not_found"
        raw.send(b"lo!!! no chunk\r\n")
        assert raw.rest() == b""

    @pytest.mark.parametrize("encoding", ["identity", "chunked, identity", "xchunked", "chunked, chunked", "gzip"])
    def test_other_transfer_encoding_is_rejected(self, raw: RawConnection, session: HeaderPairs, encoding: str) -> None:
        headers = [*session, ("Content-Type", JSON), ("Transfer-Encoding", encoding)]
        raw.send(request("POST", "/api/", headers, chunked([FLAVORS])))
        assert_plain_error(raw.answer(), 400)
        assert raw.rest() == b""


class TestSmuggling:
    @pytest.mark.parametrize("length", [4, 5, 200])
    @pytest.mark.parametrize("length_first", [True, False])
    def test_both_length_and_chunks_get_one_rejection(
        self, raw: RawConnection, session: HeaderPairs, length: int, length_first: bool
    ) -> None:
        both = [("Content-Length", str(length)), ("Transfer-Encoding", "chunked")]
        headers = [*session, ("Content-Type", JSON), *(both if length_first else reversed(both))]
        raw.send(request("POST", "/api/", headers, chunked([FLAVORS]) + request("GET", "/smuggled/")))
        assert_plain_error(raw.answer(), 400)
        assert raw.rest() == b""

    @pytest.mark.parametrize(
        "header", ["Transfer-Encoding : chunked", " Transfer-Encoding: chunked", "Transfer-Encoding\t: chunked"]
    )
    def test_disguised_transfer_encoding_is_rejected(self, raw: RawConnection, header: str) -> None:
        raw.send(b"POST /api/ HTTP/1.1\r\nHost: 127.0.0.1\r\n%b\r\n\r\n" % header.encode() + chunked([FLAVORS]))
        assert_plain_error(raw.answer(), 400)
        assert raw.rest() == b""

    def test_bare_carriage_return_in_a_header_is_rejected(self, raw: RawConnection) -> None:
        raw.send(b"GET /api/ HTTP/1.1\r\nHost: 127.0.0.1\r\nX-One: a\rX-Two: b\r\n\r\n")
        assert_plain_error(raw.answer(), 400)
        assert raw.rest() == b""

    def test_two_host_headers_are_rejected(self, raw: RawConnection) -> None:
        raw.send(request("GET", "/api/", [("Host", "127.0.0.1"), ("Host", "evil.example.com")]))
        assert raw.answer().error == "invalid_host"


class TestExpectContinue:
    def test_small_body_gets_100_continue(self, raw: RawConnection, session: HeaderPairs) -> None:
        raw.send(request("POST", "/api/", [*with_length(session, len(FLAVORS)), ("Expect", "100-continue")]))
        assert raw.answer().status == 100
        raw.send(FLAVORS)
        assert has_flavors(raw.answer())

    def test_chunked_body_gets_100_continue(self, raw: RawConnection, session: HeaderPairs) -> None:
        raw.send(request("POST", "/api/", [*with_chunks(session), ("Expect", "100-continue")]))
        assert raw.answer().status == 100
        raw.send(chunked([FLAVORS]))
        assert has_flavors(raw.answer())

    def test_oversized_body_is_rejected_without_100_continue(self, raw: RawConnection, session: HeaderPairs) -> None:
        raw.send(request("POST", "/api/", [*with_length(session, FIVE_MB), ("Expect", "100-continue")]))
        reply = raw.answer()
        assert reply.error == "body_too_large"
        assert reply.header("connection") == "close"
        raw.socket.shutdown(SHUT_WR)
        assert raw.rest() == b""

    def test_body_to_an_unknown_path_gets_no_100_continue(self, raw: RawConnection) -> None:
        raw.send(request("POST", "/nowhere/", [("Content-Length", "5"), ("Expect", "100-continue")]))
        assert raw.answer().error == "not_found"

    def test_body_sent_before_100_continue_is_read(self, raw: RawConnection, session: HeaderPairs) -> None:
        raw.send(action_request(session, FLAVORS, ("Expect", "100-continue")))
        reply = raw.answer()
        assert has_flavors(raw.answer() if reply.status == 100 else reply)

    def test_expectation_is_case_insensitive(self, raw: RawConnection, session: HeaderPairs) -> None:
        raw.send(request("POST", "/api/", [*with_length(session, len(FLAVORS)), ("Expect", "100-Continue")]))
        assert raw.answer().status == 100


class TestHttp10:
    @pytest.mark.parametrize("headers", [[], [("Host", "127.0.0.1")], [("Host", "localhost:1234")]])
    def test_host_header_is_optional(self, raw: RawConnection, headers: HeaderPairs) -> None:
        raw.send(head("GET", "/api/", headers, version="HTTP/1.0"))
        assert raw.answer().data["actions"]
        assert raw.rest() == b""

    def test_keep_alive_is_declined_with_connection_close(self, raw: RawConnection) -> None:
        raw.send(head("GET", "/api/", [("Connection", "keep-alive")], version="HTTP/1.0"))
        reply = raw.answer()
        assert reply.data["actions"]
        assert reply.header("connection") == "close"
        assert raw.rest() == b""

    def test_action_is_accepted(self, raw: RawConnection, session: HeaderPairs) -> None:
        raw.send(head("POST", "/api/", with_length(session, len(FLAVORS)), version="HTTP/1.0") + FLAVORS)
        assert has_flavors(raw.answer())

    def test_http_11_without_host_is_rejected(self, raw: RawConnection) -> None:
        raw.send(head("GET", "/api/", []))
        assert raw.answer().error == "invalid_host"

    @pytest.mark.parametrize("line", [b"GET /api/ HTTP/3.7\r\n\r\n", b"GET /api/ XTTP/1.1\r\n\r\n"])
    def test_other_versions_are_rejected(self, raw: RawConnection, line: bytes) -> None:
        raw.send(line)
        assert_plain_error(raw.answer(), 400)
        assert raw.rest() == b""


def java_head(method: str, target: str, headers: HeaderPairs, length: int) -> bytes:
    """Encode a head with the headers that Java 17's HttpClient sends by default."""
    offered = [
        ("Connection", "Upgrade, HTTP2-Settings"),
        ("Content-Length", str(length)),
        ("Host", "127.0.0.1:8000"),
        ("HTTP2-Settings", "AAEAAEAAAAIAAAAAAAMAAAAAAAQBAAAAAAUAAEAAAAYABgAA"),
        ("Upgrade", "h2c"),
        ("User-Agent", "Java-http-client/17.0.15"),
    ]
    return head(method, target, [*offered, *headers])


class TestUpgradeOffers:
    def test_get_is_answered_and_the_connection_stays_open(self, raw: RawConnection) -> None:
        for _ in range(3):
            raw.send(java_head("GET", "/api/", [], 0))
            assert raw.answer().data["actions"]

    @pytest.mark.parametrize("pieces", [1, 2, 3, 40])
    def test_post_body_is_read_and_the_connection_stays_open(
        self, raw: RawConnection, session: HeaderPairs, pieces: int
    ) -> None:
        everything = java_head("POST", "/api/", [*session, ("Content-Type", JSON)], len(FLAVORS)) + FLAVORS
        for _ in range(2):
            raw.send(*split(everything, -(-len(everything) // pieces)))
            assert has_flavors(raw.answer())
        raw.send(java_head("GET", "/api/", [], 0))
        assert raw.answer().data["actions"]

    def test_head_and_body_in_two_packets_are_accepted(self, raw: RawConnection, session: HeaderPairs) -> None:
        raw.send(java_head("POST", "/api/", [*session, ("Content-Type", JSON)], len(FLAVORS)), FLAVORS)
        assert has_flavors(raw.answer())
        raw.send(java_head("POST", "/api/", [*session, ("Content-Type", JSON)], len(FLAVORS)), FLAVORS)
        assert has_flavors(raw.answer())

    def test_chunked_body_is_read(self, raw: RawConnection, session: HeaderPairs) -> None:
        offer = [("Connection", "Upgrade, HTTP2-Settings"), ("Upgrade", "h2c"), ("HTTP2-Settings", "AAEAAEAA")]
        raw.send(request("POST", "/api/", [*offer, *with_chunks(session)], chunked([FLAVORS])))
        assert has_flavors(raw.answer())
        raw.send(request("GET", "/api/"))
        assert raw.answer().data["actions"]

    def test_pipelined_requests_with_upgrade_offers_are_answered(
        self, raw: RawConnection, session: HeaderPairs
    ) -> None:
        first = java_head("POST", "/api/", [*session, ("Content-Type", JSON)], len(FLAVORS)) + FLAVORS
        raw.send(first + java_head("GET", "/nowhere/", [], 0) + request("GET", "/api/"))
        assert has_flavors(raw.answer())
        assert raw.answer().error == "not_found"
        assert raw.answer().data["actions"]

    def test_websocket_upgrade_is_ignored(self, raw: RawConnection) -> None:
        offer = [
            ("Connection", "Upgrade"),
            ("Upgrade", "websocket"),
            ("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="),
            ("Sec-WebSocket-Version", "13"),
        ]
        raw.send(request("GET", "/api/", offer))
        assert raw.answer().data["actions"]
        raw.send(request("GET", "/api/"))
        assert raw.answer().data["actions"]


class TestOversizedBodies:
    @pytest.mark.parametrize("more", [[], [("Connection", "close")]])
    def test_declared_length_over_the_limit_is_rejected(
        self, raw: RawConnection, session: HeaderPairs, more: HeaderPairs
    ) -> None:
        raw.send(request("POST", "/api/", [*with_length(session, FIVE_MB), *more]), b"x" * FIVE_MB)
        reply = raw.answer()
        assert (reply.status, reply.error) == (413, "body_too_large")
        assert reply.header("connection") == "close"
        assert raw.rest() == b""

    @pytest.mark.parametrize("more", [[], [("Connection", "close")]])
    def test_chunked_body_over_the_limit_is_rejected(
        self, raw: RawConnection, session: HeaderPairs, more: HeaderPairs
    ) -> None:
        raw.send(
            request("POST", "/api/", [*with_chunks(session), *more]), chunked(repeat(b"x" * 8192, FIVE_MB // 8192))
        )
        reply = raw.answer()
        assert (reply.status, reply.error) == (413, "body_too_large")
        assert reply.header("connection") == "close"
        assert raw.rest() == b""

    def test_rejection_arrives_before_the_body_is_sent(self, raw: RawConnection, session: HeaderPairs) -> None:
        raw.send(request("POST", "/api/", with_length(session, FIVE_MB)))
        assert raw.answer().error == "body_too_large"
        raw.send(b"x" * FIVE_MB)
        assert raw.rest() == b""

    @pytest.mark.parametrize("in_chunks", [False, True])
    def test_http_client_sees_the_rejection(self, server: RunningServer, session: HeaderPairs, in_chunks: bool) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
        headers = {"Content-Type": JSON, **dict(session)}
        pieces = iter(split(b"x" * FIVE_MB, 65_536))
        connection.request("POST", "/api/", pieces if in_chunks else b"x" * FIVE_MB, headers, encode_chunked=in_chunks)
        response = connection.getresponse()
        reply = Reply(response.status, response.getheaders(), response.read())
        assert (reply.status, reply.error) == (413, "body_too_large")
        assert response.will_close
        connection.close()

    @pytest.mark.parametrize("path", ["/auth/login/", "/api/"])
    def test_client_without_a_session_sees_the_rejection(self, raw: RawConnection, path: str) -> None:
        raw.send(request("POST", path, [("Content-Type", FORM), ("Content-Length", str(FIVE_MB))]), b"x" * FIVE_MB)
        assert raw.answer().error == "body_too_large"

    @pytest.mark.parametrize(
        ("path", "error"),
        [("/nowhere/", "not_found"), ("/auth/logout/", "login_required"), ("/", "method_not_allowed")],
    )
    @pytest.mark.parametrize("in_chunks", [False, True])
    @pytest.mark.parametrize("more", [[], [("Connection", "close")]])
    def test_large_body_does_not_hide_an_earlier_error(
        self, raw: RawConnection, path: str, error: str, in_chunks: bool, more: HeaderPairs
    ) -> None:
        length = ("Transfer-Encoding", "chunked") if in_chunks else ("Content-Length", str(FIVE_MB))
        body = b"x" * FIVE_MB
        raw.send(request("POST", path, [length, *more]), chunked(split(body, 65_536)) if in_chunks else body)
        assert raw.answer().error == error

    @pytest.mark.parametrize("path", ["/api/", "/nowhere/", "/auth/logout/"])
    @pytest.mark.parametrize("in_chunks", [False, True])
    def test_huge_body_is_cut_off(self, raw: RawConnection, path: str, in_chunks: bool) -> None:
        size = 256 * 1024 * 1024
        length = ("Transfer-Encoding", "chunked") if in_chunks else ("Content-Length", str(size))
        raw.send(request("POST", path, [length, ("Content-Type", JSON)]))
        piece = b"%x\r\n%b\r\n" % (65_536, b"x" * 65_536) if in_chunks else b"x" * 65_536
        assert raw.send_until_closed(repeat(piece, size // 65_536)) < 64 * 1024 * 1024

    def test_small_body_to_an_unknown_path_keeps_the_connection(self, raw: RawConnection) -> None:
        raw.send(request("POST", "/nowhere/", [("Content-Length", "5")], b"12345") + request("GET", "/api/"))
        assert raw.answer().error == "not_found"
        assert raw.answer().data["actions"]


class TestSlowClients:
    def test_incomplete_head_times_out(self, short_timeout_raw: RawConnection) -> None:
        short_timeout_raw.send(b"GET /api/ HTTP/1.1\r\n", b"Host: 127.0.0.1\r\n", b"X-Slow: ")
        assert_plain_error(short_timeout_raw.answer(), 408)
        assert short_timeout_raw.rest() == b""

    def test_head_sent_byte_by_byte_times_out(self, short_timeout_raw: RawConnection) -> None:
        endless = b"GET /api/ HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: " + b"y" * 2000
        assert self._send_byte_by_byte(short_timeout_raw, endless) < len(endless)

    def test_body_sent_byte_by_byte_times_out(self, short_timeout_raw: RawConnection) -> None:
        endless = request("POST", "/api/", with_length([], 2000)) + b"y" * 2000
        assert self._send_byte_by_byte(short_timeout_raw, endless) < len(endless)

    def test_body_of_a_rejected_request_times_out(self, short_timeout_raw: RawConnection) -> None:
        short_timeout_raw.send(request("POST", "/nowhere/", [("Content-Length", "2000")]))
        assert short_timeout_raw.answer().error == "not_found"
        assert self._send_byte_by_byte(short_timeout_raw, b"y" * 2000) < 2000

    def test_silent_connection_is_closed(self, short_timeout_raw: RawConnection) -> None:
        assert_plain_error(short_timeout_raw.answer(), 408)
        assert short_timeout_raw.rest() == b""

    def test_idle_keep_alive_connection_stays_open(self, short_timeout_raw: RawConnection) -> None:
        short_timeout_raw.send(request("GET", "/api/"))
        assert short_timeout_raw.answer().data["actions"]
        short_timeout_raw.socket.settimeout(1.5)
        with pytest.raises(TimeoutError):
            short_timeout_raw.socket.recv(1)
        short_timeout_raw.socket.settimeout(20)
        short_timeout_raw.send(request("GET", "/api/"))
        assert short_timeout_raw.socket.recv(12) == b"HTTP/1.1 200"

    def test_timeout_restarts_with_each_request(self, short_timeout_raw: RawConnection) -> None:
        for _ in range(8):
            short_timeout_raw.send(*split(request("GET", "/api/"), 8))
            assert short_timeout_raw.answer().data["actions"]

    @staticmethod
    def _send_byte_by_byte(raw: RawConnection, data: bytes) -> int:
        """Send byte by byte until the server closes the connection; return the number of bytes sent."""
        raw.socket.settimeout(0.005)
        for sent, byte in enumerate(split(data, 1)):
            try:
                raw.socket.sendall(byte)
                if raw.socket.recv(65_536) == b"":
                    return sent
            except TimeoutError:
                continue
            except ConnectionError:
                return sent
        return len(data)


class TestHeads:
    def test_head_over_32_kib_is_rejected(self, raw: RawConnection) -> None:
        raw.send(request("GET", "/api/", [("X-Large", "x" * 33_000)]))
        assert_plain_error(raw.answer(), 431)
        assert raw.rest() == b""

    def test_incomplete_head_over_32_kib_is_rejected(self, raw: RawConnection) -> None:
        raw.send(b"GET /api/ HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Large: " + b"x" * 33_000)
        assert_plain_error(raw.answer(), 431)
        assert raw.rest() == b""

    def test_head_over_32_kib_in_several_packets_is_rejected(self, raw: RawConnection) -> None:
        raw.send(b"GET /api/ HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Large: ", *repeat(b"x" * 4096, 8))
        assert_plain_error(raw.answer(), 431)
        assert raw.rest() == b""

    def test_target_over_32_kib_is_rejected(self, raw: RawConnection) -> None:
        raw.send(request("GET", "/api/?" + "x" * 33_000))
        assert_plain_error(raw.answer(), 431)
        assert raw.rest() == b""

    def test_oversized_head_of_a_second_request_is_rejected(self, raw: RawConnection) -> None:
        raw.send(request("GET", "/api/"))
        assert raw.answer().data["actions"]
        raw.send(request("GET", "/api/", [("X-Large", "x" * 33_000)]))
        assert_plain_error(raw.answer(), 431)

    def test_head_just_under_32_kib_is_accepted(self, raw: RawConnection) -> None:
        raw.send(request("GET", "/api/", [("X-Large", "x" * 32_000)]))
        assert raw.answer().data["actions"]

    def test_large_body_before_a_head_does_not_count(self, raw: RawConnection, session: HeaderPairs) -> None:
        following = request("GET", "/api/")
        raw.send(action_request(session, FLAVORS + b" " * 60_000) + following[:30], following[30:])
        assert has_flavors(raw.answer())
        assert raw.answer().data["actions"]

    def test_a_path_of_many_escapes_is_rejected(self, raw: RawConnection) -> None:
        raw.send(request("GET", "/" + "%61" * 257))
        assert raw.answer().status == 400

    def test_a_thousand_long_headers_are_too_many(self, raw: RawConnection) -> None:
        raw.send(request("GET", "/api/", [(f"X-{number}", "value" * 10) for number in range(1000)]))
        assert_plain_error(raw.answer(), 431)

    @pytest.mark.parametrize("where", ["value", "name", "cookie"])
    def test_nul_is_rejected(self, raw: RawConnection, where: str) -> None:
        line = {"value": "X-Odd: a\0b", "name": "X-O\0dd: ab", "cookie": "Cookie: sessionid=\0"}[where]
        raw.send(b"GET /api/ HTTP/1.1\r\nHost: 127.0.0.1\r\n%b\r\n\r\n" % line.encode())
        assert_plain_error(raw.answer(), 400)
        assert raw.rest() == b""

    @pytest.mark.parametrize(
        "name", ["X-Odd", "Cookie", "Accept-Language", "X-Request-ID", "User-Agent", "Content-Type", "X-Forwarded-For"]
    )
    @pytest.mark.parametrize("value", ["\xff\xfe\x80", "中文", "a\tb", "é"])
    def test_non_ascii_header_values_are_accepted(self, raw: RawConnection, name: str, value: str) -> None:
        raw.send(b"GET /api/ HTTP/1.1\r\nHost: 127.0.0.1\r\n%b: %b\r\n\r\n" % (name.encode(), value.encode("utf-8")))
        assert raw.answer().data["actions"]

    def test_non_ascii_host_is_rejected(self, raw: RawConnection) -> None:
        raw.send(b"GET /api/ HTTP/1.1\r\nHost: 127.0.0.1\xff\r\n\r\n")
        assert raw.answer().error == "invalid_host"

    def test_non_ascii_csrf_token_is_rejected(self, raw: RawConnection, session: HeaderPairs) -> None:
        headers = [pair for pair in session if pair[0] == "Cookie"] + [("X-CSRFToken", "\xff\xfe")]
        raw.send(request("POST", "/api/", with_length(headers, len(FLAVORS)), FLAVORS))
        assert raw.answer().error == "csrf_failed"


class TestNotHttp:
    @pytest.mark.parametrize(
        "data",
        [
            b"hello there\r\n\r\n",
            b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(range(256)),
            b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0",
            b"SSH-2.0-OpenSSH_9.2\r\n",
            b"\x00" * 100,
            b"get /api/ HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
        ],
    )
    def test_gets_a_plain_text_400(self, raw: RawConnection, data: bytes) -> None:
        raw.send(data)
        assert_plain_error(raw.answer(), 400)
        assert raw.rest() == b""


class TestHalfClosed:
    def test_a_get_is_answered(self, raw: RawConnection) -> None:
        raw.send(request("GET", "/api/"))
        raw.socket.shutdown(SHUT_WR)
        assert raw.answer().data["actions"]
        assert raw.rest() == b""

    def test_a_post_is_answered(self, raw: RawConnection, session: HeaderPairs) -> None:
        raw.send(action_request(session))
        raw.socket.shutdown(SHUT_WR)
        assert has_flavors(raw.answer())
        assert raw.rest() == b""

    def test_login_is_answered(self, raw: RawConnection) -> None:
        form = b"csrfmiddlewaretoken=x&username=demo&password=console-demo&region=x"
        raw.send(request("POST", "/auth/login/", [("Content-Type", FORM), ("Content-Length", str(len(form)))], form))
        raw.socket.shutdown(SHUT_WR)
        assert raw.answer().error == "csrf_failed"

    def test_pipelined_requests_are_all_answered(self, raw: RawConnection, session: HeaderPairs) -> None:
        raw.send(action_request(session) + request("GET", "/nowhere/") + request("GET", "/api/"))
        raw.socket.shutdown(SHUT_WR)
        assert has_flavors(raw.answer())
        assert raw.answer().error == "not_found"
        assert raw.answer().data["actions"]
        assert raw.rest() == b""


def slowly(pieces: Iterable[bytes]) -> Iterator[bytes]:
    for piece in pieces:
        time.sleep(PAUSE)
        yield piece


class TestNotReading:
    def test_client_that_does_not_read_is_disconnected(self, short_timeout: RunningServer) -> None:
        with socket.socket() as connection:
            # A small receive buffer here fills the send buffer of the server.
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            connection.settimeout(30)
            connection.connect(("127.0.0.1", short_timeout.port))
            pieces = [request("GET", "/") * 20] * 100 + [b"\r\n"] * 400
            assert RawConnection(connection).send_until_closed(slowly(pieces)) < len(b"".join(pieces))
        with raw_connection(short_timeout) as raw:
            raw.send(request("GET", "/api/"))
            assert raw.answer().data["actions"]


class TestPipelining:
    @pytest.mark.parametrize("broken", [b"ZZ", b"5\r\nabc"], ids=["malformed", "unfinished"])
    def test_requests_before_a_malformed_one_are_answered(
        self, short_timeout_raw: RawConnection, short_timeout: RunningServer, broken: bytes
    ) -> None:
        bad = request("POST", "/nowhere/", [("Transfer-Encoding", "chunked")], broken)
        short_timeout_raw.send(request("GET", "/api/") + request("GET", "/nowhere/") + bad)
        assert short_timeout_raw.answer().data["actions"]
        assert short_timeout_raw.answer().error == "not_found"
        assert b"Traceback" not in short_timeout_raw.rest() + short_timeout.log().encode()

    def test_responses_come_in_order(self, raw: RawConnection, session: HeaderPairs) -> None:
        names = [f"number-{number}" for number in range(20)]
        paths = ["/api/", "/nowhere/"]
        raw.send(
            b"".join(
                request("GET", paths[number % 2], [("X-Request-ID", name)])
                if number % 3
                else action_request(session, FLAVORS, ("X-Request-ID", name))
                for number, name in enumerate(names)
            )
        )
        assert [raw.answer().header("x-request-id") for _ in names] == names

    def test_number_of_pipelined_requests_is_limited(self, raw: RawConnection) -> None:
        raw.send(b"".join(request("GET", "/api/", [("X-Request-ID", f"n-{number}")]) for number in range(2000)))
        received = raw.rest()
        answered = [int(name) for name in re.findall(rb"x-request-id: n-(\d+)\r\n", received)]
        assert answered == list(range(len(answered)))
        assert 50 < len(answered) < 1000

    def test_nothing_is_answered_after_connection_close(self, raw: RawConnection) -> None:
        raw.send(request("GET", "/api/", [("Connection", "close")]) + request("GET", "/nowhere/"))
        assert raw.answer().data["actions"]
        assert raw.rest() == b""

    def test_oversized_head_that_starts_in_a_pipeline_is_rejected(
        self, raw: RawConnection, session: HeaderPairs
    ) -> None:
        large = request("GET", "/nowhere/", [("X-Large", "x" * 33_000)])
        raw.send(action_request(session) + large[:31_000])
        assert has_flavors(raw.answer())
        raw.send(large[31_000:])
        assert_plain_error(raw.answer(), 431)
        assert raw.rest() == b""

    def test_oversized_head_does_not_affect_the_response_before_it(
        self, raw: RawConnection, session: HeaderPairs
    ) -> None:
        raw.send(action_request(session) + request("GET", "/nowhere/", [("X-Large", "x" * 33_000)]))
        assert has_flavors(raw.answer())
        assert b"200 OK" not in raw.rest()


class TestTargets:
    @pytest.mark.parametrize(
        "target",
        ["http://127.0.0.1/api/", "http://localhost:1/api/", "/%61pi/", "/api%2F", "/api/?a=b", "/api/?", "/api/?%zz"],
    )
    def test_equivalent_targets_are_accepted(self, raw: RawConnection, target: str) -> None:
        raw.send(request("GET", target))
        assert raw.answer().data["actions"]

    @pytest.mark.parametrize(
        "target",
        [
            "//api/",
            "/API/",
            "/api//",
            "/./api/",
            "/x/../api/",
            "/api/%00",
            "/%ff%fe",
            "/%e4%b8%ad",
            "/api/;x",
            "/%252e",
        ],
    )
    def test_similar_targets_are_not_found(self, raw: RawConnection, target: str) -> None:
        raw.send(request("GET", target))
        assert raw.answer().error == "not_found"

    def test_options_asterisk_lists_the_methods(self, raw: RawConnection) -> None:
        raw.send(request("OPTIONS", "*"))
        reply = raw.answer(to="OPTIONS")
        assert reply.status == 204
        assert "OPTIONS" in (reply.header("allow") or "")

    @pytest.mark.parametrize(
        "target", ["127.0.0.1:8000", "/a b", "/api/\xff", "api/", "http://[::1/", "http://127.0.0.1"]
    )
    def test_malformed_target_is_rejected(self, raw: RawConnection, target: str) -> None:
        raw.send(request("GET", target))
        assert_plain_error(raw.answer(), 400)
        assert raw.rest() == b""

    def test_connect_is_rejected(self, raw: RawConnection) -> None:
        raw.send(request("CONNECT", "127.0.0.1:8000"))
        assert raw.answer().status in (400, 405)

    @pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "TRACE", "PROPFIND"])
    def test_other_methods_get_an_error_envelope(self, raw: RawConnection, method: str) -> None:
        raw.send(request(method, "/api/"))
        assert raw.answer().error == "method_not_allowed"

    def test_head_request_gets_no_body(self, raw: RawConnection) -> None:
        raw.send(request("HEAD", "/api/") + request("GET", "/nowhere/"))
        assert raw.answer(to="HEAD").status == 200
        assert raw.answer().error == "not_found"


class TestManyHeaders:
    def test_100_headers_are_accepted(self, raw: RawConnection) -> None:
        raw.send(head("GET", "/api/", [("Host", "127.0.0.1"), *([("X-More", "x")] * 99)]))
        assert raw.answer().data["actions"]

    def test_more_than_100_headers_are_rejected(self, raw: RawConnection) -> None:
        raw.send(head("GET", "/api/", [("Host", "127.0.0.1"), *([("X-More", "x")] * 100)]))
        assert_plain_error(raw.answer(), 431)

    def test_length_with_thousands_of_zeros_is_accepted(self, raw: RawConnection, session: HeaderPairs) -> None:
        length = "0" * 5000 + str(len(FLAVORS))
        raw.send(request("POST", "/api/", [*session, ("Content-Type", JSON), ("Content-Length", length)], FLAVORS))
        assert has_flavors(raw.answer())


class TestConcurrentLogout:
    """A poll for changes covers only requests that arrived before it."""

    def test_request_completed_after_a_logout_is_rejected(self, server: RunningServer, raw: RawConnection) -> None:
        headers = log_in(server)
        whole = action_request(headers)
        raw.send(whole[: -len(FLAVORS)])
        with raw_connection(server) as other:
            other.send(action_request(headers))
            assert has_flavors(other.answer())
            other.send(request("POST", "/auth/logout/", [*headers, ("Content-Length", "0")]))
            assert other.answer().status == 200
        raw.send(FLAVORS)
        assert raw.answer().error == "login_required"

    def test_request_pipelined_after_a_logout_is_rejected(self, server: RunningServer, raw: RawConnection) -> None:
        headers = log_in(server)
        logout = request("POST", "/auth/logout/", [*headers, ("Content-Length", "0")])
        raw.send(action_request(headers) + logout + action_request(headers))
        assert has_flavors(raw.answer())
        assert raw.answer().status == 200
        assert raw.answer().error == "login_required"


class TestRawResponses:
    """Successful actions bypass the server's normal response path; clients must not see a difference."""

    def test_headers_match_those_of_other_responses(self, raw: RawConnection, session: HeaderPairs) -> None:
        raw.send(action_request(session), action_request(session, b"{}"))
        success, error = raw.answer(), raw.answer()
        assert (success.status, error.error) == (200, "missing_field")
        assert sorted(name for name, _ in success.headers) == sorted(name for name, _ in error.headers)
        differing = {name for name in dict(success.headers) if success.header(name) != error.header(name)}
        assert differing - {"date"} == {"content-length", "x-request-id"}

    def test_connection_is_closed_only_on_request(self, raw: RawConnection, session: HeaderPairs) -> None:
        raw.send(action_request(session), action_request(session, FLAVORS, ("Connection", "close")))
        assert [raw.answer().header("connection") for _ in range(2)] == [None, "close"]
        assert raw.rest() == b""

    def test_pipelined_responses_are_complete_and_in_order(self, raw: RawConnection, session: HeaderPairs) -> None:
        ids = [f"call-{number}" for number in range(50)]
        raw.send(b"".join(action_request(session, FLAVORS, ("X-Request-ID", each)) for each in ids))
        replies = [raw.answer() for _ in ids]
        assert [reply.header("x-request-id") for reply in replies] == ids
        assert all(has_flavors(reply) for reply in replies)
