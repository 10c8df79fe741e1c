"""The client against a real console: results of each method, sessions, logins and errors."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from msgspec.structs import replace

from cloudconsole import (
    Console,
    InvalidCredentials,
    LoginRequired,
    NotFound,
    RequestRefused,
    Session,
    UnknownAction,
)
from tests.client.conftest import Connect
from tests.client.scripted_server import ScriptedServer, envelope
from tests.client.sync_async import run_concurrently
from tests.harness import RunningServer


def logins(server: RunningServer) -> int:
    return server.log().count("POST '/auth/login/'")


def end_at_server(session: Session | None) -> None:
    """End a session on the server only, as if it had expired."""
    assert session is not None
    with Console(session.base_url, session=session) as elsewhere:
        elsewhere.logout()


def test_usage_limits(demo: Any) -> None:
    usage = demo.usage_limits()
    assert (usage.instances.used, usage.instances.limit, usage.instances.free) == (4, 20, 16)
    assert usage.keypairs == 50
    assert usage.raw == demo.call("GetUsageLimits")


def test_flavors(demo: Any) -> None:
    flavors = demo.flavors()
    assert flavors.allows(2, 4096)
    assert not flavors.allows(2, 65536)
    assert flavors.raw == demo.call("GetFlavors")


def test_urls(demo: Any) -> None:
    assert [url.raw for url in demo.urls()] == demo.call("GetUrlList")


def test_a_domain(demo: Any) -> None:
    domain = demo.domain("206813")
    assert domain.id == "206813"
    assert domain.enabled is True
    assert domain.service_areas == ["hk", "ov"]


def test_news_have_the_consoles_time_zone(demo: Any) -> None:
    newest, *_ = demo.news()
    assert newest.date == datetime(2026, 10, 12, 12, tzinfo=UTC)
    assert newest.date.utcoffset() == timedelta(0)


def test_consumption_is_exact_and_summed(demo: Any) -> None:
    costs = demo.consumption()
    assert all(isinstance(item.year, Decimal) for item in costs)
    assert costs.total.month == sum((item.month for item in costs), Decimal(0))
    assert costs.total.year == costs.total.day * 365
    assert costs.currency == "CNY"


def test_about(demo: Any, server: RunningServer) -> None:
    about = demo.about()
    assert about.regions == (f"{server.base}/v3",)
    assert about.time_zone == "UTC"
    assert about.units.ram == "MB"
    assert "GetNews" in about.actions


@pytest.mark.parametrize("send_as", ["json", "form"])
def test_both_body_formats_are_accepted(connect: Connect, server: RunningServer, send_as: str) -> None:
    demo = connect(server.base, username="demo", password="console-demo", send_as=send_as)
    assert demo.call("GetDomainDetail", domainId="206814")["domainId"] == "206814"


@pytest.mark.parametrize("base", ["http://127.0.0.1:{port}", "http://localhost:{port}", "http://LOCALHOST:{port}/"])
def test_cookies_work_by_ip_address_and_host_name(connect: Connect, server: RunningServer, base: str) -> None:
    demo = connect(base.format(port=server.port), username="demo", password="console-demo")
    assert demo.usage_limits().instances.limit == 20


@pytest.mark.parametrize(
    ("language", "message"), [("zh", "不存在此 id 的域名。"), ("en", "There is no domain with this ID.")]
)
def test_messages_come_in_the_chosen_language(
    connect: Connect, server: RunningServer, language: str, message: str
) -> None:
    demo = connect(server.base, username="demo", password="console-demo", language=language)
    with pytest.raises(NotFound) as raised:
        demo.domain("1")
    assert str(raised.value) == raised.value.message == message


def test_error_has_all_details_of_the_response(demo: Any) -> None:
    with pytest.raises(NotFound) as raised:
        demo.domain("1")
    assert raised.value.code == 404
    assert raised.value.error == "domain_not_found"
    assert raised.value.field == "domainId"
    assert raised.value.request_id


def test_unknown_action_is_rejected(demo: Any) -> None:
    with pytest.raises(UnknownAction):
        demo.call("GetEverything")


def test_missing_field_is_named(demo: Any) -> None:
    with pytest.raises(RequestRefused) as raised:
        demo.call("GetDomainDetail")
    assert (raised.value.code, raised.value.error, raised.value.field) == (400, "missing_field", "domainId")


def test_wrong_credentials_are_rejected(connect: Connect, server: RunningServer) -> None:
    with pytest.raises(InvalidCredentials) as raised:
        connect(server.base, username="demo", password="not-that").news()
    assert raised.value.code == 401


def test_unknown_region_is_rejected(connect: Connect, server: RunningServer) -> None:
    with pytest.raises(RequestRefused) as raised:
        connect(server.base, region="http://id.example.com/v3", username="demo", password="console-demo").news()
    assert raised.value.error == "unknown_region"


def test_without_credentials_a_login_is_required(connect: Connect, server: RunningServer) -> None:
    with pytest.raises(LoginRequired):
        connect(server.base).news()


def test_password_callback_is_called_once_when_needed(connect: Connect, server: RunningServer) -> None:
    prompts = []

    def prompt() -> str:
        prompts.append("once")
        return "console-demo"

    demo = connect(server.base, username="demo", password=prompt)
    assert prompts == []
    demo.news()
    demo.news()
    assert prompts == ["once"]


def test_requests_after_logout_require_an_explicit_login(demo: Any) -> None:
    demo.news()
    demo.logout()
    assert demo.session is None
    with pytest.raises(LoginRequired):
        demo.news()
    demo.login()
    assert demo.news()


def test_logout_ends_the_session_on_the_server(demo: Any, connect: Connect, server: RunningServer) -> None:
    demo.login()
    saved = demo.session
    demo.logout()
    with pytest.raises(LoginRequired):
        connect(server.base, session=saved).news()


def test_logging_out_twice_is_no_error(demo: Any) -> None:
    demo.logout()
    demo.logout()


def test_logout_of_an_ended_session_succeeds(demo: Any) -> None:
    demo.login()
    end_at_server(demo.session)
    demo.logout()
    assert demo.session is None


def test_saved_session_needs_no_login(demo: Any, connect: Connect, server: RunningServer) -> None:
    demo.login()
    before = logins(server)
    again = connect(server.base, session=demo.session)
    assert again.usage_limits() == demo.usage_limits()
    assert logins(server) == before


@pytest.mark.parametrize(
    "changes", [{"username": "other"}, {"region": "http://elsewhere/v3"}, {"base_url": "http://elsewhere"}]
)
def test_session_of_another_identity_is_rejected(
    demo: Any, connect: Connect, server: RunningServer, changes: Any
) -> None:
    demo.login()
    with pytest.raises(ValueError, match="another console, region or user"):
        connect(**{"base_url": server.base, "session": demo.session, **changes})


def test_first_action_takes_exactly_three_requests(connect: Connect, scripted: ScriptedServer) -> None:
    scripted.actions = [envelope([])]
    connect(scripted.base, region="r", username="guest", password="secret").news()
    assert [(request.method, request.path) for request in scripted.requests] == [
        ("GET", "/api/"),
        ("POST", "/auth/login/"),
        ("POST", "/api/"),
    ]


def test_concurrent_requests_share_the_first_login(demo: Any, server: RunningServer) -> None:
    before = logins(server)
    assert run_concurrently(30, demo.news) == [demo.news()] * 30
    assert logins(server) == before + 1


def test_concurrent_requests_share_the_renewal_of_a_session(demo: Any, server: RunningServer) -> None:
    demo.login()
    end_at_server(demo.session)
    before = logins(server)
    assert run_concurrently(30, demo.usage_limits) == [demo.usage_limits()] * 30
    assert logins(server) == before + 1


def test_concurrent_requests_share_a_failed_login(connect: Connect, server: RunningServer) -> None:
    wrong_password = connect(server.base, username="other", password="not-that")
    before = logins(server)
    errors = run_concurrently(20, wrong_password.news)
    assert {type(error) for error in errors} == {InvalidCredentials}
    assert len({id(error) for error in errors}) == 20
    # Requests that start after the failure log in again, and some of the twenty may start late.
    assert logins(server) - before < 5


def test_rejected_csrf_token_is_renewed(demo: Any, connect: Connect, server: RunningServer) -> None:
    demo.login()
    saved = demo.session
    cookies = (replace(cookie, value="x" * 64) if cookie.name == "csrftoken" else cookie for cookie in saved.cookies)
    stale = replace(saved, cookies=tuple(cookies))
    assert connect(server.base, password="console-demo", session=stale).usage_limits()
    with pytest.raises(LoginRequired):
        connect(server.base, session=stale).usage_limits()


def test_repr_contains_no_secret(demo: Any, server: RunningServer) -> None:
    assert server.base in repr(demo)
    assert "console-demo" not in repr(demo)
    demo.login()
    assert all(cookie.value not in repr(demo.session) for cookie in demo.session.cookies)
