"""The HTTP client of the kit: its limits, and how it handles broken servers."""

import socket

import pytest

from cloudconsole.conformance import client as kit_client
from cloudconsole.conformance.client import MAX_COOKIES, ConsoleClient, Sender
from cloudconsole.conformance.connection import Unreachable
from cloudconsole.conformance.limits import MAX_UNANSWERED
from cloudconsole.conformance.responses import NotJson, RawResponse
from tests.conformance.conftest import run_kit, target_at
from tests.conformance.raw_servers import HEAD, Behaviour, close, drip, hang, pour, raw_server, send_bytes

CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"

BROKEN = {
    "hangs": (hang, "no complete response within"),
    "closes": (close, "the connection was closed without a response"),
    "is not HTTP": (send_bytes(b"SSH-2.0-OpenSSH_9.2p1\r\n\r\n"), "the response is not HTTP"),
    "sends only null bytes": (send_bytes(b"\0" * 5000), "the response is not HTTP"),
    "ends within its body": (send_bytes(HEAD + b"Content-Length: 100\r\n\r\nshort"), "the response is not HTTP"),
    "ends within its head": (send_bytes(HEAD + b"Content-Le"), "the response is not HTTP"),
    "has a broken chunk": (send_bytes(CHUNKED + b"zz\r\n"), "the response is not HTTP"),
    "has an invalid status": (send_bytes(b"HTTP/1.1 abc OK\r\n\r\n"), "the response is not HTTP"),
    "has an endless head": (pour(HEAD, b"X-More: and more\r\n"), "the response is not HTTP"),
    "has an endless body": (pour(HEAD + b"\r\n", b"x" * 65_536), "larger than 8 MiB"),
    "has endless chunks": (pour(CHUNKED, b"10000\r\n" + b"x" * 65_536 + b"\r\n"), "larger than 8 MiB"),
    "drips its head": (drip(HEAD, b"X-More: and more\r\n"), "no complete response within"),
    "drips its body": (drip(HEAD + b"\r\n", b"x"), "no complete response within"),
}


@pytest.mark.parametrize(("behaviour", "reason"), BROKEN.values(), ids=BROKEN)
def test_broken_server_fails_one_check_with_a_reason(behaviour: Behaviour, reason: str) -> None:
    timeout = 0.2 if reason == "no complete response within" else 120
    with raw_server(behaviour) as base:
        run = run_kit(target_at(base), "all", timeout=timeout)
    failed = run.results["connection.answered"]
    assert failed.outcome == "failed"
    assert failed.note.startswith("GET /api/ (in session.opens): ")
    assert reason in failed.note
    assert run.results["session.opens"].note.startswith("because connection.answered failed: ")
    others = {name for name, result in run.results.items() if result.outcome != "skipped"}
    assert others == {"connection.answered", "connection.alive"}


def test_unresponsive_server_gets_few_further_requests() -> None:
    cookies = b"Set-Cookie: csrftoken=abcd; Max-Age=9; Path=/\r\nSet-Cookie: sessionid=efgh; HttpOnly; Path=/\r\n"
    connections: list[socket.socket] = []

    def stop_after_login(connection: socket.socket) -> None:
        connections.append(connection)
        (send_bytes(HEAD + cookies + b"Content-Length: 0\r\n\r\n") if len(connections) < 3 else close)(connection)

    with raw_server(stop_after_login) as base:
        run = run_kit(target_at(base))
    # The last request is the logout.
    assert len(connections) == 2 + MAX_UNANSWERED + 1
    assert run.failed("must") == {"connection.answered"}


def test_refused_connection_is_unreachable() -> None:
    message = r"^could not connect: Connection refused$"
    with Sender("http://127.0.0.1:1", {}) as sender, pytest.raises(Unreachable, match=message):
        sender.send("GET", "/", {})


def test_redirects_are_not_followed() -> None:
    redirect = b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n"
    with raw_server(send_bytes(redirect)) as base, Sender(base, {}) as sender:
        assert sender.send("GET", "/", {}).status == 302


def test_every_set_cookie_header_is_read() -> None:
    lines = b"Set-Cookie: a=1; Path=/x\r\nset-cookie: a=2\r\nSet-Cookie: b=\r\n"
    with raw_server(send_bytes(HEAD + lines + b"Content-Length: 0\r\n\r\n")) as base, Sender(base, {}) as sender:
        response = sender.send("GET", "/", {})
    assert [(cookie.name, cookie.value) for cookie in response.set_cookies] == [("a", "1"), ("a", "2"), ("b", "")]


@pytest.mark.parametrize("body", [b"", b"{", b'{"a": NaN}', b"\xff", b"[" * 100_000, b"1" * 5000])
def test_invalid_json_is_reported(body: bytes) -> None:
    with pytest.raises(NotJson):
        RawResponse(200, (), body).content  # noqa: B018


def test_unrequested_content_encoding_is_reported() -> None:
    with pytest.raises(NotJson, match="Content-Encoding gzip"):
        RawResponse(200, (("content-encoding", "gzip"),), b"\x1f\x8b").content  # noqa: B018


def test_number_of_stored_cookies_is_limited() -> None:
    lines = b"".join(b"Set-Cookie: c%d=%08d; Path=/\r\n" % (at, at) for at in range(1000))
    own = b"Set-Cookie: csrftoken=abcdefgh; Path=/\r\nSet-Cookie: sessionid=ijklmnop; Path=/\r\n"
    with raw_server(send_bytes(HEAD + lines + own + b"Content-Length: 0\r\n\r\n")) as base, Sender(base, {}) as sender:
        client = ConsoleClient(sender, f"{base}/v3")
        client.open()
    assert len(client.jar) == MAX_COOKIES + 2
    assert (client.token, client.session) == ("abcdefgh", "ijklmnop")
    # Only session cookies are redacted; searching for all others would take too long.
    assert sender.secrets.remove_from("abcdefgh ijklmnop 00000001") == "[secret] [secret] 00000001"


def test_total_size_of_recorded_responses_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kit_client, "MAX_RECORDED_BYTES", 20)
    with raw_server(send_bytes(HEAD + b"Content-Length: 10\r\n\r\n0123456789")) as base, Sender(base, {}) as sender:
        assert [sender.send("GET", "/", {}).body for _ in range(3)] == [b"0123456789"] * 3
    assert len(sender.responses) == 2
