"""Reset: the console returns to its initial state, whatever a test did."""

from datetime import datetime

import pytest

from cloudconsole.testing import ConsoleServer
from tests.fork_server import run_forked
from tests.harness import ApiClient, HttpTransport, clean_environment
from tests.server.test_mode.conftest import START, Control


def admin(console: ConsoleServer, *arguments: str) -> None:
    assert run_forked(["admin", *arguments, "--data", str(console.data)], clean_environment()).returncode == 0


def test_reset_ends_sessions(console: ConsoleServer, demo: ApiClient) -> None:
    assert demo.call("GetUrlList").status == 200
    console.reset()
    assert demo.call("GetUrlList").error == "login_required"


def test_csrf_token_from_before_a_reset_is_still_valid(console: ConsoleServer, demo: ApiClient) -> None:
    console.reset()
    assert demo.login().status == 200


def test_reset_clears_failed_logins(console: ConsoleServer, client: ApiClient) -> None:
    for _ in range(10):
        client.login(password="wrong")
    assert client.login().error == "too_many_requests"
    console.reset()
    assert client.login().status == 200


def test_reset_reverts_operator_changes(console: ConsoleServer, demo: ApiClient) -> None:
    before = demo.call("GetNews").data
    admin(
        console, "news", "add", "--date", "2025-12-31T00:00:00Z", "--title", "Tests", "--url", "https://news.example/"
    )
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


@pytest.mark.parametrize("body", [b"", b"{}"])
def test_reset_needs_no_body(control: Control, body: bytes) -> None:
    assert control("reset", body).status == 200


def test_reset_needs_no_content_type(remote: HttpTransport) -> None:
    assert remote.send("POST", "/_test/reset", []).status == 200


@pytest.mark.parametrize("media", ["application/x-www-form-urlencoded", "text/plain"])
@pytest.mark.parametrize("body", [b"", b"{}", b"a=b"])
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
    @pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://localhost:1"])
    def test_foreign_origin_is_rejected(self, control: Control, name: str, origin: str) -> None:
        assert control(name, Origin=origin).error == "csrf_failed"

    @pytest.mark.parametrize("site", ["cross-site", "same-site"])
    def test_cross_site_request_is_rejected(self, control: Control, name: str, site: str) -> None:
        assert control(name, Sec_Fetch_Site=site).error == "csrf_failed"

    def test_host_other_than_this_machine_is_rejected(self, control: Control, name: str) -> None:
        assert control(name, Host="desk.example").error == "invalid_host"

    @pytest.mark.parametrize("header", ["Origin", "Sec-Fetch-Site"])
    def test_cross_site_get_is_rejected(self, remote: HttpTransport, name: str, header: str) -> None:
        value = {"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"}[header]
        expected = "method_not_allowed" if name == "reset" else "csrf_failed"
        assert remote.send("GET", f"/_test/{name}", [(header, value)]).error == expected

    @pytest.mark.parametrize("header", ["Forwarded", "Via", "X-Real-IP", "X-Forwarded-For", "X-Forwarded-Port"])
    def test_proxied_request_is_rejected(self, control: Control, name: str, header: str) -> None:
        assert control(name, b"{}", **{header: "1"}).error == "invalid_host"

    def test_put_is_rejected(self, remote: HttpTransport, name: str) -> None:
        reply = remote.send("PUT", f"/_test/{name}", [])
        assert reply.error == "method_not_allowed"
        assert "POST" in (reply.header("Allow") or "")


def test_reset_by_get_is_rejected(remote: HttpTransport) -> None:
    assert remote.send("GET", "/_test/reset", []).error == "method_not_allowed"


@pytest.mark.parametrize("name", ["clock", "fault"])
@pytest.mark.parametrize("media", ["application/x-www-form-urlencoded", "text/plain", ""])
def test_body_other_than_json_is_rejected(control: Control, name: str, media: str) -> None:
    assert control(name, b"fixed=true", Content_Type=media).error == "unsupported_media_type"


@pytest.mark.parametrize("name", ["clock", "fault"])
def test_oversized_body_is_rejected(control: Control, name: str) -> None:
    assert control(name, b" " * 70_000).error == "body_too_large"
