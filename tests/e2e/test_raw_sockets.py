"""What arrives on the socket: well-formed, odd, slow, oversized and hostile bytes, and a server that stands."""

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
from tests.e2e.raw_http import PAUSE, Raw, chunked, head, raw_connection, request, split
from tests.harness import FORM, JSON, Caller, HeaderPairs, OverHttp, Reply, RunningServer, running_server

FLAVORS = json.dumps({"action": "GetFlavors"}).encode()
FIVE_MB = 5 * 1024 * 1024
MOST_BODY = 65_536


@pytest.fixture(scope="module")
def hasty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    """A server that waits no more than a second for a request."""
    with running_server(tmp_path_factory.mktemp("hasty"), "--request-timeout", "1") as running:
        yield running


def log_in(server: RunningServer) -> HeaderPairs:
    """The headers of a logged-in caller."""
    wire = OverHttp(server.base)
    caller = Caller(wire)
    assert caller.login().status == 200
    wire.close()
    cookies = "; ".join(f"{name}={value}" for name, value in caller.cookies.items())
    return [("Cookie", cookies), ("X-CSRFToken", caller.token)]


@pytest.fixture(scope="module")
def session(server: RunningServer) -> HeaderPairs:
    return log_in(server)


@pytest.fixture(autouse=True)
def still_answering(request: pytest.FixtureRequest) -> Iterator[None]:
    """After every test here the servers it used answer a normal call."""
    yield
    for name in {"server", "hasty"} & set(request.fixturenames):
        running: RunningServer = request.getfixturevalue(name)
        wire = OverHttp(running.base)
        assert wire.send("GET", "/api/", []).data["actions"]
        wire.close()


@pytest.fixture
def raw(server: RunningServer) -> Iterator[Raw]:
    with raw_connection(server) as connection:
        yield connection


@pytest.fixture
def hasty_raw(hasty: RunningServer) -> Iterator[Raw]:
    with raw_connection(hasty) as connection:
        yield connection


def with_length(session: HeaderPairs, length: int) -> HeaderPairs:
    return [*session, ("Content-Type", JSON), ("Content-Length", str(length))]


def with_chunks(session: HeaderPairs) -> HeaderPairs:
    return [*session, ("Content-Type", JSON), ("Transfer-Encoding", "chunked")]


def call(session: HeaderPairs, body: bytes = FLAVORS, *more: tuple[str, str]) -> bytes:
    return request("POST", "/api/", [*with_length(session, len(body)), *more], body)


def has_flavors(reply: Reply) -> bool:
    return len(reply.data["flavors"]) > 1


def assert_bare(reply: Reply, status: int) -> None:
    """An answer of the server itself, to what the application never saw; it has the same headers as all others."""
    assert reply.status == status
    assert reply.header("connection") == "close"
    assert reply.header("content-type") == "text/plain"
    assert re.fullmatch("[0-9a-f]{16}", reply.header("x-request-id") or "")
    for name, value in [CLOSED_POLICY, NO_STORE, *SECURITY_HEADERS]:
        assert reply.header(name.decode()) == value.decode()


class TestContentLength:
    def test_what_follows_a_body_is_no_part_of_it(self, raw: Raw, session: HeaderPairs) -> None:
        announced = b'{"action": "GetFlavors"'
        raw.send(request("POST", "/api/", with_length(session, len(announced)), announced + b"}"))
        assert raw.answer().error == "malformed_body"

    def test_a_request_before_garbage_is_answered_and_the_connection_closed(
        self, raw: Raw, session: HeaderPairs
    ) -> None:
        raw.send(call(session) + b"}}} not http at all\r\n\r\n")
        assert has_flavors(raw.answer())
        assert b"200 OK" not in raw.rest()

    def test_a_request_after_a_body_is_a_request_of_its_own(self, raw: Raw, session: HeaderPairs) -> None:
        raw.send(call(session) + request("GET", "/api/"))
        assert has_flavors(raw.answer())
        assert raw.answer().data["actions"]

    def test_a_body_shorter_than_announced_is_waited_for_and_then_refused(self, hasty_raw: Raw) -> None:
        hasty_raw.send(request("POST", "/api/", with_length([], len(FLAVORS) + 1), FLAVORS))
        assert_bare(hasty_raw.answer(), 408)
        assert hasty_raw.rest() == b""

    def test_a_body_broken_off_by_the_caller_is_not_acted_on(self, raw: Raw, session: HeaderPairs) -> None:
        raw.send(request("POST", "/api/", with_length(session, len(FLAVORS) + 1), FLAVORS))
        raw.socket.shutdown(SHUT_WR)
        assert_bare(raw.answer(), 400)
        assert raw.rest() == b""

    @pytest.mark.parametrize("length", ["-1", "+5", "0x10", "5, 5", "5 5", "1e3", "9" * 30, "٣"])
    def test_a_length_that_is_no_number_is_refused(self, raw: Raw, length: str) -> None:
        raw.send(
            b"POST /api/ HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: %b\r\n\r\n12345" % length.encode(),
        )
        assert_bare(raw.answer(), 400)
        assert raw.rest() == b""

    def test_two_lengths_are_refused(self, raw: Raw) -> None:
        raw.send(request("POST", "/api/", [("Content-Length", "5"), ("Content-Length", "6")], b"123456"))
        assert_bare(raw.answer(), 400)
        assert raw.rest() == b""


