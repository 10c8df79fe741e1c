"""HTTP over raw sockets: well-formed, odd, slow, oversized and hostile input; the server keeps serving."""

import json
import re
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from itertools import repeat
from socket import SHUT_WR

import pytest

from cloudconsole.server.http.response import CLOSED_POLICY, NO_STORE, SECURITY_HEADERS
from tests.e2e.raw_http import RawConnection, chunked, head, log_in, raw_connection, request, split
from tests.fork_server import MAX_WAIT_SECONDS
from tests.harness import FORM, JSON, HeaderPairs, HttpTransport, RunningServer, running_server

FLAVORS = json.dumps({"action": "GetFlavors"}).encode()
FIVE_MB = 5 * 1024 * 1024
MAX_HEAD_BYTES, MAX_HEADERS, MAX_PATH_ESCAPES = 32 * 1024, 100, 256
GET = request("GET", "/api/")
NOT_FOUND = request("GET", "/nowhere/")
CLOSE = ("Connection", "close")
CHUNKED = ("Transfer-Encoding", "chunked")
CONTINUE = ("Expect", "100-continue")


@pytest.fixture(scope="module")
def short_timeout(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    """A server with a short request timeout, which starts with a connection."""
    with running_server(tmp_path_factory.mktemp("short_timeout"), "--request-timeout", "2") as running:
        yield running


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
    return [*session, ("Content-Type", JSON), CHUNKED]


def action_request(session: HeaderPairs, body: bytes = FLAVORS, *more: tuple[str, str]) -> bytes:
    return request("POST", "/api/", [*with_length(session, len(body)), *more], body)


def outcomes(raw: RawConnection, number: int) -> list[str]:
    """Read this many responses; return the error of each, or the first field of its data."""
    replies = [raw.answer() for _ in range(number)]
    return [next(iter(reply.data)) if reply.status == 200 else reply.error for reply in replies]


def assert_rejected(raw: RawConnection, status: int) -> None:
    """Check for a connection-level error as the only response: plain text, with the security headers of any other."""
    reply = raw.answer()
    assert (reply.status, reply.header("connection"), reply.header("content-type")) == (status, "close", "text/plain")
    assert re.fullmatch("[0-9a-f]{16}", reply.header("x-request-id") or "")
    for name, value in [CLOSED_POLICY, NO_STORE, *SECURITY_HEADERS]:
        assert reply.header(name.decode()) == value.decode()
    assert raw.rest() == b""


class TestMalformedRequests:
    @pytest.mark.parametrize(
        "line",
        [
            *(f"Content-Length: {value}" for value in ("-1", "+5", "0x10", "5, 5", "5 5", "1e3", "9" * 30, "٣")),
            "Content-Length: 5\r\nContent-Length: 6",
            *(f"Content-Length: {length}\r\nTransfer-Encoding: chunked" for length in (4, 5, 200)),
            *(f"Transfer-Encoding: chunked\r\nContent-Length: {length}" for length in (4, 5, 200)),
            *(
                f"Transfer-Encoding: {value}"
                for value in ("identity", "chunked, identity", "xchunked", "chunked, chunked", "gzip")
            ),
            "Transfer-Encoding : chunked",
            " Transfer-Encoding: chunked",
            "Transfer-Encoding\t: chunked",
            "X-One: a\rX-Two: b",
            "X-Odd: a\0b",
            "X-O\0dd: ab",
            "Cookie: sessionid=\0",
        ],
    )
    def test_ambiguous_head_gets_one_rejection(self, raw: RawConnection, line: str) -> None:
        start = b"POST /api/ HTTP/1.1\r\nHost: 127.0.0.1\r\n%b\r\n\r\n" % line.encode()
        raw.send(start + chunked([FLAVORS]) + request("GET", "/smuggled/"))
        assert_rejected(raw, 400)

    @pytest.mark.parametrize(
        "data",
        [
            b"GET /api/ HTTP/3.7\r\n\r\n",
            b"GET /api/ XTTP/1.1\r\n\r\n",
            b"get /api/ HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
            *(
                request("GET", target)
                for target in ("127.0.0.1:8000", "/a b", "/api/\xff", "api/", "http://[::1/", "http://127.0.0.1")
            ),
            request("GET", "/" + "%61" * (MAX_PATH_ESCAPES + 1)),
            b"hello there\r\n\r\n",
            b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(range(256)),
            b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0",
            b"SSH-2.0-OpenSSH_9.2\r\n",
            b"\x00" * 100,
        ],
    )
    def test_invalid_request_line_gets_a_plain_text_400(self, raw: RawConnection, data: bytes) -> None:
        raw.send(data)
        assert_rejected(raw, 400)

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
            # Many tiny chunks.
            chunked(split(FLAVORS + b" " * 300, 1)),
        ],
    )
    def test_malformed_chunks_are_rejected(self, raw: RawConnection, session: HeaderPairs, body: bytes) -> None:
        raw.send(request("POST", "/api/", [*with_chunks(session), CONTINUE]))
        assert raw.answer().status == 100
        raw.send(body)
        assert_rejected(raw, 400)

    def test_malformed_chunk_after_an_error_gets_no_second_response(self, raw: RawConnection) -> None:
        raw.send(request("POST", "/nowhere/", with_chunks([])), b"5\r\nhel")
        assert outcomes(raw, 1) == ["not_found"]
        raw.send(b"lo!!! no chunk\r\n")
        assert raw.rest() == b""

    def test_truncated_body_is_rejected(self, raw: RawConnection, session: HeaderPairs) -> None:
        raw.send(request("POST", "/api/", with_length(session, len(FLAVORS) + 1), FLAVORS))
        raw.socket.shutdown(SHUT_WR)
        assert_rejected(raw, 400)


