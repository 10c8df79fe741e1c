"""The one place that sends: its bounds, and what it makes of servers that do not answer as they should."""

import socket

import pytest

from cloudconsole.conformance import limits
from cloudconsole.conformance.client import (
    MAX_COOKIES,
    MAX_RECORDED_BYTES,
    MAX_RESPONSE_BYTES,
    ConsoleClient,
    Sender,
    Unreachable,
)
from cloudconsole.conformance.limits import MAX_UNANSWERED, LimitExceeded
from cloudconsole.conformance.responses import NotJson
from tests.conformance.listening import DEMO, examine, listening, subject_at
from tests.conformance.raw_servers import HEAD, Behaviour, close, drip, hang, pour, raw_server, say

CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"

BROKEN = {
    "hangs": (hang, "no complete response within"),
    "closes": (close, "the response is not HTTP|the connection was lost"),
    "is not HTTP": (say(b"SSH-2.0-OpenSSH_9.2p1\r\n\r\n"), "the response is not HTTP"),
    "says nothing but zeros": (say(b"\0" * 5000), "the response is not HTTP"),
    "ends half-way": (say(HEAD + b"Content-Length: 100\r\n\r\nshort"), "the response is not HTTP"),
    "ends within its head": (say(HEAD + b"Content-Le"), "the response is not HTTP"),
    "has a broken chunk": (say(CHUNKED + b"zz\r\n"), "the response is not HTTP"),
    "has a status that is none": (say(b"HTTP/1.1 abc OK\r\n\r\n"), "the response is not HTTP"),
    "has an endless head": (pour(HEAD, b"X-More: and more\r\n"), "the response is not HTTP"),
    "has an endless body": (pour(HEAD + b"\r\n", b"x" * 65_536), "larger than 8 MiB|no complete response within"),
    "has endless chunks": (
        pour(CHUNKED, b"10000\r\n" + b"x" * 65_536 + b"\r\n"),
        "larger than 8 MiB|no complete response within",
    ),
    "drips its head": (drip(HEAD, b"X-More: and more\r\n"), "no complete response within"),
    "drips its body": (drip(HEAD + b"\r\n", b"x"), "no complete response within"),
}


@pytest.mark.parametrize(("behaviour", "reason"), BROKEN.values(), ids=BROKEN)
def test_a_server_that_does_not_answer_as_it_should_fails_checks_with_a_reason(
    behaviour: Behaviour, reason: str
) -> None:
    with raw_server(behaviour) as base:
        seen = examine(subject_at(base), "all", timeout=0.5)
    first = seen.results["session.opens"]
    assert first.outcome == "failed"
    assert any(part in first.note for part in reason.split("|")), first.note
    assert seen.failed("must") == {"session.opens"}
    assert set(seen.results) - seen.skipped() == {"session.opens"}


def test_a_server_that_stops_answering_is_not_asked_for_ever() -> None:
    cookies = b"Set-Cookie: csrftoken=abcd; Max-Age=9; Path=/\r\nSet-Cookie: sessionid=efgh; HttpOnly; Path=/\r\n"
    asked: list[socket.socket] = []

    def open_and_log_in(connection: socket.socket) -> None:
        asked.append(connection)
        (say(HEAD + cookies + b"Content-Length: 0\r\n\r\n") if len(asked) < 3 else close)(connection)

    with raw_server(open_and_log_in) as base:
        seen = examine(subject_at(base))
    # The last one is the logout.
    assert len(asked) == 2 + MAX_UNANSWERED + 1
    assert seen.failed("must") == {"login.accepted"}


class Plain:
    """Answers everything with an empty 200, and counts."""

    def __init__(self) -> None:
        self.requests = 0

    async def __call__(self, scope: object, receive: object, send: object) -> None:
        assert callable(send)
        self.requests += 1
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"0")]})
        await send({"type": "http.response.body", "body": b""})


