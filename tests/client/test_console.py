"""The client against a real console: results of each method, sessions, logins, errors, and HTTPS."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from msgspec.structs import replace

from cloudconsole import ConnectionFailed, Console, LoginRequired, NotFound, Session
from cloudconsole.client.options import CallOptions
from cloudconsole.client.retry import RetryPolicy
from cloudconsole.client.steps import Send
from cloudconsole.spec.operations import LOGIN
from tests.client.conftest import Connect, RetryClock, run_concurrently
from tests.e2e.test_https import serving_https
from tests.harness import CERTIFICATES, RunningServer, client_ssl_context


def logins(server: RunningServer) -> int:
    return server.log().count("POST '/auth/login/'")


def end_at_server(session: Session | None) -> None:
    """End a session on the server only, as if it had expired."""
    assert session is not None
    with Console(session.base_url, session=session) as elsewhere:
        elsewhere.logout()


class TestActions:
    @pytest.mark.parametrize(
        ("method", "action", "fields"),
        [
            ("usage_limits", "GetUsageLimits", {}),
            ("flavors", "GetFlavors", {}),
            ("urls", "GetUrlList", {}),
            ("domain", "GetDomainDetail", {"domainId": "206813"}),
            ("news", "GetNews", {}),
            ("consumption", "GetConsumptionsEstimated", {}),
            ("domains", "GetDomains", {}),
            ("announcements", "GetAnnouncements", {}),
            ("prices", "GetPrices", {}),
            ("cost_summary", "GetConsumptionsSummary", {"region": "hk-1"}),
            ("costs", "GetConsumptionsByQuery", {"start_at": "2026-10-01", "end_at": "2026-10-31"}),
            ("monthly_bills", "GetBillingReportList4NearlyYear", {}),
            ("forecast", "GetForecast", {}),
            ("cost_export", "GetCostExport", {"month": "2026-10"}),
            ("estimate", "GetEstimate", {"items": [{"res_type": "instance", "flavor": "1"}]}),
        ],
    )
    def test_each_method_decodes_the_data_of_its_action(
        self, demo: Any, method: str, action: str, fields: dict[str, Any]
    ) -> None:
        record = getattr(demo, method)(*fields.values())
        raw = record.raw if hasattr(record, "raw") else [item.raw for item in record]
        assert raw == demo.call(action, **fields) != []

    def test_records_have_time_zone_and_currency_of_the_console(self, demo: Any) -> None:
        assert demo.news()[0].date == datetime(2026, 10, 12, 12, tzinfo=UTC)
        assert demo.announcements()[0].date == datetime(2026, 10, 12, 12, tzinfo=UTC)
        assert demo.consumption().currency == "CNY"
        assert demo.prices()[-1].start == datetime(2026, 1, 1, tzinfo=UTC)

    def test_about(self, demo: Any, server: RunningServer) -> None:
        about = demo.about()
        assert about.regions == (f"{server.base}/v3",)
        assert about.time_zone == "UTC"
        assert about.units.ram == "MB"
        assert "GetNews" in about.actions
        assert "GetPrices" in about.extensions

    @pytest.mark.parametrize("send_as", ["json", "form"])
    def test_both_body_formats_are_accepted(self, connect: Connect, server: RunningServer, send_as: str) -> None:
        demo = connect(server.base, username="demo", password="console-demo", send_as=send_as)
        assert demo.call("GetDomainDetail", domainId="206814")["domainId"] == "206814"

    @pytest.mark.parametrize(
        ("language", "message"), [("zh", "不存在此 id 的域名。"), ("en", "There is no domain with this ID.")]
    )
    def test_error_has_all_details_in_the_chosen_language(
        self, connect: Connect, server: RunningServer, language: str, message: str
    ) -> None:
        demo = connect(server.base, username="demo", password="console-demo", language=language)
        with pytest.raises(NotFound) as raised:
            demo.domain("1")
        assert str(raised.value) == raised.value.message == message
        assert (raised.value.code, raised.value.error, raised.value.field) == (404, "domain_not_found", "domainId")
        assert raised.value.request_id


class TestSessions:
    def test_url_of_the_endpoint_is_understood(self, connect: Connect, server: RunningServer) -> None:
        assert connect(f"{server.base}/api/", username="demo", password="console-demo").news()

    def test_url_with_a_path_too_many_is_noted(self, connect: Connect, server: RunningServer) -> None:
        client = connect(f"{server.base}/console", username="demo", password="console-demo")
        with pytest.raises(NotFound) as raised:
            client.news()
        assert raised.value.__notes__ == [f"There is no console at {server.base}/console: check the base URL."]

    def test_without_credentials_a_login_is_required(self, connect: Connect, server: RunningServer) -> None:
        with pytest.raises(LoginRequired):
            connect(server.base).news()

    def test_password_callback_is_called_once_when_needed(self, connect: Connect, server: RunningServer) -> None:
        prompts = []

        def prompt() -> str:
            prompts.append("once")
            return "console-demo"

        demo = connect(server.base, username="demo", password=prompt)
        assert prompts == []
        demo.news()
        demo.news()
        assert prompts == ["once"]

    def test_requests_after_logout_require_an_explicit_login(
        self, demo: Any, connect: Connect, server: RunningServer
    ) -> None:
        demo.news()
        saved = demo.session
        demo.logout()
        assert demo.session is None
        for client in (demo, connect(server.base, session=saved)):
            with pytest.raises(LoginRequired):
                client.news()
        demo.login()
        assert demo.news()

    def test_logout_without_a_live_session_succeeds(self, demo: Any) -> None:
        demo.login()
        end_at_server(demo.session)
        demo.logout()
        assert demo.session is None
        demo.logout()

    def test_saved_session_needs_no_login(self, demo: Any, connect: Connect, server: RunningServer) -> None:
        demo.login()
        before = logins(server)
        again = connect(server.base, session=demo.session)
        assert again.usage_limits() == demo.usage_limits()
        assert logins(server) == before

    @pytest.mark.parametrize(
        "changes", [{"username": "other"}, {"region": "http://b/v3"}, {"project": "b"}, {"base_url": "http://b"}]
    )
    def test_session_of_another_identity_is_rejected(self, connect: Connect, changes: dict[str, str]) -> None:
        session = Session(base_url="http://a", username="demo", region="http://a/v3", cookies=())
        with pytest.raises(ValueError, match="another console, region, project or user"):
            connect(**{"base_url": "http://a", "session": session, **changes})

    def test_concurrent_requests_share_the_first_login(self, demo: Any, server: RunningServer) -> None:
        before = logins(server)
        assert run_concurrently(30, demo.news) == [demo.news()] * 30
        assert logins(server) == before + 1

    def test_concurrent_requests_share_the_renewal_of_a_session(self, demo: Any, server: RunningServer) -> None:
        demo.login()
        end_at_server(demo.session)
        before = logins(server)
        assert run_concurrently(30, demo.usage_limits) == [demo.usage_limits()] * 30
        assert logins(server) == before + 1

    def test_rejected_csrf_token_is_renewed(self, demo: Any, connect: Connect, server: RunningServer) -> None:
        demo.login()
        saved = demo.session
        cookies = (
            replace(cookie, value="x" * 64) if cookie.name == "csrftoken" else cookie for cookie in saved.cookies
        )
        stale = replace(saved, cookies=tuple(cookies))
        assert connect(server.base, password="console-demo", session=stale).usage_limits()
        with pytest.raises(LoginRequired):
            connect(server.base, session=stale).usage_limits()

    def test_repr_contains_no_secret(self, demo: Any, server: RunningServer) -> None:
        assert server.base in repr(demo)
        assert "console-demo" not in repr(demo)
        demo.login()
        assert all(cookie.value not in repr(demo.session) for cookie in demo.session.cookies)
        sent = Send(LOGIN, {"Cookie": "sessionid=1"}, b"password=console-demo", RetryPolicy(CallOptions()))
        assert repr(sent) == f"Send({LOGIN.name!r}, ...)"


@pytest.fixture(scope="module")
def secure(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    with serving_https(tmp_path_factory.mktemp("secure")) as running:
        yield running


def test_cookies_work_over_https(connect: Connect, secure: RunningServer) -> None:
    base = f"https://LOCALHOST:{secure.port}/"
    demo = connect(base, username="demo", password="console-demo", verify=client_ssl_context())
    demo.login()
    again = connect(base, session=demo.session, verify=client_ssl_context())
    assert again.usage_limits().instances.limit == 20


def test_certificate_is_trusted_by_the_path_of_a_file(connect: Connect, secure: RunningServer) -> None:
    for verify in (CERTIFICATES / "rsa.pem", str(CERTIFICATES / "rsa.pem")):
        assert connect(f"https://localhost:{secure.port}", verify=verify).about().regions


def test_untrusted_certificate_is_rejected(connect: Connect, secure: RunningServer, retry_clock: RetryClock) -> None:
    with pytest.raises(ConnectionFailed, match="certificate") as raised:
        connect(secure.base, username="demo", password="console-demo").news()
    assert not raised.value.may_recover
    assert retry_clock.pauses == []