class TestChunkedBodies:
    def test_one_chunk(self, raw: Raw, session: HeaderPairs) -> None:
        raw.send(request("POST", "/api/", with_chunks(session), chunked([FLAVORS])))
        assert has_flavors(raw.answer())

    def test_many_pieces(self, raw: Raw, session: HeaderPairs) -> None:
        raw.send(request("POST", "/api/", with_chunks(session)), *split(chunked(split(FLAVORS, 3)), 7))
        assert has_flavors(raw.answer())

    def test_byte_by_byte(self, raw: Raw, session: HeaderPairs) -> None:
        everything = request("POST", "/api/", with_chunks(session), chunked(split(FLAVORS, 9)))
        for byte in split(everything, 1):
            raw.socket.sendall(byte)
        assert has_flavors(raw.answer())

    def test_a_body_of_many_tiny_chunks_is_rejected(self, raw: Raw, session: HeaderPairs) -> None:
        body = chunked(split(FLAVORS + b" " * 300, 1))
        raw.send(request("POST", "/api/", with_chunks(session), body))
        assert raw.answer().status == 400

    def test_too_many_trailers_are_rejected(self, raw: Raw, session: HeaderPairs) -> None:
        body = b"%x\r\n%b\r\n0\r\n%b\r\n" % (len(FLAVORS), FLAVORS, b"a: b\r\n" * 101)
        raw.send(request("POST", "/api/", with_chunks(session), body))
        assert raw.answer().status == 431

    def test_extensions_are_passed_over(self, raw: Raw, session: HeaderPairs) -> None:
        body = b'%x;name="value"\r\n%b\r\n0\r\n\r\n' % (len(FLAVORS), FLAVORS)
        raw.send(request("POST", "/api/", with_chunks(session), body))
        assert has_flavors(raw.answer())

    @pytest.mark.parametrize("trailer", ["Host: evil.example.com", "X-CSRFToken: other", "Content-Type: text/plain"])
    def test_trailers_are_no_headers(self, raw: Raw, session: HeaderPairs, trailer: str) -> None:
        body = b"%x\r\n%b\r\n0\r\n%b\r\n\r\n" % (len(FLAVORS), FLAVORS, trailer.encode())
        raw.send(request("POST", "/api/", with_chunks(session), body) + call(session))
        assert has_flavors(raw.answer())
        assert has_flavors(raw.answer())

    def test_endless_trailers_are_cut_off(self, raw: Raw) -> None:
        raw.send(request("POST", "/api/", with_chunks([]), b"0\r\nX-Trailer: "))
        assert raw.send_until_refused(repeat(b"x" * 65_536, 1024)) < 64 * 1024 * 1024

    def test_a_second_request_follows_on_the_same_connection(self, raw: Raw, session: HeaderPairs) -> None:
        raw.send(request("POST", "/api/", with_chunks(session), chunked([FLAVORS])))
        assert has_flavors(raw.answer())
        raw.send(request("GET", "/api/"))
        assert raw.answer().data["actions"]

    def test_as_large_as_allowed(self, raw: Raw, session: HeaderPairs) -> None:
        body = FLAVORS + b" " * (MOST_BODY - len(FLAVORS))
        raw.send(request("POST", "/api/", with_chunks(session), chunked(split(body, 1000))))
        assert has_flavors(raw.answer())

    def test_one_byte_more_is_refused(self, raw: Raw, session: HeaderPairs) -> None:
        body = FLAVORS + b" " * (MOST_BODY - len(FLAVORS) + 1)
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
    def test_a_malformed_chunk_is_refused(self, raw: Raw, session: HeaderPairs, body: bytes) -> None:
        raw.send(request("POST", "/api/", with_chunks(session)), body)
        assert_bare(raw.answer(), 400)
        assert raw.rest() == b""

    def test_a_malformed_chunk_after_a_refusal_gets_no_second_answer(self, raw: Raw) -> None:
        raw.send(request("POST", "/nowhere/", with_chunks([])), b"5\r\nhel")
        assert raw.answer().error == "not_found"
        raw.send(b"lo!!! no chunk\r\n")
        assert raw.rest() == b""

    @pytest.mark.parametrize("encoding", ["identity", "chunked, identity", "xchunked", "chunked, chunked", "gzip"])
    def test_another_encoding_is_never_taken_for_an_action(self, raw: Raw, session: HeaderPairs, encoding: str) -> None:
        headers = [*session, ("Content-Type", JSON), ("Transfer-Encoding", encoding)]
        raw.send(request("POST", "/api/", headers, chunked([FLAVORS])))
        assert_bare(raw.answer(), 400)
        assert raw.rest() == b""


