"""Reset: the console returns to its initial state, whatever a test did and whatever is in progress."""

from collections.abc import Coroutine, Iterator
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from sqlalchemy import Table

from cloudconsole.cli.main import main
from cloudconsole.server.app import Console
from cloudconsole.server.config.settings import Settings
from cloudconsole.server.test_mode.clock import ControllableClock, SeededRandomSource
from cloudconsole.server.test_mode.controls import Controls
from cloudconsole.server.test_mode.runtime import ServerRuntime
from cloudconsole.store.tables import login_failures, sessions
from cloudconsole.testing import ConsoleServer
from tests.conftest import SAMPLE_TIME
from tests.harness import FORM, JSON, ApiClient, HttpTransport, InProcessTransport, Reply
from tests.server.http.helpers import cookie_header, login_fields, rows
from tests.server.test_mode.conftest import START, Control

CHANGES = ["clock", "fault", "requests", "content"]
WITHOUT_GET = ["reset", "content"]


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


@pytest.mark.parametrize("media", [None, JSON, FORM, "text/plain"])
@pytest.mark.parametrize("body", [b"", b"{}", b"anything", b"x" * 70_000])
def test_reset_by_any_post(remote: HttpTransport, demo: ApiClient, media: str | None, body: bytes) -> None:
    headers = [] if media is None else [("Content-Type", media)]
    assert remote.send("POST", "/_test/reset", headers, body).status == 200
    assert demo.call("GetUrlList").error == "login_required"


@pytest.mark.parametrize("media", [FORM, "text/plain"])
@pytest.mark.parametrize("name", CHANGES)
def test_content_type_of_a_cross_site_form_is_rejected(control: Control, name: str, media: str) -> None:
    assert control(name, b"a=b", Content_Type=media).error == "unsupported_media_type"


@pytest.mark.parametrize("name", CHANGES)
def test_body_without_a_content_type_is_rejected(remote: HttpTransport, name: str) -> None:
    assert remote.send("POST", f"/_test/{name}", [], b"{}").error == "unsupported_media_type"


@pytest.mark.parametrize(("body", "error"), [(b"anything", "malformed_body"), (b'{"nonsense": 1}', "invalid_field")])
@pytest.mark.parametrize("name", CHANGES)
def test_invalid_fields_are_rejected(control: Control, name: str, body: bytes, error: str) -> None:
    assert control(name, body).error == error


@pytest.mark.parametrize("name", ["reset", *CHANGES])
class TestAccess:
    @pytest.mark.parametrize(
        ("headers", "error"),
        [
            *(({"Origin": origin}, "csrf_failed") for origin in ("https://evil.example", "null", "http://localhost:1")),
            *(({"Sec-Fetch-Site": site}, "csrf_failed") for site in ("cross-site", "same-site")),
            ({"Host": "desk.example"}, "invalid_host"),
            *(({name: "1"}, "invalid_host") for name in ("Forwarded", "Via", "X-Real-IP", "X-Forwarded-Port")),
        ],
    )
    def test_request_from_another_site_host_or_proxy_is_rejected(
        self, control: Control, remote: HttpTransport, name: str, headers: dict[str, str], error: str
    ) -> None:
        assert control(name, b"{}", **headers).error == error
        read = remote.send("GET", f"/_test/{name}", list(headers.items()))
        assert read.error == ("method_not_allowed" if name in WITHOUT_GET and error == "csrf_failed" else error)

    def test_put_is_rejected(self, remote: HttpTransport, name: str) -> None:
        reply = remote.send("PUT", f"/_test/{name}", [])
        assert reply.error == "method_not_allowed"
        assert "POST" in (reply.header("Allow") or "")


@pytest.mark.parametrize("name", ["clock", "fault", "requests"])
def test_oversized_body_is_rejected(control: Control, name: str) -> None:
    assert control(name, b" " * 70_000).error == "body_too_large"


PendingReply = Coroutine[Any, Any, Reply]


@pytest.fixture
def transport(settings: Settings) -> Iterator[InProcessTransport]:
    """A console in test mode, in process; requests sent together begin in the given order."""
    clock, seed = ControllableClock(SAMPLE_TIME, fixed=True), SeededRandomSource("tests")
    console = InProcessTransport(Console(settings, runtime=ServerRuntime(clock, seed, partial(Controls, clock, seed))))
    yield console
    console.close()


def login(transport: InProcessTransport, password: str = "console-demo") -> PendingReply:
    token = ApiClient(transport).open().cookie("csrftoken") or ""
    fields = login_fields(transport, "demo", password=password, csrfmiddlewaretoken=token)
    headers = [("Content-Type", FORM), *cookie_header(csrftoken=token)]
    return transport.asend("POST", "/auth/login/", headers, urlencode(fields).encode())


def post_control(transport: InProcessTransport, name: str, body: bytes = b"{}") -> PendingReply:
    return transport.asend("POST", f"/_test/{name}", [("Content-Type", JSON)], body)


@pytest.mark.parametrize(("secret", "code", "table"), [("console-demo", 200, sessions), ("wrong", 401, login_failures)])
def test_login_during_a_reset_leaves_nothing_in_the_store(
    transport: InProcessTransport, data: Path, secret: str, code: int, table: Table
) -> None:
    replies = transport.gather(login(transport, secret), post_control(transport, "reset"))
    assert [reply.status for reply in replies] == [code, 200]
    assert rows(data, table) == []


def test_token_sequence_restarts_after_a_concurrent_reset(transport: InProcessTransport) -> None:
    first = ApiClient(transport).open().set_cookies
    transport.gather(login(transport), post_control(transport, "reset"))
    assert ApiClient(transport).open().set_cookies == first


def test_request_during_a_reset_waits_for_its_end(transport: InProcessTransport, data: Path) -> None:
    waiting = login(transport)
    replies = transport.gather(login(transport), post_control(transport, "reset"), waiting)
    assert [reply.status for reply in replies] == [200, 200, 200]
    assert len(rows(data, sessions)) == 1


def test_fault_injected_during_a_reset_survives_it(transport: InProcessTransport) -> None:
    injected = post_control(transport, "fault", b'{"error": "unavailable"}')
    transport.gather(login(transport), post_control(transport, "reset"), injected)
    assert ApiClient(transport).open().error == "unavailable"


def test_concurrent_clock_advances_all_count(transport: InProcessTransport) -> None:
    demo = ApiClient(transport)
    assert demo.login().status == 200
    transport.gather(post_control(transport, "clock", b'{"advance": 100}'))
    # Use of the session is recorded in the background, and every advance waits for that write.
    used = transport.asend("GET", "/api/", cookie_header(**demo.cookies))
    replies = transport.gather(used, *(post_control(transport, "clock", b'{"advance": 10}') for _ in range(4)))
    assert replies[-1].data["now"] == "2026-11-15T12:22:20Z"


def test_console_serves_again_after_a_failed_reset(transport: InProcessTransport, data: Path) -> None:
    (data / "cloud.db").rename(data / "away.db")
    assert transport.gather(post_control(transport, "reset"))[0].error == "unavailable"
    (data / "away.db").rename(data / "cloud.db")
    assert ApiClient(transport).open().status == 200
