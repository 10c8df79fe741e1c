"""Fuzz tests: valid and malformed requests get a well-formed response in time, never a server error."""

import json
import re
from collections.abc import Iterator
from contextlib import closing
from itertools import pairwise
from socket import SHUT_WR
from typing import Any
from urllib.parse import quote_plus

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cloudconsole.server.http.response import NO_STORE, SECURITY_HEADERS
from cloudconsole.server.http.static import REVALIDATED
from cloudconsole.spec.actions import ACTIONS
from cloudconsole.spec.errors import ApiError
from tests.e2e.raw_http import RawConnection, chunked, head, raw_connection, request
from tests.harness import FORM, JSON, ApiClient, HeaderPairs, HttpTransport, Reply, RunningServer, running_server

pytestmark = pytest.mark.slow

ERRORS = {(kind.code, kind.error) for kind in ApiError.__subclasses__() if kind.code < 500}
NAMES = [action.name for action in ACTIONS]

many_examples = settings(
    max_examples=150,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


class Connection:
    """A keep-alive connection to a server, reopened whenever the server has closed it."""

    def __init__(self, server: RunningServer) -> None:
        self.server = server
        self._raw: RawConnection | None = None

    def send(self, data: bytes, *, method: str = "POST") -> Reply:
        if self._raw is None:
            self._raw = RawConnection(self.server.connect())
        self._raw.send(data)
        reply = self._raw.answer(to=method)
        if reply.header("connection") == "close":
            assert self._raw.rest() == b""
            self.close()
        return reply

    def close(self) -> None:
        if self._raw is not None:
            self._raw.close()
            self._raw = None


class Session:
    """Connection and headers of a logged-in client."""

    def __init__(self, server: RunningServer) -> None:
        transport = HttpTransport(server.base)
        client = ApiClient(transport)
        assert client.login().status == 200
        transport.close()
        self.connection = Connection(server)
        self.cookies = [f"{name}={value}" for name, value in client.cookies.items()]
        self.token = ("X-CSRFToken", client.token)

    @property
    def headers(self) -> HeaderPairs:
        return [("Cookie", "; ".join(self.cookies)), self.token]

    def post(self, content_type: str, body: bytes) -> Reply:
        length = ("Content-Length", str(len(body)))
        return self.connection.send(
            request("POST", "/api/", [*self.headers, ("Content-Type", content_type), length], body)
        )


@pytest.fixture(scope="module")
def session(server: RunningServer) -> Iterator[Session]:
    opened = Session(server)
    yield opened
    opened.connection.close()


@pytest.fixture(scope="module")
def connection(server: RunningServer) -> Iterator[Connection]:
    with closing(Connection(server)) as opened:
        yield opened


@pytest.fixture(scope="module")
def login_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    """A separate server, for logins that fail."""
    with running_server(tmp_path_factory.mktemp("login_server")) as running:
        yield running


def assert_well_formed(reply: Reply, *, to: str = "POST") -> None:
    """Check the headers of an application response and, for an error, that its envelope is a known one."""
    assert re.fullmatch(r"[A-Za-z0-9._-]{1,64}", reply.header("x-request-id") or ""), reply
    # A response with an ETag is the same for all users and may be cached.
    for name, value in [REVALIDATED if reply.header("etag") else NO_STORE, *SECURITY_HEADERS]:
        assert reply.header(name.decode()) == value.decode()
    assert "default-src 'none'" in (reply.header("content-security-policy") or "")
    assert reply.status < 500, reply
    if reply.status >= 400 and to != "HEAD":
        assert reply.header("content-type") == "application/json"
        assert (reply.status, reply.error) in ERRORS


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


# Strategies

any_text = st.text(max_size=80)
odd_text = st.one_of(
    any_text,
    st.text(st.characters(categories=["Cs", "Cc", "Cf", "Zl", "Zp", "Co"]), max_size=20),
    st.sampled_from(["", "206813", "207001", "\0", "\u202e", "a" * 65, "9" * 64, "😀" * 64, "' OR 1=1 --", "{0}"]),
)
numbers = st.one_of(
    st.integers(),
    st.integers(min_value=-(10**80), max_value=10**80),
    st.sampled_from([2**63, -(2**63) - 1, 2**64, 10**64, 10**300, 10**4000, -0.0, 1e308, 5e-324]),
    st.floats(),
)
leaves = st.one_of(st.none(), st.booleans(), numbers, odd_text)
values = st.recursive(
    leaves,
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(odd_text, inner, max_size=4)),
    max_leaves=8,
)
field_names = st.one_of(st.sampled_from(["action", "domainId", "region", "username"]), odd_text)
actions = st.one_of(st.sampled_from(NAMES), values)
objects = st.builds(
    lambda more, action, domain: {**more, "action": action, "domainId": domain},
    st.dictionaries(field_names, values, max_size=4),
    actions,
    values,
)
content_types = st.one_of(
    st.sampled_from(
        [
            JSON,
            FORM,
            "application/json; charset=utf-8",
            'APPLICATION/JSON;charset="UTF-8"',
            "application/json;charset=latin-1",
            "multipart/form-data; boundary=x",
            "text/plain",
            ";",
            "application/json, text/plain",
        ]
    ),
    st.text(st.characters(min_codepoint=0x20, max_codepoint=0xFF, exclude_characters="\x7f"), max_size=60),
)
header_values = st.text(
    st.one_of(
        st.characters(min_codepoint=0x20, max_codepoint=0x7E), st.characters(min_codepoint=0x80, max_codepoint=0xFF)
    ),
    max_size=60,
)
header_names = st.one_of(
    st.sampled_from(
        [
            "Accept-Language",
            "Authorization",
            "Cookie",
            "Forwarded",
            "Host",
            "If-None-Match",
            "Origin",
            "Range",
            "Referer",
            "Sec-Fetch-Site",
            "X-CSRFToken",
            "X-Forwarded-For",
            "X-Forwarded-Host",
            "X-Forwarded-Proto",
            "X-HTTP-Method-Override",
            "X-Request-ID",
        ]
    ),
    st.from_regex(r"X-[A-Za-z0-9!#$%&'*+.^_`|~-]{1,20}", fullmatch=True),
)
near_misses = {
    "Accept-Language": ["zh;q=", "zh;q=2,en;q=nan", "*;q=0", ",;,", "zh-" * 15, "en;q=1e9", "zh;q=0.8;q=1"],
    "Host": [
        "127.0.0.1:99999",
        "[::1]",
        "[::1",
        "localhost.",
        "127.0.0.1:",
        "a@127.0.0.1",
        "127.0.0.1/x",
        ".",
        "[::ffff:1.2.3.4%1]",
    ],
    "Origin": ["null", "http://", "http://[", "https://127.0.0.1", "http://127.0.0.1:1:2", "http://①②⑦.0.0.1"],
    "X-Request-ID": ["a" * 64, "a" * 65, "a b", "a\tb", "../x"],
}
headers = st.lists(
    st.one_of(
        st.tuples(header_names, header_values),
        st.sampled_from(
            [(name, value.encode().decode("latin-1")) for name, choices in near_misses.items() for value in choices]
        ),
    ),
    max_size=6,
)
methods = st.one_of(
    st.sampled_from(["GET", "HEAD", "POST", "OPTIONS", "PUT", "DELETE", "PATCH", "TRACE", "PROPFIND", "QUERY"])
)
paths = st.one_of(
    st.sampled_from(["/", "/api/", "/api", "/auth/login/", "/auth/login", "/auth/logout/", "/auth/logout", "/auth/"]),
    st.text(st.characters(min_codepoint=0x21, max_codepoint=0x7E, exclude_characters="#?"), max_size=40).map(
        lambda text: "/" + text
    ),
    st.binary(max_size=20).map(lambda data: "/" + "".join(f"%{byte:02x}" for byte in data)),
)
queries = st.one_of(st.just(""), header_values.map(lambda text: "?" + quote_plus(text)))