class TestSmuggling:
    @pytest.mark.parametrize("length", [4, 5, 200])
    @pytest.mark.parametrize("length_first", [True, False])
    def test_length_and_chunks_together_are_refused_with_one_answer(
        self, raw: Raw, session: HeaderPairs, length: int, length_first: bool
    ) -> None:
        both = [("Content-Length", str(length)), ("Transfer-Encoding", "chunked")]
        headers = [*session, ("Content-Type", JSON), *(both if length_first else reversed(both))]
        raw.send(request("POST", "/api/", headers, chunked([FLAVORS]) + request("GET", "/smuggled/")))
        assert_bare(raw.answer(), 400)
        assert raw.rest() == b""

    @pytest.mark.parametrize(
        "header", ["Transfer-Encoding : chunked", " Transfer-Encoding: chunked", "Transfer-Encoding\t: chunked"]
    )
    def test_a_disguised_encoding_is_refused(self, raw: Raw, header: str) -> None:
        raw.send(b"POST /api/ HTTP/1.1\r\nHost: 127.0.0.1\r\n%b\r\n\r\n" % header.encode() + chunked([FLAVORS]))
        assert_bare(raw.answer(), 400)
        assert raw.rest() == b""

    def test_a_bare_carriage_return_splits_no_header(self, raw: Raw) -> None:
        raw.send(b"GET /api/ HTTP/1.1\r\nHost: 127.0.0.1\r\nX-One: a\rX-Two: b\r\n\r\n")
        assert_bare(raw.answer(), 400)
        assert raw.rest() == b""

    def test_two_hosts_are_refused(self, raw: Raw) -> None:
        raw.send(request("GET", "/api/", [("Host", "127.0.0.1"), ("Host", "evil.example.com")]))
        assert raw.answer().error == "invalid_host"


class TestExpectContinue:
    def test_a_small_body_is_asked_for_and_answered(self, raw: Raw, session: HeaderPairs) -> None:
        raw.send(request("POST", "/api/", [*with_length(session, len(FLAVORS)), ("Expect", "100-continue")]))
        assert raw.answer().status == 100
        raw.send(FLAVORS)
        assert has_flavors(raw.answer())

    def test_a_chunked_body_is_asked_for_and_answered(self, raw: Raw, session: HeaderPairs) -> None:
        raw.send(request("POST", "/api/", [*with_chunks(session), ("Expect", "100-continue")]))
        assert raw.answer().status == 100
        raw.send(chunked([FLAVORS]))
        assert has_flavors(raw.answer())

    def test_an_oversized_body_is_refused_and_never_asked_for(self, raw: Raw, session: HeaderPairs) -> None:
        raw.send(request("POST", "/api/", [*with_length(session, FIVE_MB), ("Expect", "100-continue")]))
        reply = raw.answer()
        assert reply.error == "body_too_large"
        assert reply.header("connection") == "close"
        raw.socket.shutdown(SHUT_WR)
        assert raw.rest() == b""

    def test_a_body_for_nothing_is_never_asked_for(self, raw: Raw) -> None:
        raw.send(request("POST", "/nowhere/", [("Content-Length", "5"), ("Expect", "100-continue")]))
        assert raw.answer().error == "not_found"

    def test_a_body_sent_without_waiting_counts(self, raw: Raw, session: HeaderPairs) -> None:
        raw.send(call(session, FLAVORS, ("Expect", "100-continue")))
        reply = raw.answer()
        assert has_flavors(raw.answer() if reply.status == 100 else reply)

    def test_an_expectation_in_another_case_counts(self, raw: Raw, session: HeaderPairs) -> None:
        raw.send(request("POST", "/api/", [*with_length(session, len(FLAVORS)), ("Expect", "100-Continue")]))
        assert raw.answer().status == 100