class TestContentLength:
    def test_bytes_beyond_the_length_are_not_part_of_the_body(self, raw: RawConnection, session: HeaderPairs) -> None:
        declared = b'{"action": "GetFlavors"'
        raw.send(request("POST", "/api/", with_length(session, len(declared)), declared + b"}"))
        assert outcomes(raw, 1) == ["malformed_body"]

    def test_length_with_thousands_of_zeros_is_accepted(self, raw: RawConnection, session: HeaderPairs) -> None:
        length = "0" * 5000 + str(len(FLAVORS))
        raw.send(request("POST", "/api/", [*session, ("Content-Type", JSON), ("Content-Length", length)], FLAVORS))
        assert outcomes(raw, 1) == ["flavors"]


class TestChunkedBodies:
    def test_request_sent_byte_by_byte_is_accepted(self, raw: RawConnection, session: HeaderPairs) -> None:
        everything = request("POST", "/api/", with_chunks(session), chunked(split(FLAVORS, 9)))
        for byte in split(everything, 1):
            raw.socket.sendall(byte)
        assert outcomes(raw, 1) == ["flavors"]

    @pytest.mark.parametrize(
        "trailers",
        [b"", *(b"%b\r\n" % line for line in (b"Host: evil.example.com", b"X-CSRFToken: other", b"Content-Type: a/b"))],
    )
    def test_chunk_extensions_and_trailers_are_ignored(
        self, raw: RawConnection, session: HeaderPairs, trailers: bytes
    ) -> None:
        body = b'%x;name="value"\r\n%b\r\n0\r\n%b\r\n' % (len(FLAVORS), FLAVORS, trailers)
        raw.send(request("POST", "/api/", with_chunks(session), body) + action_request(session))
        assert outcomes(raw, 2) == ["flavors", "flavors"]

    @pytest.mark.parametrize(("trailers", "status"), [(MAX_HEADERS, 200), (MAX_HEADERS + 1, 431)])
    def test_number_of_trailers_is_limited(
        self, raw: RawConnection, session: HeaderPairs, trailers: int, status: int
    ) -> None:
        body = b"%x\r\n%b\r\n0\r\n%b\r\n" % (len(FLAVORS), FLAVORS, b"a: b\r\n" * trailers)
        raw.send(request("POST", "/api/", with_chunks(session), body))
        assert raw.answer().status == status

    def test_endless_trailers_are_cut_off(self, raw: RawConnection) -> None:
        raw.send(request("POST", "/api/", with_chunks([]), b"0\r\nX-Trailer: "))
        assert raw.send_until_closed(repeat(b"x" * 65_536, 1024)) < 64 * 1024 * 1024