# Tests


@many_examples
@given(fields=objects)
def test_odd_json_fields_are_handled(session: Session, fields: dict[str, Any]) -> None:
    reply = session.post(JSON, json.dumps(fields).encode())
    assert_well_formed(reply)
    assert reply.status in (200, 400, 404, 413)


@many_examples
@given(fields=objects)
def test_odd_unescaped_json_fields_are_handled(session: Session, fields: dict[str, Any]) -> None:
    reply = session.post(JSON, json.dumps(fields, ensure_ascii=False).encode("utf-8", "surrogatepass"))
    assert_well_formed(reply)
    assert reply.status in (200, 400, 404, 413)


@many_examples
@given(more=st.dictionaries(odd_text.filter(str.isprintable).filter(lambda name: name != "action"), st.integers()))
def test_unknown_fields_are_ignored(session: Session, more: dict[str, int]) -> None:
    small = {name: value % 1000 for name, value in more.items()}
    assert session.post(JSON, json.dumps({**small, "action": "GetUrlList"}).encode()).status == 200


@many_examples
@given(pairs=st.lists(st.tuples(field_names, values), max_size=5), last=st.sampled_from(NAMES))
def test_last_of_repeated_keys_wins(session: Session, pairs: list[tuple[str, Any]], last: str) -> None:
    members = [*pairs, ("action", 1), ("action", None), ("domainId", []), ("domainId", "206813"), ("action", last)]
    text = "{" + ",".join(f"{json.dumps(name)}:{json.dumps(value)}" for name, value in members) + "}"
    reply = session.post(JSON, text.encode())
    assert_well_formed(reply)
    assert reply.status == 200 or reply.error in ("malformed_body", "body_too_large")


