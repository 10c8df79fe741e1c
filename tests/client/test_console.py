"""The client over a real console: what each method gives, sessions, logins, and every way it is refused."""

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
from tests.client.sync_async import together
from tests.harness import RunningServer


def logins(server: RunningServer) -> int:
    return server.log().count("POST '/auth/login/'")


def end_at_server(session: Session | None) -> None:
    """As if its time were over: whoever still has it is not told."""
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
def test_both_body_forms(connect: Connect, server: RunningServer, send_as: str) -> None:
    demo = connect(server.base, username="demo", password="console-demo", send_as=send_as)
    assert demo.call("GetDomainDetail", domainId="206814")["domainId"] == "206814"


@pytest.mark.parametrize("base", ["http://127.0.0.1:{port}", "http://localhost:{port}", "http://LOCALHOST:{port}/"])
def test_cookies_work_by_address_and_by_name(connect: Connect, server: RunningServer, base: str) -> None:
    demo = connect(base.format(port=server.port), username="demo", password="console-demo")
    assert demo.usage_limits().instances.limit == 20


@pytest.mark.parametrize(
    ("language", "message"), [("zh", "不存在此 id 的域名。"), ("en", "There is no domain with this ID.")]
)
def test_messages_come_in_the_chosen_language(
    connect: Connect, server: RunningServer, language: str, message: str
) -> None:
    demo = connect(server.base, username="demo", password="console-demo", language=language)
    with pytest.raises(NotFound) as refused:
        demo.domain("1")
    assert str(refused.value) == refused.value.message == message


def test_a_refusal_says_all_that_the_console_said(demo: Any) -> None:
    with pytest.raises(NotFound) as refused:
        demo.domain("1")
    assert refused.value.code == 404
    assert refused.value.error == "domain_not_found"
    assert refused.value.field == "domainId"
    assert refused.value.request_id


def test_an_unknown_action(demo: Any) -> None:
    with pytest.raises(UnknownAction):
        demo.call("GetEverything")


def test_a_field_at_fault(demo: Any) -> None:
    with pytest.raises(RequestRefused) as refused:
        demo.call("GetDomainDetail")
    assert (refused.value.code, refused.value.error, refused.value.field) == (400, "missing_field", "domainId")


def test_wrong_credentials(connect: Connect, server: RunningServer) -> None:
    with pytest.raises(InvalidCredentials) as refused:
        connect(server.base, username="demo", password="not-that").news()
    assert refused.value.code == 401


def test_an_unknown_region(connect: Connect, server: RunningServer) -> None:
    with pytest.raises(RequestRefused) as refused:
        connect(server.base, region="http://id.example.com/v3", username="demo", password="console-demo").news()
    assert refused.value.error == "unknown_region"


def test_nobody_is_logged_in_without_credentials(connect: Connect, server: RunningServer) -> None:
    with pytest.raises(LoginRequired):
        connect(server.base).news()


def test_the_password_may_come_when_it_is_needed(connect: Connect, server: RunningServer) -> None:
    asked = []

    def prompt() -> str:
        asked.append("once")
        return "console-demo"

    demo = connect(server.base, username="demo", password=prompt)
    assert asked == []
    demo.news()
    demo.news()
    assert asked == ["once"]


def test_after_logout_nobody_is_logged_in_until_the_next_login(demo: Any) -> None:
    demo.news()
    demo.logout()
    assert demo.session is None
    with pytest.raises(LoginRequired):
        demo.news()
    demo.login()
    assert demo.news()


def test_logout_ends_the_session_at_the_console(demo: Any, connect: Connect, server: RunningServer) -> None:
    demo.login()
    kept = demo.session
    demo.logout()
    with pytest.raises(LoginRequired):
        connect(server.base, session=kept).news()


def test_logging_out_twice_is_no_mistake(demo: Any) -> None:
    demo.logout()
    demo.logout()


def test_a_session_that_is_over_already_can_be_left(demo: Any) -> None:
    demo.login()
    end_at_server(demo.session)
    demo.logout()
    assert demo.session is None


def test_a_kept_session_needs_no_login(demo: Any, connect: Connect, server: RunningServer) -> None:
    demo.login()
    before = logins(server)
    again = connect(server.base, session=demo.session)
    assert again.usage_limits() == demo.usage_limits()
    assert logins(server) == before


@pytest.mark.parametrize(
    "other", [{"username": "other"}, {"region": "http://elsewhere/v3"}, {"base_url": "http://elsewhere"}]
)
def test_a_session_is_of_one_identity(demo: Any, connect: Connect, server: RunningServer, other: Any) -> None:
    demo.login()
    with pytest.raises(ValueError, match="another console, region or user"):
        connect(**{"base_url": server.base, "session": demo.session, **other})


def test_a_first_call_takes_no_more_than_the_three_steps(connect: Connect, other: ScriptedServer) -> None:
    other.actions = [envelope([])]
    connect(other.base, region="r", username="guest", password="secret").news()
    assert [(seen.method, seen.path) for seen in other.seen] == [
        ("GET", "/api/"),
        ("POST", "/auth/login/"),
        ("POST", "/api/"),
    ]


def test_all_callers_share_the_first_login(demo: Any, server: RunningServer) -> None:
    before = logins(server)
    assert together(30, demo.news) == [demo.news()] * 30
    assert logins(server) == before + 1


def test_all_callers_share_the_login_after_a_session_has_ended(demo: Any, server: RunningServer) -> None:
    demo.login()
    end_at_server(demo.session)
    before = logins(server)
    assert together(30, demo.usage_limits) == [demo.usage_limits()] * 30
    assert logins(server) == before + 1


def test_all_callers_share_a_failed_login(connect: Connect, server: RunningServer) -> None:
    mistaken = connect(server.base, username="other", password="not-that")
    before = logins(server)
    refusals = together(20, mistaken.news)
    assert {type(refusal) for refusal in refusals} == {InvalidCredentials}
    assert len({id(refusal) for refusal in refusals}) == 20
    # Whoever comes after it tries for themselves, and some of the twenty may have come late.
    assert logins(server) - before < 5


def test_a_token_that_is_no_longer_taken_is_renewed(demo: Any, connect: Connect, server: RunningServer) -> None:
    demo.login()
    kept = demo.session
    cookies = (replace(cookie, value="x" * 64) if cookie.name == "csrftoken" else cookie for cookie in kept.cookies)
    stale = replace(kept, cookies=tuple(cookies))
    assert connect(server.base, password="console-demo", session=stale).usage_limits()
    with pytest.raises(LoginRequired):
        connect(server.base, session=stale).usage_limits()


def test_no_secret_is_in_what_is_printed(demo: Any, server: RunningServer) -> None:
    assert server.base in repr(demo)
    assert "console-demo" not in repr(demo)
    demo.login()
    assert all(cookie.value not in repr(demo.session) for cookie in demo.session.cookies)