class TestExpectContinue:
    @pytest.mark.parametrize("expectation", ["100-continue", "100-Continue"])
    @pytest.mark.parametrize("in_chunks", [False, True])
    def test_body_gets_100_continue(
        self, raw: RawConnection, session: HeaderPairs, expectation: str, in_chunks: bool
    ) -> None:
        headers = with_chunks(session) if in_chunks else with_length(session, len(FLAVORS))
        raw.send(request("POST", "/api/", [*headers, ("Expect", expectation)]))
        assert raw.answer().status == 100
        raw.send(chunked([FLAVORS]) if in_chunks else FLAVORS)
        assert outcomes(raw, 1) == ["flavors"]

    def test_oversized_body_is_rejected_without_100_continue(self, raw: RawConnection, session: HeaderPairs) -> None:
        raw.send(request("POST", "/api/", [*with_length(session, FIVE_MB), CONTINUE]))
        reply = raw.answer()
        assert reply.error == "body_too_large"
        assert reply.header("connection") == "close"
        raw.socket.shutdown(SHUT_WR)
        assert raw.rest() == b""

    def test_body_to_an_unknown_path_gets_no_100_continue(self, raw: RawConnection) -> None:
        raw.send(request("POST", "/nowhere/", [("Content-Length", "5"), CONTINUE]))
        assert outcomes(raw, 1) == ["not_found"]

    def test_body_sent_before_100_continue_is_read(self, raw: RawConnection, session: HeaderPairs) -> None:
        raw.send(action_request(session, FLAVORS, CONTINUE))
        reply = raw.answer()
        assert (raw.answer() if reply.status == 100 else reply).data["flavors"]