@many_examples
@given(
    opening=st.sampled_from(["[", '{"a":', '{"action":', "[[{}],", '{"":[', "-", "1", " ", "\t\n", "0"]),
    depth=st.integers(min_value=1, max_value=60_000),
    ending=st.sampled_from(["", "]", "}", "1", "null"]),
    before=st.sampled_from(["", "\ufeff", "\ufeff\ufeff", " "]),
)
def test_deep_and_long_json_is_rejected(session: Session, opening: str, depth: int, ending: str, before: str) -> None:
    body = before + (opening * depth)[:60_000] + ending * min(depth, 5000)
    reply = session.post(JSON, body.encode())
    assert_well_formed(reply)
    assert reply.error in ("malformed_body", "missing_field", "body_too_large", "invalid_field")


@many_examples
@given(
    fields=objects,
    cut=st.integers(min_value=0, max_value=300),
    put=st.binary(max_size=6),
    content_type=st.sampled_from([JSON, FORM]),
)
def test_damaged_bodies_are_handled(
    session: Session, fields: dict[str, Any], cut: int, put: bytes, content_type: str
) -> None:
    whole = json.dumps(fields, ensure_ascii=False).encode("utf-8", "surrogatepass")
    assert_well_formed(session.post(content_type, whole[:cut] + put + whole[cut + len(put) :]))


@many_examples
@given(
    pairs=st.lists(
        st.tuples(
            field_names, st.one_of(st.sampled_from(NAMES), odd_text), st.sampled_from(["&", ";", "&&", "%26", "=", ""])
        ),
        max_size=8,
    ),
    encoding=st.sampled_from(["utf-8", "utf-16", "gb18030"]),
)
def test_odd_forms_are_handled(session: Session, pairs: list[tuple[str, str, str]], encoding: str) -> None:
    text = "".join(
        f"{quote_plus(name, encoding=encoding, errors='replace')}="
        f"{quote_plus(value, encoding=encoding, errors='replace')}{separator}"
        for name, value, separator in pairs
    )
    assert_well_formed(session.post(FORM, text.encode()))


@many_examples
@given(content_type=content_types, body=st.one_of(st.binary(max_size=200), st.just(b'{"action": "GetNews"}')))
def test_odd_content_types_are_handled(session: Session, content_type: str, body: bytes) -> None:
    assert_well_formed(session.post(content_type, body))


@many_examples
@given(sent=headers, method=st.sampled_from(["GET", "POST", "HEAD"]))
def test_odd_headers_are_handled(session: Session, connection: Connection, sent: HeaderPairs, method: str) -> None:
    body = b'{"action": "GetNews"}' if method == "POST" else b""
    framing = [("Content-Type", JSON), ("Content-Length", str(len(body)))] if body else []
    data = request(method, "/api/", [*sent, *session.headers, *framing], body)
    assert_well_formed(connection.send(data, method=method), to=method)


@many_examples
@given(
    before=st.lists(header_values.filter(lambda text: ";" not in text), max_size=5),
    after=st.lists(header_values.filter(lambda text: ";" not in text), max_size=5),
)
def test_foreign_cookies_are_ignored(session: Session, before: list[str], after: list[str]) -> None:
    body = b'{"action": "GetUrlList"}'
    cookies = ("Cookie", ";".join([*before, *session.cookies, *after]))
    framing = [("Content-Type", JSON), ("Content-Length", str(len(body)))]
    reply = session.connection.send(request("POST", "/api/", [cookies, session.token, *framing], body))
    assert reply.status == 200, reply


@many_examples
@given(method=methods, path=paths, query=queries, body=st.one_of(st.just(b""), st.binary(max_size=100)))
def test_odd_methods_and_paths_are_handled(
    connection: Connection, method: str, path: str, query: str, body: bytes
) -> None:
    framing = [("Content-Length", str(len(body)))] if body else []
    assert_well_formed(connection.send(request(method, path + query, framing, body), method=method), to=method)


login_fields = st.fixed_dictionaries(
    {
        "username": st.one_of(odd_text, st.sampled_from(["demo", "other", "operator"])),
        "password": st.one_of(odd_text, st.text(min_size=1000, max_size=1000)),
        "region": st.one_of(odd_text, st.just("own"), st.sampled_from(["http://[", "http://a:b/", "//", "http://①/"])),
    },
    optional={"csrfmiddlewaretoken": odd_text, "X-CSRFToken": header_values, "next": odd_text},
)


