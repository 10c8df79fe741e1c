"""Reset: the console returns to its initial state, whatever a test did."""

from datetime import datetime

import pytest

from cloudconsole.cli.main import main
from cloudconsole.testing import ConsoleServer
from tests.harness import JSON, ApiClient, HttpTransport
from tests.server.test_mode.conftest import START, Control


def test_reset_ends_sessions_but_keeps_csrf_tokens_valid(console: ConsoleServer, demo: ApiClient) -> None:
    assert demo.call("GetUrlList").status == 200
    console.reset()
    assert demo.call("GetUrlList").error == "login_required"
    assert demo.login().status == 200


def test_reset_clears_failed_logins(console: ConsoleServer, client: ApiClient) -> None:
    for _ in range(10):
        client.login(password="wrong")
    assert client.login().error == "too_many_requests"
    console.reset()
    assert client.login().status == 200


def test_reset_reverts_operator_changes(console: ConsoleServer, demo: ApiClient) -> None:
    before = demo.call("GetNews").data
    news = ["--date", "2025-12-31T00:00:00Z", "--title", "Tests", "--url", "https://news.example/"]
    assert main(["admin", "news", "add", *news, "--data", str(console.data)]) == 0
    assert [item["title"] for item in demo.call("GetNews").data][:1] == ["Tests"]
    console.reset()
    assert demo.login().status == 200
    assert demo.call("GetNews").data == before


def test_reset_restores_the_clock(console: ConsoleServer, control: Control) -> None:
    console.set_clock("2030-01-01T00:00:00Z", fixed=False)
    assert control("reset").data == {"now": START, "fixed": True}
    assert console.advance(0) == datetime.fromisoformat(START)


def test_reset_clears_faults(console: ConsoleServer, client: ApiClient) -> None:
    console.fault("unavailable", times=5)
    console.reset()
    assert client.open().status == 200


def test_reset_restarts_ids_and_tokens(console: ConsoleServer) -> None:
    def first_ids() -> tuple[dict[str, str], str | None]:
        transport = HttpTransport(console.address)
        client = ApiClient(transport)
        request_id = client.open().header("X-Request-ID")
        client.login()
        transport.close()
        return client.cookies, request_id

    first = first_ids()
    console.reset()
    assert first_ids() == first


@pytest.mark.parametrize(
    ("headers", "body"), [([], b""), ([("Content-Type", JSON)], b""), ([("Content-Type", JSON)], b"{}")]
)
def test_reset_needs_no_body(remote: HttpTransport, headers: list[tuple[str, str]], body: bytes) -> None:
    assert remote.send("POST", "/_test/reset", headers, body).status == 200


@pytest.mark.parametrize("media", ["application/x-www-form-urlencoded", "text/plain"])
@pytest.mark.parametrize("body", [b"", b"a=b"])
def test_content_type_of_a_cross_site_form_is_rejected(
    control: Control, demo: ApiClient, body: bytes, media: str
) -> None:
    assert control("reset", body, Content_Type=media).error == "unsupported_media_type"
    assert demo.call("GetUrlList").status == 200


def test_body_without_a_content_type_is_rejected(remote: HttpTransport) -> None:
    assert remote.send("POST", "/_test/reset", [], b"{}").error == "unsupported_media_type"


@pytest.mark.parametrize(("body", "error"), [(b"anything", "malformed_body"), (b'{"now": 1}', "invalid_field")])
def test_reset_with_fields_is_rejected(control: Control, body: bytes, error: str) -> None:
    assert control("reset", body).error == error


@pytest.mark.parametrize("name", ["reset", "clock", "fault"])
class TestAccess:
    @pytest.mark.parametrize(
        ("headers", "error"),
        [
            ({"Origin": "https://evil.example"}, "csrf_failed"),
            ({"Origin": "null"}, "csrf_failed"),
            ({"Origin": "http://localhost:1"}, "csrf_failed"),
            ({"Sec-Fetch-Site": "cross-site"}, "csrf_failed"),
            ({"Sec-Fetch-Site": "same-site"}, "csrf_failed"),
            ({"Host": "desk.example"}, "invalid_host"),
            ({"Forwarded": "1"}, "invalid_host"),
            ({"Via": "1"}, "invalid_host"),
            ({"X-Real-IP": "1"}, "invalid_host"),
            ({"X-Forwarded-Port": "1"}, "invalid_host"),
        ],
    )
    def test_request_from_another_site_host_or_proxy_is_rejected(
        self, control: Control, remote: HttpTransport, name: str, headers: dict[str, str], error: str
    ) -> None:
        assert control(name, b"{}", **headers).error == error
        read = remote.send("GET", f"/_test/{name}", list(headers.items()))
        assert read.error == ("method_not_allowed" if name == "reset" and error == "csrf_failed" else error)

    def test_put_is_rejected(self, remote: HttpTransport, name: str) -> None:
        reply = remote.send("PUT", f"/_test/{name}", [])
        assert reply.error == "method_not_allowed"
        assert "POST" in (reply.header("Allow") or "")


@pytest.mark.parametrize("name", ["clock", "fault"])
@pytest.mark.parametrize("media", ["application/x-www-form-urlencoded", "text/plain", ""])
def test_body_other_than_json_is_rejected(control: Control, name: str, media: str) -> None:
    assert control(name, b"fixed=true", Content_Type=media).error == "unsupported_media_type"


@pytest.mark.parametrize("name", ["clock", "fault"])
def test_oversized_body_is_rejected(control: Control, name: str) -> None:
    assert control(name, b" " * 70_000).error == "body_too_large"