class TestHttp10:
    @pytest.mark.parametrize("headers", [[], [("Host", "127.0.0.1")], [("Connection", "keep-alive")]])
    def test_host_is_optional_and_the_connection_is_closed(self, raw: RawConnection, headers: HeaderPairs) -> None:
        raw.send(head("GET", "/api/", headers, version="HTTP/1.0"))
        reply = raw.answer()
        assert reply.data["actions"]
        assert reply.header("connection") == "close"
        assert raw.rest() == b""

    def test_action_is_accepted(self, raw: RawConnection, session: HeaderPairs) -> None:
        raw.send(head("POST", "/api/", with_length(session, len(FLAVORS)), version="HTTP/1.0") + FLAVORS)
        assert outcomes(raw, 1) == ["flavors"]


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
    @pytest.mark.parametrize("pieces", [1, 2, 40])
    def test_body_is_read_and_the_connection_stays_open(
        self, raw: RawConnection, session: HeaderPairs, pieces: int
    ) -> None:
        everything = java_head("POST", "/api/", [*session, ("Content-Type", JSON)], len(FLAVORS)) + FLAVORS
        for _ in range(2):
            raw.send(*split(everything, -(-len(everything) // pieces)))
            assert outcomes(raw, 1) == ["flavors"]
        raw.send(java_head("GET", "/api/", [], 0))
        assert outcomes(raw, 1) == ["actions"]

    def test_chunked_body_is_read(self, raw: RawConnection, session: HeaderPairs) -> None:
        offer = [("Connection", "Upgrade, HTTP2-Settings"), ("Upgrade", "h2c"), ("HTTP2-Settings", "AAEAAEAA")]
        raw.send(request("POST", "/api/", [*offer, *with_chunks(session)], chunked([FLAVORS])))
        assert outcomes(raw, 1) == ["flavors"]
        raw.send(GET)
        assert outcomes(raw, 1) == ["actions"]

    def test_pipelined_requests_are_answered(self, raw: RawConnection, session: HeaderPairs) -> None:
        first = java_head("POST", "/api/", [*session, ("Content-Type", JSON)], len(FLAVORS)) + FLAVORS
        raw.send(first + java_head("GET", "/nowhere/", [], 0) + GET)
        assert outcomes(raw, 3) == ["flavors", "not_found", "actions"]

    def test_websocket_upgrade_is_ignored(self, raw: RawConnection) -> None:
        key = ("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ==")
        offer = [("Connection", "Upgrade"), ("Upgrade", "websocket"), key, ("Sec-WebSocket-Version", "13")]
        raw.send(request("GET", "/api/", offer) + GET)
        assert outcomes(raw, 2) == ["actions", "actions"]


class TestOversizedBodies:
    @pytest.mark.parametrize(
        ("path", "error"),
        [
            ("/api/", "body_too_large"),
            ("/auth/login/", "body_too_large"),
            ("/nowhere/", "not_found"),
            ("/auth/logout/", "login_required"),
            ("/", "method_not_allowed"),
        ],
    )
    @pytest.mark.parametrize("in_chunks", [False, True])
    @pytest.mark.parametrize("more", [[], [CLOSE]])
    def test_client_sees_the_first_error(
        self, raw: RawConnection, path: str, error: str, in_chunks: bool, more: HeaderPairs
    ) -> None:
        framing = CHUNKED if in_chunks else ("Content-Length", str(FIVE_MB))
        body = b"x" * FIVE_MB
        raw.send(
            request("POST", path, [framing, ("Content-Type", FORM), *more]),
            chunked(split(body, 65_536)) if in_chunks else body,
        )
        reply = raw.answer()
        assert reply.error == error
        assert reply.header("connection") == "close" or error != "body_too_large"

    def test_rejection_arrives_before_the_body_is_sent(self, raw: RawConnection, session: HeaderPairs) -> None:
        raw.send(request("POST", "/api/", with_length(session, FIVE_MB)))
        assert outcomes(raw, 1) == ["body_too_large"]
        raw.send(b"x" * FIVE_MB)
        assert raw.rest() == b""

    @pytest.mark.parametrize("path", ["/api/", "/nowhere/", "/auth/logout/"])
    @pytest.mark.parametrize("in_chunks", [False, True])
    def test_huge_body_is_cut_off(self, raw: RawConnection, path: str, in_chunks: bool) -> None:
        size = 256 * 1024 * 1024
        framing = CHUNKED if in_chunks else ("Content-Length", str(size))
        raw.send(request("POST", path, [framing, ("Content-Type", JSON)]))
        piece = b"%x\r\n%b\r\n" % (65_536, b"x" * 65_536) if in_chunks else b"x" * 65_536
        assert raw.send_until_closed(repeat(piece, size // 65_536)) < 64 * 1024 * 1024

    def test_small_body_to_an_unknown_path_keeps_the_connection(self, raw: RawConnection) -> None:
        raw.send(request("POST", "/nowhere/", [("Content-Length", "5")], b"12345") + GET)
        assert outcomes(raw, 2) == ["not_found", "actions"]


class TestSlowClients:
    def test_incomplete_requests_time_out_and_idle_connections_stay_open(
        self, short_timeout: RunningServer, short_timeout_raw: RawConnection
    ) -> None:
        short_timeout_raw.send(GET)
        assert short_timeout_raw.answer().data["actions"]
        with ExitStack() as stack:
            opened = [stack.enter_context(raw_connection(short_timeout)) for _ in range(3)]
            for raw, sent in zip(opened, (b"", GET[:-2], action_request([])[:-1]), strict=True):
                raw.send(sent)
            for raw in opened:
                assert_rejected(raw, 408)
        # Those were opened later, so the idle connection has been open for longer than the timeout.
        short_timeout_raw.send(GET)
        assert short_timeout_raw.answer().data["actions"]
        short_timeout_raw.send(GET[:-1])
        assert_rejected(short_timeout_raw, 408)

    def test_requests_sent_byte_by_byte_time_out(self, short_timeout: RunningServer) -> None:
        def send_slowly(start: bytes) -> list[bytes]:
            with raw_connection(short_timeout) as raw:
                raw.send(start)
                # So slowly that the limit of small pieces of a body is not reached before.
                return re.findall(rb"HTTP/1.1 (\d+)", raw.send_byte_by_byte_until_closed(30_000, pause=0.1))

        starts = {
            b"GET /api/ HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: ": b"408",
            request("POST", "/api/", with_length([], 30_000)): b"408",
            request("POST", "/nowhere/", [("Content-Length", "30000")]): b"404",
        }
        with ThreadPoolExecutor(len(starts)) as threads:
            for status, received in zip(starts.values(), threads.map(send_slowly, starts), strict=True):
                # A byte that arrives after the response resets the connection.
                assert received in ([status], [])

    def test_client_that_does_not_read_is_disconnected(self, short_timeout_raw: RawConnection) -> None:
        give_up_at = time.monotonic() + MAX_WAIT_SECONDS
        with pytest.raises(ConnectionError):  # noqa: PT012
            while time.monotonic() < give_up_at:
                short_timeout_raw.socket.sendall(request("GET", "/") * 20)


class TestHeads:
    """The Host header and the path take 33 bytes of the limit together with an `X-Large` header."""

    @pytest.mark.parametrize(
        "data",
        [
            request("GET", "/api/", [("X-Large", "x" * (MAX_HEAD_BYTES - 33 + 1))]),
            request("GET", "/api/?" + "x" * MAX_HEAD_BYTES),
            b"GET /api/ HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Large: " + b"x" * MAX_HEAD_BYTES,
            head("GET", "/api/", [("Host", "127.0.0.1"), *([("X-More", "x")] * MAX_HEADERS)]),
        ],
        ids=["header", "target", "incomplete", "number of headers"],
    )
    @pytest.mark.parametrize("earlier", [b"", GET], ids=["first", "second"])
    @pytest.mark.parametrize("size", [MAX_HEAD_BYTES - 1000, 2 * MAX_HEAD_BYTES], ids=["in two", "in one"])
    def test_oversized_head_is_rejected(self, raw: RawConnection, data: bytes, earlier: bytes, size: int) -> None:
        if earlier:
            raw.send(earlier)
            assert raw.answer().status == 200
        raw.send(*split(data, size))
        assert_rejected(raw, 431)

    @pytest.mark.parametrize(
        "data",
        [
            request("GET", "/api/", [("X-Large", "x" * (MAX_HEAD_BYTES - 33))]),
            head("GET", "/api/", [("Host", "127.0.0.1"), *([("X-More", "x")] * (MAX_HEADERS - 1))]),
            request("GET", "/api/?" + "%61" * (MAX_PATH_ESCAPES + 1)),
        ],
        ids=["header", "number of headers", "escapes in the query"],
    )
    def test_head_at_the_limit_is_accepted(self, raw: RawConnection, data: bytes) -> None:
        raw.send(data)
        assert outcomes(raw, 1) == ["actions"]

    def test_large_body_before_a_head_does_not_count(self, raw: RawConnection, session: HeaderPairs) -> None:
        raw.send(action_request(session, FLAVORS + b" " * 60_000) + GET[:30], GET[30:])
        assert outcomes(raw, 2) == ["flavors", "actions"]

    @pytest.mark.parametrize(
        "name", ["X-Odd", "Cookie", "Accept-Language", "X-Request-ID", "User-Agent", "Content-Type", "X-Forwarded-For"]
    )
    @pytest.mark.parametrize("value", [b"\xff\xfe\x80", "中文\té".encode()])
    def test_non_ascii_header_values_are_accepted(self, raw: RawConnection, name: str, value: bytes) -> None:
        raw.send(b"GET /api/ HTTP/1.1\r\nHost: 127.0.0.1\r\n%b: %b\r\n\r\n" % (name.encode(), value))
        assert outcomes(raw, 1) == ["actions"]


@pytest.mark.parametrize("number", [1, 3])
def test_requests_on_a_half_closed_connection_are_all_answered(
    raw: RawConnection, session: HeaderPairs, number: int
) -> None:
    raw.send(b"".join([GET, NOT_FOUND, action_request(session)][:number]))
    raw.socket.shutdown(SHUT_WR)
    assert outcomes(raw, number) == ["actions", "not_found", "flavors"][:number]
    assert raw.rest() == b""


class TestPipelining:
    @pytest.mark.parametrize(
        "broken",
        [
            b"}}} not http at all\r\n\r\n",
            request("GET", "/nowhere/", [("X-Large", "x" * MAX_HEAD_BYTES)]),
            request("POST", "/nowhere/", [CHUNKED], b"ZZ"),
            request("POST", "/nowhere/", [CHUNKED], b"5\r\nabc"),
        ],
        ids=["garbage", "oversized", "malformed", "unfinished"],
    )
    def test_requests_before_a_malformed_one_are_answered(
        self, short_timeout_raw: RawConnection, short_timeout: RunningServer, broken: bytes
    ) -> None:
        short_timeout_raw.send(GET + NOT_FOUND + broken)
        assert short_timeout_raw.answer().data["actions"]
        assert short_timeout_raw.answer().error == "not_found"
        rest = short_timeout_raw.rest()
        assert b"200 OK" not in rest
        assert b"Traceback" not in rest + short_timeout.log().encode()

    def test_responses_are_complete_and_in_order(self, raw: RawConnection, session: HeaderPairs) -> None:
        ids = [("X-Request-ID", f"number-{number}") for number in range(30)]
        kinds = (
            lambda name: action_request(session, FLAVORS, name),
            lambda name: request("GET", "/api/", [name]),
            lambda name: request("GET", "/nowhere/", [name]),
        )
        raw.send(b"".join(kinds[number % 3](name) for number, name in enumerate(ids)))
        replies = [raw.answer() for _ in ids]
        assert [reply.header("x-request-id") for reply in replies] == [name for _, name in ids]
        assert all(len(reply.data["flavors"]) > 1 for reply in replies[::3])

    def test_number_of_pipelined_requests_is_limited(self, raw: RawConnection) -> None:
        raw.send(b"".join(request("GET", "/api/", [("X-Request-ID", f"n-{number}")]) for number in range(2000)))
        received = raw.rest()
        answered = [int(name) for name in re.findall(rb"x-request-id: n-(\d+)\r\n", received)]
        assert answered == list(range(len(answered)))
        assert 50 < len(answered) < 1000

    def test_nothing_is_answered_after_connection_close(self, raw: RawConnection) -> None:
        raw.send(request("GET", "/api/", [CLOSE]) + NOT_FOUND)
        assert outcomes(raw, 1) == ["actions"]
        assert raw.rest() == b""

    def test_oversized_head_that_starts_in_a_pipeline_is_rejected(
        self, raw: RawConnection, session: HeaderPairs
    ) -> None:
        large = request("GET", "/nowhere/", [("X-Large", "x" * 33_000)])
        raw.send(action_request(session) + large[:31_000])
        assert outcomes(raw, 1) == ["flavors"]
        raw.send(large[31_000:])
        assert_rejected(raw, 431)

    def test_head_request_gets_no_body(self, raw: RawConnection) -> None:
        raw.send(request("HEAD", "/api/") + NOT_FOUND)
        assert raw.answer(to="HEAD").status == 200
        assert outcomes(raw, 1) == ["not_found"]


class TestTargets:
    @pytest.mark.parametrize(
        "target",
        ["http://127.0.0.1/api/", "http://localhost:1/api/", "/%61pi/", "/api%2F", "/api/?a=b", "/api/?", "/api/?%zz"],
    )
    def test_equivalent_targets_are_accepted(self, raw: RawConnection, target: str) -> None:
        raw.send(request("GET", target))
        assert outcomes(raw, 1) == ["actions"]

    @pytest.mark.parametrize(
        "target",
        [
            *("//api/", "/API/", "/api//", "/./api/", "/x/../api/", "/api/%00", "/%ff%fe", "/%e4%b8%ad", "/api/;x"),
            *("/%252e", "/" + "%61" * MAX_PATH_ESCAPES),
        ],
    )
    def test_similar_targets_are_not_found(self, raw: RawConnection, target: str) -> None:
        raw.send(request("GET", target))
        assert outcomes(raw, 1) == ["not_found"]

    def test_options_asterisk_lists_the_methods(self, raw: RawConnection) -> None:
        raw.send(request("OPTIONS", "*"))
        reply = raw.answer(to="OPTIONS")
        assert reply.status == 204
        assert "OPTIONS" in (reply.header("allow") or "")

    def test_connect_is_rejected(self, raw: RawConnection) -> None:
        raw.send(request("CONNECT", "127.0.0.1:8000"))
        assert raw.answer().status in (400, 405)


class TestConcurrentLogout:
    """A poll for changes covers only requests that arrived before it."""

    def test_request_completed_after_a_logout_is_rejected(self, server: RunningServer, raw: RawConnection) -> None:
        headers = log_in(server)
        whole = action_request(headers)
        raw.send(whole[: -len(FLAVORS)])
        with raw_connection(server) as other:
            other.send(action_request(headers))
            assert outcomes(other, 1) == ["flavors"]
            other.send(request("POST", "/auth/logout/", [*headers, ("Content-Length", "0")]))
            assert other.answer().status == 200
        raw.send(FLAVORS)
        assert outcomes(raw, 1) == ["login_required"]

    def test_request_pipelined_after_a_logout_is_rejected(self, server: RunningServer, raw: RawConnection) -> None:
        headers = log_in(server)
        logout = request("POST", "/auth/logout/", [*headers, ("Content-Length", "0")])
        raw.send(action_request(headers) + logout + action_request(headers))
        assert outcomes(raw, 1) == ["flavors"]
        assert raw.answer().status == 200
        assert outcomes(raw, 1) == ["login_required"]


def test_successful_action_closes_the_connection_only_on_request(raw: RawConnection, session: HeaderPairs) -> None:
    """It bypasses the server's normal response path."""
    raw.send(action_request(session) + action_request(session, FLAVORS, CLOSE))
    assert [raw.answer().header("connection") for _ in range(2)] == [None, "close"]
    assert raw.rest() == b""