@many_examples
@given(fields=login_fields)
def test_odd_logins_are_rejected(login_server: RunningServer, fields: dict[str, str]) -> None:
    transport = HttpTransport(login_server.base)
    client = ApiClient(transport)
    client.open()
    given = {"csrfmiddlewaretoken": client.token, **fields}
    if given["region"] == "own":
        given["region"] = f"{login_server.base}/v3"
    body = "&".join(f"{name}={quote_plus(value, errors='replace')}" for name, value in given.items()).encode()
    cookies = "; ".join(f"{name}={value}" for name, value in client.cookies.items())
    with closing(Connection(login_server)) as connection:
        length = ("Content-Length", str(len(body)))
        reply = connection.send(
            request("POST", "/auth/login/", [("Cookie", cookies), ("Content-Type", FORM), length], body)
        )
    transport.close()
    assert_well_formed(reply)
    assert reply.status in (400, 401, 403, 429)
    assert reply.set_cookies == {}


request_fragments = st.lists(
    st.one_of(
        st.sampled_from(
            [
                b"GET /api/ HTTP/1.1\r\n",
                b"POST /api/ HTTP/1.1\r\n",
                b"POST /auth/login/ HTTP/1.0\r\n",
                b"GET http://127.0.0.1/ HTTP/1.1\r\n",
                b"OPTIONS * HTTP/1.1\r\n",
                b"CONNECT a:1 HTTP/1.1\r\n",
                b"Host: 127.0.0.1\r\n",
                b"Content-Length: 5\r\n",
                b"Content-Length: 0\r\n",
                b"Content-Length: 99999999999\r\n",
                b"Transfer-Encoding: chunked\r\n",
                b"Transfer-Encoding: chunked, gzip\r\n",
                b"Expect: 100-continue\r\n",
                b"Connection: close\r\n",
                b"Connection: Upgrade, HTTP2-Settings\r\n",
                b"Upgrade: h2c\r\n",
                b"Upgrade: websocket\r\n",
                b"Cookie: a=b;;=;\r\n",
                b" folded\r\n",
                b"\r\n",
                b"\n",
                b"\r",
                b"5\r\nhello\r\n",
                b"0\r\n\r\n",
                b"0\r\nHost: x\r\n\r\n",
                b"hello",
                b"{}",
            ]
        ),
        st.binary(max_size=30),
    ),
    max_size=14,
)


def receive_all(server: RunningServer, pieces: list[bytes]) -> bytes:
    """Send the pieces, half-close the connection, and return all that the server sends until it closes."""
    with raw_connection(server) as raw:
        raw.socket.settimeout(15)
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
@given(pieces=request_fragments, in_one=st.booleans())
def test_fragments_of_requests_are_handled(server: RunningServer, pieces: list[bytes], in_one: bool) -> None:
    assert_all_well_formed(receive_all(server, [b"".join(pieces)] if in_one else pieces))


@many_examples
@given(data=st.binary(min_size=1, max_size=400))
def test_random_bytes_are_handled(server: RunningServer, data: bytes) -> None:
    assert_all_well_formed(receive_all(server, [data]))


@many_examples
@given(
    sizes=st.lists(st.integers(min_value=0, max_value=20), max_size=8),
    damage=st.one_of(st.none(), st.tuples(st.integers(min_value=0, max_value=120), st.binary(min_size=1, max_size=4))),
)
def test_chunked_bodies_are_handled(session: Session, sizes: list[int], damage: tuple[int, bytes] | None) -> None:
    text = b'{"action": "GetUrlList", "more": "0123456789012345678901234567890123456789"}'
    cuts = [sum(sizes[:number]) for number in range(len(sizes) + 1)] + [len(text)]
    parts = [text[start:end] for start, end in pairwise(cuts) if text[start:end]]
    body = chunked(parts)
    framing = [("Host", "127.0.0.1"), ("Content-Type", JSON), ("Transfer-Encoding", "chunked"), ("Connection", "close")]
    if damage is not None:
        body = body[: damage[0]] + damage[1] + body[damage[0] :]
    sent = head("POST", "/api/", [*framing, *session.headers]) + body
    with closing(RawConnection(session.connection.server.connect())) as raw:
        raw.socket.sendall(sent)
        raw.socket.shutdown(SHUT_WR)
        if damage is None:
            assert raw.answer().status == 200
        else:
            assert_all_well_formed(raw.rest())
