"""Resetting: the console is as it was at its start, whatever a test did to it."""

from datetime import datetime

import pytest

from cloudconsole.testing import ConsoleServer
from tests.fork_server import run_warm
from tests.harness import Caller, OverHttp, clean_environment
from tests.server.test_mode.conftest import START, Control


def admin(desk: ConsoleServer, *arguments: str) -> None:
    assert run_warm(["admin", *arguments, "--data", str(desk.data)], clean_environment()).returncode == 0


def test_sessions_end(desk: ConsoleServer, demo: Caller) -> None:
    assert demo.call("GetUrlList").status == 200
    desk.reset()
    assert demo.call("GetUrlList").error == "login_required"


def test_a_token_from_before_still_logs_in(desk: ConsoleServer, demo: Caller) -> None:
    desk.reset()
    assert demo.login().status == 200


def test_failed_logins_are_forgotten(desk: ConsoleServer, visitor: Caller) -> None:
    for _ in range(10):
        visitor.login(password="wrong")
    assert visitor.login().error == "too_many_requests"
    desk.reset()
    assert visitor.login().status == 200


def test_what_an_operator_changed_is_seen_at_once_and_then_undone(desk: ConsoleServer, demo: Caller) -> None:
    before = demo.call("GetNews").data
    admin(desk, "news", "add", "--date", "2025-12-31T00:00:00Z", "--title", "Tests", "--url", "https://news.example/")
    assert [item["title"] for item in demo.call("GetNews").data][:1] == ["Tests"]
    desk.reset()
    assert demo.login().status == 200
    assert demo.call("GetNews").data == before


def test_the_clock_stands_at_its_start_again(desk: ConsoleServer, control: Control) -> None:
    desk.set_clock("2030-01-01T00:00:00Z", fixed=False)
    assert control("reset").data == {"now": START, "fixed": True}
    assert desk.advance(0) == datetime.fromisoformat(START)


def test_faults_are_gone(desk: ConsoleServer, visitor: Caller) -> None:
    desk.fault("unavailable", times=5)
    desk.reset()
    assert visitor.open().status == 200


def test_the_same_ids_and_tokens_come_again(desk: ConsoleServer) -> None:
    def first_ids() -> tuple[dict[str, str], str | None]:
        wire = OverHttp(desk.address)
        caller = Caller(wire)
        request_id = caller.open().header("X-Request-ID")
        caller.login()
        wire.close()
        return caller.cookies, request_id

    first = first_ids()
    desk.reset()
    assert first_ids() == first


@pytest.mark.parametrize("body", [b"", b"{}"])
def test_no_body_is_needed(control: Control, body: bytes) -> None:
    assert control("reset", body).status == 200


def test_nor_its_type(remote: OverHttp) -> None:
    assert remote.send("POST", "/_test/reset", []).status == 200


@pytest.mark.parametrize("media", ["application/x-www-form-urlencoded", "text/plain"])
@pytest.mark.parametrize("body", [b"", b"{}", b"a=b"])
def test_what_a_page_can_send_unasked_is_refused(control: Control, demo: Caller, body: bytes, media: str) -> None:
    assert control("reset", body, Content_Type=media).error == "unsupported_media_type"
    assert demo.call("GetUrlList").status == 200


def test_so_is_a_body_without_a_type(remote: OverHttp) -> None:
    assert remote.send("POST", "/_test/reset", [], b"{}").error == "unsupported_media_type"


@pytest.mark.parametrize(("body", "error"), [(b"anything", "malformed_body"), (b'{"now": 1}', "invalid_field")])
def test_so_are_fields(control: Control, body: bytes, error: str) -> None:
    assert control("reset", body).error == error


@pytest.mark.parametrize("name", ["reset", "clock", "fault"])
class TestWhoMayAsk:
    @pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://localhost:1"])
    def test_no_foreign_page_may(self, control: Control, name: str, origin: str) -> None:
        assert control(name, Origin=origin).error == "csrf_failed"

    @pytest.mark.parametrize("site", ["cross-site", "same-site"])
    def test_nor_one_that_the_browser_tells_of(self, control: Control, name: str, site: str) -> None:
        assert control(name, Sec_Fetch_Site=site).error == "csrf_failed"

    def test_nor_by_a_name_that_is_not_this_machines(self, control: Control, name: str) -> None:
        assert control(name, Host="desk.example").error == "invalid_host"

    @pytest.mark.parametrize("header", ["Origin", "Sec-Fetch-Site"])
    def test_nor_may_such_a_page_ask_what_is(self, remote: OverHttp, name: str, header: str) -> None:
        foreign = {"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"}[header]
        expected = "method_not_allowed" if name == "reset" else "csrf_failed"
        assert remote.send("GET", f"/_test/{name}", [(header, foreign)]).error == expected

    @pytest.mark.parametrize("header", ["Forwarded", "Via", "X-Real-IP", "X-Forwarded-For", "X-Forwarded-Port"])
    def test_nor_a_proxy_that_stands_before_it(self, control: Control, name: str, header: str) -> None:
        assert control(name, b"{}", **{header: "1"}).error == "invalid_host"

    def test_only_by_post(self, remote: OverHttp, name: str) -> None:
        refused = remote.send("PUT", f"/_test/{name}", [])
        assert refused.error == "method_not_allowed"
        assert "POST" in (refused.header("Allow") or "")


def test_asking_changes_nothing_by_get(remote: OverHttp) -> None:
    assert remote.send("GET", "/_test/reset", []).error == "method_not_allowed"


@pytest.mark.parametrize("name", ["clock", "fault"])
@pytest.mark.parametrize("media", ["application/x-www-form-urlencoded", "text/plain", ""])
def test_other_bodies_than_json_are_refused(control: Control, name: str, media: str) -> None:
    assert control(name, b"fixed=true", Content_Type=media).error == "unsupported_media_type"


@pytest.mark.parametrize("name", ["clock", "fault"])
def test_a_body_that_is_too_large_is_refused(control: Control, name: str) -> None:
    assert control(name, b" " * 70_000).error == "body_too_large"