class TestHttp10:
    @pytest.mark.parametrize("headers", [[], [("Host", "127.0.0.1")], [("Host", "localhost:1234")]])
    def test_is_answered_with_and_without_host(self, raw: Raw, headers: HeaderPairs) -> None:
        raw.send(head("GET", "/api/", headers, version="HTTP/1.0"))
        assert raw.answer().data["actions"]
        assert raw.rest() == b""

    def test_keep_alive_is_answered_by_closing_and_said_so(self, raw: Raw) -> None:
        raw.send(head("GET", "/api/", [("Connection", "keep-alive")], version="HTTP/1.0"))
        reply = raw.answer()
        assert reply.data["actions"]
        assert reply.header("connection") == "close"
        assert raw.rest() == b""

    def test_an_action_can_be_called(self, raw: Raw, session: HeaderPairs) -> None:
        raw.send(head("POST", "/api/", with_length(session, len(FLAVORS)), version="HTTP/1.0") + FLAVORS)
        assert has_flavors(raw.answer())

    def test_http_11_without_host_is_refused(self, raw: Raw) -> None:
        raw.send(head("GET", "/api/", []))
        assert raw.answer().error == "invalid_host"

    @pytest.mark.parametrize("line", [b"GET /api/ HTTP/3.7\r\n\r\n", b"GET /api/ XTTP/1.1\r\n\r\n"])
    def test_other_versions_are_refused(self, raw: Raw, line: bytes) -> None:
        raw.send(line)
        assert_bare(raw.answer(), 400)
        assert raw.rest() == b""