def test_there_are_no_more_requests_than_may_be(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MAX_REQUESTS", 9)
    plain = Plain()
    with listening(plain) as base, Sender(base, {}) as sender:
        for _ in range(9):
            sender.send("GET", "/", {})
        with pytest.raises(LimitExceeded, match="the limit of 9 requests"):
            sender.send("GET", "/", {})
    assert plain.requests == 9


WRONG = [
    b"username=demo&password=wrong",
    b"username=nobody&password=console-demo",
    b"username=demo",
    b"password=console-demo",
    b"",
    b'{"username":"demo","password":"wrong"}',
    b"[]",
    b"\xff",
    b"username=demo&password=console-demo&password=x",
]


@pytest.mark.parametrize("body", WRONG)
def test_whatever_is_not_a_right_login_counts_as_a_wrong_one(body: bytes) -> None:
    plain = Plain()
    with listening(plain) as base, Sender(base, {"demo": "console-demo"}) as sender:
        sender.send("POST", "/auth/login/", {}, b"username=demo&password=console-demo")
        sender.limits.verify("demo")
        assert sender.limits.wrong_logins == 0
        sender.send("POST", "/auth/login/", {}, body)
        sender.send("POST", "/auth/login/", {}, body)
        with pytest.raises(LimitExceeded, match="2 wrong logins"):
            sender.send("POST", "/auth/login/", {}, body)
        sender.send("POST", "/auth/login/", {}, b"username=demo&password=console-demo")
    assert plain.requests == 4


def test_a_password_that_was_given_counts_as_wrong_until_it_proves_right() -> None:
    with listening(Plain()) as base, Sender(base, {"demo": "console-demo"}) as sender:
        visitor = ConsoleClient(sender, f"{base}/v3")
        visitor.login(DEMO)
        visitor.login(DEMO)
        with pytest.raises(LimitExceeded):
            visitor.login(DEMO)


def test_nobody_at_the_address() -> None:
    with (
        Sender("http://127.0.0.1:1", {}) as sender,
        pytest.raises(Unreachable, match=r"^could not connect: Connection refused$"),
    ):
        sender.send("GET", "/", {})


def test_redirects_are_not_followed() -> None:
    with (
        raw_server(say(b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n")) as base,
        Sender(base, {}) as sender,
    ):
        assert sender.send("GET", "/", {}).status == 302


def test_every_line_that_sets_a_cookie_is_seen() -> None:
    lines = b"Set-Cookie: a=1; Path=/x\r\nset-cookie: a=2\r\nSet-Cookie: b=\r\n"
    with raw_server(say(HEAD + lines + b"Content-Length: 0\r\n\r\n")) as base, Sender(base, {}) as sender:
        answer = sender.send("GET", "/", {})
    assert [(cookie.name, cookie.value) for cookie in answer.set_cookies] == [("a", "1"), ("a", "2"), ("b", "")]


@pytest.mark.parametrize("body", [b"", b"{", b'{"a": NaN}', b"\xff", b"[" * 100_000, b"1" * 5000])
def test_what_is_no_json_is_told_as_such(body: bytes) -> None:
    head = HEAD + b"Content-Length: %d\r\n\r\n" % len(body)
    with raw_server(say(head + body)) as base, Sender(base, {}) as sender:
        answer = sender.send("GET", "/", {})
    with pytest.raises(NotJson):
        answer.content  # noqa: B018


def test_a_compressed_body_that_was_not_asked_for_is_named() -> None:
    with (
        raw_server(say(HEAD + b"Content-Encoding: gzip\r\nContent-Length: 2\r\n\r\n\x1f\x8b")) as base,
        Sender(base, {}) as sender,
    ):
        answer = sender.send("GET", "/", {})
    with pytest.raises(NotJson, match="Content-Encoding gzip"):
        answer.content  # noqa: B018


def test_a_flood_of_cookies_is_not_carried_along() -> None:
    lines = b"".join(b"Set-Cookie: c%d=%08d; Path=/\r\n" % (at, at) for at in range(1000))
    own = b"Set-Cookie: csrftoken=abcdefgh; Path=/\r\nSet-Cookie: sessionid=ijklmnop; Path=/\r\n"
    with raw_server(say(HEAD + lines + own + b"Content-Length: 0\r\n\r\n")) as base, Sender(base, {}) as sender:
        visitor = ConsoleClient(sender, f"{base}/v3")
        visitor.open()
    assert len(visitor.jar) == MAX_COOKIES + 2
    assert (visitor.token, visitor.session) == ("abcdefgh", "ijklmnop")
    # What is hidden is what logs in; all else would take long to look for.
    assert sender.secrets.remove_from("abcdefgh ijklmnop 00000001") == "[secret] [secret] 00000001"


def test_not_every_large_answer_is_kept() -> None:
    body = b"x" * (MAX_RESPONSE_BYTES - 1)
    with (
        raw_server(say(HEAD + b"Content-Length: %d\r\n\r\n" % len(body) + body)) as base,
        Sender(base, {}) as sender,
    ):
        for _ in range(4):
            assert sender.send("GET", "/", {}).body == body
    assert sum(len(answer.body) for _, answer in sender.responses) <= MAX_RECORDED_BYTES
