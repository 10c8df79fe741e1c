"""Journal of received requests."""

import socket
from typing import Any

import pytest

from cloudconsole.server.test_mode import journal
from cloudconsole.testing import ConsoleServer
from tests.harness import FORM, JSON, ApiClient, HttpTransport
from tests.server.test_mode.conftest import START, Control


def calls(console: ConsoleServer) -> list[str]:
    return [request.call for request in console.requests]


def test_requests_are_recorded_with_their_outcome(console: ConsoleServer, demo: ApiClient) -> None:
    demo.call("GetDomainDetail", domainId="1")
    assert calls(console) == ["welcome", "login", "GetDomainDetail"]
    request = console.requests[-1]
    assert (request.method, request.path, request.query) == ("POST", "/api/", "")
    assert (request.status, request.error, request.user) == (404, "domain_not_found", "demo")
    assert request.fields == {"action": "GetDomainDetail", "domainId": "1"}
    assert request.headers["content-type"] == JSON
    assert request.headers["cookie"].count("sessionid=") == 1
    assert request.time.isoformat() == START.replace("Z", "+00:00")
    assert request.request_id


@pytest.mark.parametrize(
    ("media", "body", "expected"),
    [
        (JSON, b'\xef\xbb\xbf{"action": "GetNews", "a": [1]}', {"action": "GetNews", "a": [1]}),
        (FORM, b"action=GetNews&a=&b=%20", {"action": "GetNews", "a": "", "b": " "}),
        (JSON, b"", {}),
    ],
)
def test_body_is_recorded_as_received(
    console: ConsoleServer, remote: HttpTransport, media: str, body: bytes, expected: dict[str, Any]
) -> None:
    remote.send("POST", "/api/", [("Content-Type", media)], body)
    (request,) = console.requests
    assert request.fields == expected
    assert request.body == body.decode()


@pytest.mark.parametrize(
    ("media", "body"),
    [(JSON, b"[1]"), (JSON, b"{"), (FORM, b"s3cret"), (FORM, b"a=\xff"), ("text/plain", b"action=GetNews")],
)
def test_body_that_cannot_be_read_is_not_recorded(
    console: ConsoleServer, remote: HttpTransport, media: str, body: bytes
) -> None:
    remote.send("POST", "/api/", [("Content-Type", media)], body)
    (request,) = console.requests
    assert (request.fields, request.body) == ({}, None)


@pytest.mark.parametrize(
    ("path", "media", "body", "redacted"),
    [
        ("/auth/login/", FORM, b"username=demo&password=s3cret", {"username": "demo", "password": "[redacted]"}),
        ("/auth/login/", JSON, b'{"username": "demo", "password": "s3cret"}', None),
        ("/auth/login/", JSON, b'{"password": "s3cret"', {}),
        ("/api/", JSON, b'{"action": "x", "Password": "s3cret"}', {"action": "x", "Password": "[redacted]"}),
        ("/api/", JSON, b'{"a": [{"apiKey": "s3cret"}]}', {"a": [{"apiKey": "[redacted]"}]}),
    ],
)
def test_secrets_are_redacted(
    console: ConsoleServer, remote: HttpTransport, path: str, media: str, body: bytes, redacted: dict[str, str] | None
) -> None:
    remote.send("POST", path, [("Content-Type", media)], body)
    (request,) = console.requests
    assert "s3cret" not in repr(request)
    assert request.body is None
    assert redacted is None or request.fields == redacted


def test_secrets_in_query_and_headers_are_redacted(console: ConsoleServer, remote: HttpTransport) -> None:
    remote.send("GET", "/api/?password=s3cret", [("Authorization", "Basic s3cret"), ("X-Api-Key", "s3cret")])
    (request,) = console.requests
    assert "s3cret" not in repr(request)
    assert (request.query, request.headers["authorization"]) == ("[redacted]", "[redacted]")


@pytest.mark.parametrize(
    ("method", "path", "headers", "status", "error", "call"),
    [
        ("GET", "/nowhere?a=1", [], 404, "not_found", "other"),
        ("PUT", "/api/", [], 405, "method_not_allowed", "other"),
        ("GET", "/api/", [("Host", "evil.example")], 400, "invalid_host", "other"),
        ("POST", "/api/", [("Content-Type", JSON)], 401, "login_required", "api"),
    ],
)
def test_rejected_requests_are_recorded(
    console: ConsoleServer,
    remote: HttpTransport,
    method: str,
    path: str,
    headers: list[tuple[str, str]],
    status: int,
    error: str,
    call: str,
) -> None:
    remote.send(method, path, headers)
    (request,) = console.requests
    assert (request.status, request.error, request.call) == (status, error, call)
    assert request.query == path.partition("?")[2]


def test_faults_are_recorded_with_the_action(console: ConsoleServer, demo: ApiClient) -> None:
    console.clear_requests()
    console.fault("unavailable")
    console.fault(status=599)
    demo.call("GetNews")
    demo.call("GetNews")
    assert [(each.call, each.status, each.error) for each in console.requests] == [
        ("GetNews", 503, "unavailable"),
        ("GetNews", 599, None),
    ]


def test_body_that_arrives_after_the_head_is_recorded(console: ConsoleServer) -> None:
    host, _, port = console.address.removeprefix("http://").partition(":")
    body = b'{"action": "GetNews"}'
    with socket.create_connection((host, int(port))) as connection:
        head = f"POST /api/ HTTP/1.1\r\nHost: {host}\r\nContent-Type: {JSON}\r\nContent-Length: {len(body)}\r\n\r\n"
        connection.sendall(head.encode())
        # The response to another request shows that the console has had time for the first.
        console.now()
        connection.sendall(body)
        assert connection.recv(100).startswith(b"HTTP/1.1 401 ")
    request = console.requests.assert_received("GetNews", times=1, status=401)
    assert request.body == body.decode()


def test_controls_are_not_recorded(console: ConsoleServer) -> None:
    console.advance(1)
    console.faults()
    assert console.requests == ()


def test_journal_is_cleared(console: ConsoleServer, client: ApiClient) -> None:
    client.open()
    console.clear_requests()
    assert calls(console) == []
    client.open()
    console.reset()
    assert calls(console) == []


@pytest.mark.parametrize("body", [b"{}", b'{"clear": false}'])
def test_clearing_must_be_asked_for(console: ConsoleServer, client: ApiClient, control: Control, body: bytes) -> None:
    client.open()
    assert control("requests", body).error == "missing_field"
    assert calls(console) == ["welcome"]


def test_clear_must_be_a_boolean(control: Control) -> None:
    assert control("requests", b'{"clear": "yes"}').error == "invalid_field"


def test_only_the_latest_requests_are_kept(console: ConsoleServer, client: ApiClient, remote: HttpTransport) -> None:
    for number in range(journal.MAX_REQUESTS + 1):
        remote.send("GET", f"/healthz?{number}", [])
    requests = console.requests
    assert len(requests) == journal.MAX_REQUESTS
    assert requests[0].query == "1"


def test_bodies_are_kept_up_to_a_total(console: ConsoleServer, remote: HttpTransport) -> None:
    body = b"a=" + b"x" * 65_000
    most = journal.MAX_BODY_BYTES // len(body)
    for number in range(most + 2):
        remote.send("POST", f"/api/?{number}", [("Content-Type", FORM)], body)
    assert [request.query for request in console.requests] == [str(number) for number in range(2, most + 2)]
    console.clear_requests()
    for number in range(2):
        remote.send("POST", f"/api/?{number}", [("Content-Type", FORM)], body)
    assert len(console.requests) == 2