def as_java_sends(method: str, target: str, headers: HeaderPairs, length: int) -> bytes:
    """A head, header by header as Java 17's HttpClient sends it by default."""
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
    def test_a_get_is_answered_and_another_follows(self, raw: Raw) -> None:
        for _ in range(3):
            raw.send(as_java_sends("GET", "/api/", [], 0))
            assert raw.answer().data["actions"]

    @pytest.mark.parametrize("pieces", [1, 2, 3, 40])
    def test_the_body_of_a_post_counts_and_another_follows(self, raw: Raw, session: HeaderPairs, pieces: int) -> None:
        everything = as_java_sends("POST", "/api/", [*session, ("Content-Type", JSON)], len(FLAVORS)) + FLAVORS
        for _ in range(2):
            raw.send(*split(everything, -(-len(everything) // pieces)))
            assert has_flavors(raw.answer())
        raw.send(as_java_sends("GET", "/api/", [], 0))
        assert raw.answer().data["actions"]

    def test_head_and_body_in_two_packets_as_java_does(self, raw: Raw, session: HeaderPairs) -> None:
        raw.send(as_java_sends("POST", "/api/", [*session, ("Content-Type", JSON)], len(FLAVORS)), FLAVORS)
        assert has_flavors(raw.answer())
        raw.send(as_java_sends("POST", "/api/", [*session, ("Content-Type", JSON)], len(FLAVORS)), FLAVORS)
        assert has_flavors(raw.answer())

    def test_a_chunked_body_counts(self, raw: Raw, session: HeaderPairs) -> None:
        offer = [("Connection", "Upgrade, HTTP2-Settings"), ("Upgrade", "h2c"), ("HTTP2-Settings", "AAEAAEAA")]
        raw.send(request("POST", "/api/", [*offer, *with_chunks(session)], chunked([FLAVORS])))
        assert has_flavors(raw.answer())
        raw.send(request("GET", "/api/"))
        assert raw.answer().data["actions"]

    def test_a_request_in_the_same_packet_is_answered_too(self, raw: Raw, session: HeaderPairs) -> None:
        first = as_java_sends("POST", "/api/", [*session, ("Content-Type", JSON)], len(FLAVORS)) + FLAVORS
        raw.send(first + as_java_sends("GET", "/nowhere/", [], 0) + request("GET", "/api/"))
        assert has_flavors(raw.answer())
        assert raw.answer().error == "not_found"
        assert raw.answer().data["actions"]

    def test_websocket_is_ignored(self, raw: Raw) -> None:
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
    def test_with_length_over_a_socket(self, raw: Raw, session: HeaderPairs, more: HeaderPairs) -> None:
        raw.send(request("POST", "/api/", [*with_length(session, FIVE_MB), *more]), b"x" * FIVE_MB)
        reply = raw.answer()
        assert (reply.status, reply.error) == (413, "body_too_large")
        assert reply.header("connection") == "close"
        assert raw.rest() == b""

    @pytest.mark.parametrize("more", [[], [("Connection", "close")]])
    def test_chunked_over_a_socket(self, raw: Raw, session: HeaderPairs, more: HeaderPairs) -> None:
        raw.send(
            request("POST", "/api/", [*with_chunks(session), *more]), chunked(repeat(b"x" * 8192, FIVE_MB // 8192))
        )
        reply = raw.answer()
        assert (reply.status, reply.error) == (413, "body_too_large")
        assert reply.header("connection") == "close"
        assert raw.rest() == b""

    def test_is_refused_before_it_was_sent(self, raw: Raw, session: HeaderPairs) -> None:
        raw.send(request("POST", "/api/", with_length(session, FIVE_MB)))
        assert raw.answer().error == "body_too_large"
        raw.send(b"x" * FIVE_MB)
        assert raw.rest() == b""

    @pytest.mark.parametrize("in_chunks", [False, True])
    def test_through_http_client(self, server: RunningServer, session: HeaderPairs, in_chunks: bool) -> None:
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
    def test_to_a_caller_without_a_session(self, raw: Raw, path: str) -> None:
        raw.send(request("POST", path, [("Content-Type", FORM), ("Content-Length", str(FIVE_MB))]), b"x" * FIVE_MB)
        assert raw.answer().error == "body_too_large"

    @pytest.mark.parametrize(
        ("path", "error"),
        [("/nowhere/", "not_found"), ("/auth/logout/", "login_required"), ("/", "method_not_allowed")],
    )
    @pytest.mark.parametrize("in_chunks", [False, True])
    @pytest.mark.parametrize("more", [[], [("Connection", "close")]])
    def test_where_no_body_is_wanted_the_answer_is_seen(
        self, raw: Raw, path: str, error: str, in_chunks: bool, more: HeaderPairs
    ) -> None:
        length = ("Transfer-Encoding", "chunked") if in_chunks else ("Content-Length", str(FIVE_MB))
        body = b"x" * FIVE_MB
        raw.send(request("POST", path, [length, *more]), chunked(split(body, 65_536)) if in_chunks else body)
        assert raw.answer().error == error

    @pytest.mark.parametrize("path", ["/api/", "/nowhere/", "/auth/logout/"])
    @pytest.mark.parametrize("in_chunks", [False, True])
    def test_far_more_is_cut_off(self, raw: Raw, path: str, in_chunks: bool) -> None:
        size = 256 * 1024 * 1024
        length = ("Transfer-Encoding", "chunked") if in_chunks else ("Content-Length", str(size))
        raw.send(request("POST", path, [length, ("Content-Type", JSON)]))
        piece = b"%x\r\n%b\r\n" % (65_536, b"x" * 65_536) if in_chunks else b"x" * 65_536
        assert raw.send_until_refused(repeat(piece, size // 65_536)) < 64 * 1024 * 1024

    def test_a_small_body_to_nowhere_keeps_the_connection(self, raw: Raw) -> None:
        raw.send(request("POST", "/nowhere/", [("Content-Length", "5")], b"12345") + request("GET", "/api/"))
        assert raw.answer().error == "not_found"
        assert raw.answer().data["actions"]


class TestSlowCallers:
    def test_a_head_that_does_not_end_is_given_up(self, hasty_raw: Raw) -> None:
        hasty_raw.send(b"GET /api/ HTTP/1.1\r\n", b"Host: 127.0.0.1\r\n", b"X-Slow: ")
        assert_bare(hasty_raw.answer(), 408)
        assert hasty_raw.rest() == b""

    def test_a_head_byte_by_byte_gains_no_time(self, hasty_raw: Raw) -> None:
        endless = b"GET /api/ HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: " + b"y" * 2000
        assert self._dribble(hasty_raw, endless) < len(endless)

    def test_a_body_byte_by_byte_gains_no_time(self, hasty_raw: Raw) -> None:
        endless = request("POST", "/api/", with_length([], 2000)) + b"y" * 2000
        assert self._dribble(hasty_raw, endless) < len(endless)

    def test_the_body_of_a_refused_call_gains_no_time(self, hasty_raw: Raw) -> None:
        hasty_raw.send(request("POST", "/nowhere/", [("Content-Length", "2000")]))
        assert hasty_raw.answer().error == "not_found"
        assert self._dribble(hasty_raw, b"y" * 2000) < 2000

    def test_a_connection_that_says_nothing_is_closed(self, hasty_raw: Raw) -> None:
        assert_bare(hasty_raw.answer(), 408)
        assert hasty_raw.rest() == b""

    def test_a_connection_between_two_calls_is_kept(self, hasty_raw: Raw) -> None:
        hasty_raw.send(request("GET", "/api/"))
        assert hasty_raw.answer().data["actions"]
        hasty_raw.socket.settimeout(1.5)
        with pytest.raises(TimeoutError):
            hasty_raw.socket.recv(1)
        hasty_raw.socket.settimeout(20)
        hasty_raw.send(request("GET", "/api/"))
        assert hasty_raw.socket.recv(12) == b"HTTP/1.1 200"

    def test_the_time_counts_anew_for_each_request(self, hasty_raw: Raw) -> None:
        for _ in range(8):
            hasty_raw.send(*split(request("GET", "/api/"), 8))
            assert hasty_raw.answer().data["actions"]

    @staticmethod
    def _dribble(raw: Raw, data: bytes) -> int:
        """Send byte by byte until the other side has closed; gives how many bytes went out."""
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
    def test_over_32_kib_in_one_piece(self, raw: Raw) -> None:
        raw.send(request("GET", "/api/", [("X-Large", "x" * 33_000)]))
        assert_bare(raw.answer(), 431)
        assert raw.rest() == b""

    def test_over_32_kib_in_one_piece_without_an_end(self, raw: Raw) -> None:
        raw.send(b"GET /api/ HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Large: " + b"x" * 33_000)
        assert_bare(raw.answer(), 431)
        assert raw.rest() == b""

    def test_over_32_kib_dribbled(self, raw: Raw) -> None:
        raw.send(b"GET /api/ HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Large: ", *repeat(b"x" * 4096, 8))
        assert_bare(raw.answer(), 431)
        assert raw.rest() == b""

    def test_a_target_over_32_kib(self, raw: Raw) -> None:
        raw.send(request("GET", "/api/?" + "x" * 33_000))
        assert_bare(raw.answer(), 431)
        assert raw.rest() == b""

    def test_of_a_second_request(self, raw: Raw) -> None:
        raw.send(request("GET", "/api/"))
        assert raw.answer().data["actions"]
        raw.send(request("GET", "/api/", [("X-Large", "x" * 33_000)]))
        assert_bare(raw.answer(), 431)

    def test_just_under_32_kib_is_fine(self, raw: Raw) -> None:
        raw.send(request("GET", "/api/", [("X-Large", "x" * 32_000)]))
        assert raw.answer().data["actions"]

    def test_a_large_body_before_it_does_not_count(self, raw: Raw, session: HeaderPairs) -> None:
        following = request("GET", "/api/")
        raw.send(call(session, FLAVORS + b" " * 60_000) + following[:30], following[30:])
        assert has_flavors(raw.answer())
        assert raw.answer().data["actions"]

    def test_a_path_of_many_escapes_is_rejected(self, raw: Raw) -> None:
        raw.send(request("GET", "/" + "%61" * 257))
        assert raw.answer().status == 400

    def test_a_thousand_long_headers_are_too_many(self, raw: Raw) -> None:
        raw.send(request("GET", "/api/", [(f"X-{number}", "value" * 10) for number in range(1000)]))
        assert_bare(raw.answer(), 431)

    @pytest.mark.parametrize("where", ["value", "name", "cookie"])
    def test_nul_is_refused(self, raw: Raw, where: str) -> None:
        line = {"value": "X-Odd: a\0b", "name": "X-O\0dd: ab", "cookie": "Cookie: sessionid=\0"}[where]
        raw.send(b"GET /api/ HTTP/1.1\r\nHost: 127.0.0.1\r\n%b\r\n\r\n" % line.encode())
        assert_bare(raw.answer(), 400)
        assert raw.rest() == b""

    @pytest.mark.parametrize(
        "name", ["X-Odd", "Cookie", "Accept-Language", "X-Request-ID", "User-Agent", "Content-Type", "X-Forwarded-For"]
    )
    @pytest.mark.parametrize("value", ["\xff\xfe\x80", "中文", "a\tb", "é"])
    def test_bytes_beyond_ascii_in_a_header_break_nothing(self, raw: Raw, name: str, value: str) -> None:
        raw.send(b"GET /api/ HTTP/1.1\r\nHost: 127.0.0.1\r\n%b: %b\r\n\r\n" % (name.encode(), value.encode("utf-8")))
        assert raw.answer().data["actions"]

    def test_bytes_beyond_ascii_in_host_are_refused(self, raw: Raw) -> None:
        raw.send(b"GET /api/ HTTP/1.1\r\nHost: 127.0.0.1\xff\r\n\r\n")
        assert raw.answer().error == "invalid_host"

    def test_bytes_beyond_ascii_in_the_token_are_refused(self, raw: Raw, session: HeaderPairs) -> None:
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
    def test_gets_a_bare_400(self, raw: Raw, data: bytes) -> None:
        raw.send(data)
        assert_bare(raw.answer(), 400)
        assert raw.rest() == b""


class TestHalfClosed:
    def test_a_get_is_answered(self, raw: Raw) -> None:
        raw.send(request("GET", "/api/"))
        raw.socket.shutdown(SHUT_WR)
        assert raw.answer().data["actions"]
        assert raw.rest() == b""

    def test_a_post_is_answered(self, raw: Raw, session: HeaderPairs) -> None:
        raw.send(call(session))
        raw.socket.shutdown(SHUT_WR)
        assert has_flavors(raw.answer())
        assert raw.rest() == b""

    def test_a_login_that_takes_its_time_is_answered(self, raw: Raw) -> None:
        form = b"csrfmiddlewaretoken=x&username=demo&password=console-demo&region=x"
        raw.send(request("POST", "/auth/login/", [("Content-Type", FORM), ("Content-Length", str(len(form)))], form))
        raw.socket.shutdown(SHUT_WR)
        assert raw.answer().error == "csrf_failed"

    def test_pipelined_requests_are_all_answered(self, raw: Raw, session: HeaderPairs) -> None:
        raw.send(call(session) + request("GET", "/nowhere/") + request("GET", "/api/"))
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
    def test_a_caller_that_does_not_read_is_cut_off(self, hasty: RunningServer) -> None:
        with socket.socket() as connection:
            # Little room here makes the answers pile up there.
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            connection.settimeout(30)
            connection.connect(("127.0.0.1", hasty.port))
            pieces = [request("GET", "/") * 20] * 100 + [b"\r\n"] * 400
            assert Raw(connection).send_until_refused(slowly(pieces)) < len(b"".join(pieces))
        with raw_connection(hasty) as raw:
            raw.send(request("GET", "/api/"))
            assert raw.answer().data["actions"]


class TestPipelining:
    @pytest.mark.parametrize("broken", [b"ZZ", b"5\r\nabc"], ids=["malformed", "unfinished"])
    def test_what_came_before_a_broken_request_is_answered(
        self, hasty_raw: Raw, hasty: RunningServer, broken: bytes
    ) -> None:
        bad = request("POST", "/nowhere/", [("Transfer-Encoding", "chunked")], broken)
        hasty_raw.send(request("GET", "/api/") + request("GET", "/nowhere/") + bad)
        assert hasty_raw.answer().data["actions"]
        assert hasty_raw.answer().error == "not_found"
        assert b"Traceback" not in hasty_raw.rest() + hasty.log().encode()

    def test_is_answered_in_order(self, raw: Raw, session: HeaderPairs) -> None:
        names = [f"number-{number}" for number in range(20)]
        paths = ["/api/", "/nowhere/"]
        raw.send(
            b"".join(
                request("GET", paths[number % 2], [("X-Request-ID", name)])
                if number % 3
                else call(session, FLAVORS, ("X-Request-ID", name))
                for number, name in enumerate(names)
            )
        )
        assert [raw.answer().header("x-request-id") for _ in names] == names

    def test_far_too_many_at_once_are_not_kept_waiting(self, raw: Raw) -> None:
        raw.send(b"".join(request("GET", "/api/", [("X-Request-ID", f"n-{number}")]) for number in range(2000)))
        answers = raw.rest()
        answered = [int(name) for name in re.findall(rb"x-request-id: n-(\d+)\r\n", answers)]
        assert answered == list(range(len(answered)))
        assert 50 < len(answered) < 1000

    def test_nothing_after_a_last_request_is_answered(self, raw: Raw) -> None:
        raw.send(request("GET", "/api/", [("Connection", "close")]) + request("GET", "/nowhere/"))
        assert raw.answer().data["actions"]
        assert raw.rest() == b""

    def test_an_oversized_head_that_began_behind_a_request_is_refused(self, raw: Raw, session: HeaderPairs) -> None:
        large = request("GET", "/nowhere/", [("X-Large", "x" * 33_000)])
        raw.send(call(session) + large[:31_000])
        assert has_flavors(raw.answer())
        raw.send(large[31_000:])
        assert_bare(raw.answer(), 431)
        assert raw.rest() == b""

    def test_an_oversized_head_after_a_request_takes_nothing_from_its_answer(
        self, raw: Raw, session: HeaderPairs
    ) -> None:
        raw.send(call(session) + request("GET", "/nowhere/", [("X-Large", "x" * 33_000)]))
        assert has_flavors(raw.answer())
        assert b"200 OK" not in raw.rest()


class TestTargets:
    @pytest.mark.parametrize(
        "target",
        ["http://127.0.0.1/api/", "http://localhost:1/api/", "/%61pi/", "/api%2F", "/api/?a=b", "/api/?", "/api/?%zz"],
    )
    def test_forms_of_the_same_path(self, raw: Raw, target: str) -> None:
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
    def test_forms_of_other_paths(self, raw: Raw, target: str) -> None:
        raw.send(request("GET", target))
        assert raw.answer().error == "not_found"

    def test_options_of_the_server_as_a_whole(self, raw: Raw) -> None:
        raw.send(request("OPTIONS", "*"))
        reply = raw.answer(to="OPTIONS")
        assert reply.status == 204
        assert "OPTIONS" in (reply.header("allow") or "")

    @pytest.mark.parametrize(
        "target", ["127.0.0.1:8000", "/a b", "/api/\xff", "api/", "http://[::1/", "http://127.0.0.1"]
    )
    def test_what_is_no_target_is_refused(self, raw: Raw, target: str) -> None:
        raw.send(request("GET", target))
        assert_bare(raw.answer(), 400)
        assert raw.rest() == b""

    def test_connect_is_refused(self, raw: Raw) -> None:
        raw.send(request("CONNECT", "127.0.0.1:8000"))
        assert raw.answer().status in (400, 405)

    @pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "TRACE", "PROPFIND"])
    def test_other_methods_get_the_envelope(self, raw: Raw, method: str) -> None:
        raw.send(request(method, "/api/"))
        assert raw.answer().error == "method_not_allowed"

    def test_a_head_request_gets_no_body(self, raw: Raw) -> None:
        raw.send(request("HEAD", "/api/") + request("GET", "/nowhere/"))
        assert raw.answer(to="HEAD").status == 200
        assert raw.answer().error == "not_found"


class TestManyHeaders:
    def test_a_hundred_are_taken(self, raw: Raw) -> None:
        raw.send(head("GET", "/api/", [("Host", "127.0.0.1"), *([("X-More", "x")] * 99)]))
        assert raw.answer().data["actions"]

    def test_more_are_refused(self, raw: Raw) -> None:
        raw.send(head("GET", "/api/", [("Host", "127.0.0.1"), *([("X-More", "x")] * 100)]))
        assert_bare(raw.answer(), 431)

    def test_a_length_of_thousands_of_digits_is_a_length(self, raw: Raw, session: HeaderPairs) -> None:
        length = "0" * 5000 + str(len(FLAVORS))
        raw.send(request("POST", "/api/", [*session, ("Content-Type", JSON), ("Content-Length", length)], FLAVORS))
        assert has_flavors(raw.answer())


class TestWhatWasEndedMeanwhile:
    """A look at the store serves other calls that had arrived before it, and those only."""

    def test_a_call_whose_body_came_after_the_logout_is_refused(self, server: RunningServer, raw: Raw) -> None:
        own = log_in(server)
        whole = call(own)
        raw.send(whole[: -len(FLAVORS)])
        with raw_connection(server) as another:
            another.send(call(own))
            assert has_flavors(another.answer())
            another.send(request("POST", "/auth/logout/", [*own, ("Content-Length", "0")]))
            assert another.answer().status == 200
        raw.send(FLAVORS)
        assert raw.answer().error == "login_required"

    def test_a_call_sent_right_behind_a_logout_is_refused(self, server: RunningServer, raw: Raw) -> None:
        own = log_in(server)
        logout = request("POST", "/auth/logout/", [*own, ("Content-Length", "0")])
        raw.send(call(own) + logout + call(own))
        assert has_flavors(raw.answer())
        assert raw.answer().status == 200
        assert raw.answer().error == "login_required"


class TestAnswersInOnePiece:
    """Successful actions are written at once, past the server's own way; nothing of that may show."""

    def test_they_have_the_headers_of_any_other_answer(self, raw: Raw, session: HeaderPairs) -> None:
        raw.send(call(session), call(session, b"{}"))
        whole, refusal = raw.answer(), raw.answer()
        assert (whole.status, refusal.error) == (200, "missing_field")
        assert sorted(name for name, _ in whole.headers) == sorted(name for name, _ in refusal.headers)
        differing = {name for name in dict(whole.headers) if whole.header(name) != refusal.header(name)}
        assert differing - {"date"} == {"content-length", "x-request-id"}

    def test_the_connection_is_kept_unless_the_caller_wants_it_closed(self, raw: Raw, session: HeaderPairs) -> None:
        raw.send(call(session), call(session, FLAVORS, ("Connection", "close")))
        assert [raw.answer().header("connection") for _ in range(2)] == [None, "close"]
        assert raw.rest() == b""

    def test_many_sent_ahead_come_whole_and_in_their_order(self, raw: Raw, session: HeaderPairs) -> None:
        ids = [f"call-{number}" for number in range(50)]
        raw.send(b"".join(call(session, FLAVORS, ("X-Request-ID", each)) for each in ids))
        replies = [raw.answer() for _ in ids]
        assert [reply.header("x-request-id") for reply in replies] == ids
        assert all(has_flavors(reply) for reply in replies)
