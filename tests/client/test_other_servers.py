"""Third-party consoles: other login responses and statuses, session renewal, and retries."""

import json
from typing import Any

import pytest

from cloudconsole import Console
from cloudconsole.client import decoding
from cloudconsole.client import exceptions as errors
from cloudconsole.client.flow import ProtocolFlow
from cloudconsole.client.options import CallOptions
from cloudconsole.client.retry import RetryPolicy
from cloudconsole.client.session import make_credentials
from cloudconsole.client.steps import Renew, Send
from tests.client.conftest import ACCOUNT, RetryClock
from tests.client.scripted_server import LOGGED_IN, LOST, OPENED, Canned, Script, envelope

SUCCESS = envelope({"done": True})
BUSY = envelope({}, code=503, status=503, headers=[("Retry-After", "0")])
ENDED = envelope({}, code=401)


def connect(scripted: Script, path: str = "", **options: Any) -> Console:
    return Console(f"http://console{path}", **{**ACCOUNT, **options}, transport=scripted.transport)


class TestLogin:
    def test_first_action_takes_exactly_three_requests(self, client: Console, scripted: Script) -> None:
        scripted.actions = [envelope([])]
        client.news()
        assert [(request.method, request.path, request.headers.get("Referer")) for request in scripted.requests] == [
            ("GET", "/api/", None),
            ("POST", "/auth/login/", "http://console/api/"),
            ("POST", "/api/", "http://console/api/"),
        ]
        assert scripted.logins[0].form == {"csrfmiddlewaretoken": "first", **ACCOUNT}

    def test_a_console_under_a_path(self, scripted: Script) -> None:
        with pytest.raises(errors.NotFound):
            connect(scripted, "/console/").login()
        assert scripted.requests[0].path == "/console/api/"

    def test_failed_login_sends_no_action(self, client: Console, scripted: Script) -> None:
        scripted.login = [Canned(401)]
        with pytest.raises(errors.InvalidCredentials):
            client.call("GetIt")
        assert len(scripted.logins) == 1
        assert scripted.action_requests == []

    @pytest.mark.parametrize("response", [ENDED, Canned(401), Canned(302, headers=[("Location", "/login")])])
    def test_wrong_credentials_with_status_200_fail_the_first_action(
        self, client: Console, scripted: Script, response: Canned
    ) -> None:
        scripted.login, scripted.actions = [Canned(200, b"<html>Wrong!</html>")], [response, SUCCESS]
        with pytest.raises(errors.InvalidCredentials):
            client.call("GetIt")
        assert len(scripted.logins) == 1
        assert client.call("GetIt") == {"done": True}
        assert len(scripted.logins) == 2

    def test_a_token_changed_at_login_is_used_from_then_on(self, client: Console, scripted: Script) -> None:
        scripted.login = [Canned(200, headers=[*LOGGED_IN.headers, ("Set-Cookie", "csrftoken=second; Path=/")])]
        client.call("GetIt")
        (request,) = scripted.action_requests
        assert request.headers["X-CSRFToken"] == request.cookies["csrftoken"] == "second"

    def test_project_is_sent_and_belongs_to_the_session(self, scripted: Script) -> None:
        client = connect(scripted, project="acme")
        client.login()
        assert client.session is not None
        assert scripted.logins[0].form["project"] == client.session.project == "acme"

    @pytest.mark.parametrize("regions", [["http://a/v3", "http://b/v3"], []])
    def test_region_is_required_unless_there_is_exactly_one(self, scripted: Script, regions: list[str]) -> None:
        scripted.opening = [envelope({"regions": regions}, headers=OPENED.headers)]
        with pytest.raises(errors.RegionRequired) as raised:
            connect(scripted, region=None).call("GetIt")
        assert raised.value.regions == tuple(regions)
        assert scripted.logins == []

    @pytest.mark.parametrize(
        ("opening", "message"),
        [
            (Canned(200), "csrftoken"),
            (Canned(301, headers=[("Location", "https://elsewhere/api/")]), "redirects to https://elsewhere/api/"),
        ],
    )
    def test_no_login_is_sent_without_a_csrftoken_or_after_a_redirect(
        self, client: Console, scripted: Script, opening: Canned, message: str
    ) -> None:
        scripted.opening = [opening]
        with pytest.raises(errors.ProtocolError, match=message):
            client.call("GetIt")
        assert scripted.logins == []

    @pytest.mark.parametrize("status", [302, 401, 403, 405])
    def test_opening_that_sets_cookies_is_accepted_with_any_status(
        self, client: Console, scripted: Script, status: int
    ) -> None:
        scripted.opening = [Canned(status, headers=OPENED.headers)]
        client.login()
        assert client.session is not None
        assert client.session.region == ACCOUNT["region"]

    @pytest.mark.parametrize("body", [b"<html>", b"[]", b'{"code": 200, "data": {"regions": 7, "monthDays": "x"}}'])
    def test_invalid_metadata_is_ignored(self, client: Console, scripted: Script, body: bytes) -> None:
        scripted.opening, scripted.actions = [Canned(200, body, OPENED.headers)], [envelope([])]
        assert client.news() == []
        assert client.about().month_days is None

    def test_description_needs_no_cookies(self, client: Console, scripted: Script) -> None:
        scripted.opening = [envelope({"regions": ["r"]})]
        assert client.about().regions == ("r",)

    def test_unencodable_password_is_not_disclosed(self, scripted: Script) -> None:
        with pytest.raises(ValueError, match="the password cannot be encoded") as raised:
            connect(scripted, password="sec\udc80ret")
        assert "sec" not in f"{raised.value!r} {raised.value.__context__!r}"

    @pytest.mark.parametrize("given", [None, "sec\udc80ret"])
    def test_invalid_password_from_a_callback_is_not_sent(self, scripted: Script, given: Any) -> None:
        with pytest.raises(errors.LoginRequired, match="no password"):
            connect(scripted, password=lambda: given).login()
        assert scripted.logins == []

    def test_error_contains_no_secret(self, client: Console, scripted: Script) -> None:
        scripted.login = [Canned(500)]
        with pytest.raises(errors.ServerError) as raised:
            client.login()
        details = f"{raised.value!r} {vars(raised.value)} {raised.value.__context__!r}"
        assert "secret" not in details
        assert "first" not in details


class TestSessions:
    def test_ended_session_is_renewed_once_and_the_request_repeated(self, client: Console, scripted: Script) -> None:
        scripted.actions = [SUCCESS, ENDED, SUCCESS]
        client.call("GetIt")
        assert client.call("GetIt") == {"done": True}
        assert len(scripted.logins) == 2
        openings = [request for request in scripted.requests if request.method == "GET"]
        assert [request.cookies.get("sessionid") for request in openings] == [None, "guest"]

    def test_repeatedly_ended_session_does_not_loop(self, client: Console, scripted: Script) -> None:
        scripted.actions = [SUCCESS, *[envelope({}, code=401, error="login_required")] * 9]
        client.call("GetIt")
        with pytest.raises(errors.LoginRequired):
            client.call("GetIt")
        assert len(scripted.logins) == 2

    def test_always_rejected_token_does_not_loop(self, client: Console, scripted: Script) -> None:
        scripted.actions = [Canned(403)]
        with pytest.raises(errors.CsrfFailed):
            client.call("GetIt")
        assert len(scripted.logins) == 1

    def test_ended_saved_session_is_renewed(self, client: Console, scripted: Script) -> None:
        client.login()
        scripted.actions = [ENDED, SUCCESS]
        assert connect(scripted, session=client.session).call("GetIt") == {"done": True}

    def test_session_is_renewed_after_a_logout_and_a_new_login(self, client: Console, scripted: Script) -> None:
        client.login()
        client.logout()
        client.login()
        scripted.actions = [SUCCESS, ENDED, SUCCESS]
        client.call("GetIt")
        assert client.call("GetIt") == {"done": True}

    def test_failed_logout_drops_the_local_session(self, client: Console, scripted: Script) -> None:
        client.login()
        scripted.logout = [Canned(500)]
        with pytest.raises(errors.ServerError):
            client.logout()
        assert client.session is None


class TestConcurrentLogins:
    """Calls that waited while another one tried to log in; a `Renew` is what a call asks for."""

    @pytest.fixture
    def flow(self, retry_clock: RetryClock) -> ProtocolFlow:
        credentials = make_credentials("http://console", project=None, **ACCOUNT, session=None)
        return ProtocolFlow(credentials, session=None, send_as="json")

    def waiting(self, flow: ProtocolFlow) -> Renew:
        step = next(flow.call("GetIt", {}, decoding.as_it_came, RetryPolicy(CallOptions())))
        assert isinstance(step, Renew)
        return step

    def fail_login(self, flow: ProtocolFlow, error: errors.ConsoleError) -> None:
        login = flow.login(RetryPolicy(CallOptions(retries=0)))
        next(login)
        with pytest.raises(type(error)):
            login.throw(error)

    def test_waiting_call_shares_the_wrong_credentials(self, flow: ProtocolFlow) -> None:
        waiting, error = self.waiting(flow), errors.InvalidCredentials("wrong")
        self.fail_login(flow, error)
        with pytest.raises(errors.InvalidCredentials, match="wrong") as raised:
            next(flow.renew(waiting))
        assert raised.value is not error

    @pytest.mark.parametrize("error", [errors.ConnectionFailed("lost"), errors.ServerError("broken", code=500)])
    def test_waiting_call_logs_in_after_another_failure(self, flow: ProtocolFlow, error: errors.ConsoleError) -> None:
        waiting = self.waiting(flow)
        self.fail_login(flow, error)
        assert isinstance(next(flow.renew(waiting)), Send)

    def test_call_whose_session_was_dropped_logs_in_itself(self, flow: ProtocolFlow) -> None:
        assert isinstance(next(flow.renew(Renew(5, 0, RetryPolicy(CallOptions())))), Send)

    def test_call_after_the_failure_logs_in_itself(self, flow: ProtocolFlow) -> None:
        self.fail_login(flow, errors.InvalidCredentials("wrong"))
        assert isinstance(next(flow.renew(self.waiting(flow))), Send)


class TestActions:
    def test_action_cannot_be_overridden_by_a_field(self, client: Console, scripted: Script) -> None:
        client.call("GetIt", action="Other")
        assert b"GetIt" in scripted.action_requests[0].body

    @pytest.mark.parametrize("value", [None, True, ["x"], 1.5])
    def test_form_accepts_only_strings_and_integers(self, scripted: Script, value: Any) -> None:
        with pytest.raises(TypeError, match="name must be str or int"):
            connect(scripted, send_as="form").call("GetIt", name=value)

    def test_invalid_response_has_the_request_id(self, client: Console, scripted: Script) -> None:
        scripted.actions = [envelope([], headers=[("X-Request-ID", "r-1")])]
        with pytest.raises(errors.ProtocolError) as raised:
            client.usage_limits()
        assert (raised.value.request_id, raised.value.code) == ("r-1", 200)


class TestRetries:
    @pytest.mark.parametrize(
        "failure",
        [
            BUSY,
            envelope({}, code=429, status=429, headers=[("Retry-After", "0")]),
            envelope({}, code=502, status=502),
            Canned(502, b"<html>Bad Gateway</html>"),
            Canned(503, headers=[("Retry-After", "soon")]),
            Canned(504),
            LOST,
        ],
    )
    def test_transient_failure_is_retried(self, client: Console, scripted: Script, failure: Canned) -> None:
        scripted.actions = [failure, failure, SUCCESS]
        assert client.call("GetIt") == {"done": True}
        assert len(scripted.action_requests) == 3
        assert len(scripted.logins) == 1

    @pytest.mark.parametrize("step", ["opening", "login"])
    def test_login_steps_are_retried(self, client: Console, scripted: Script, step: str) -> None:
        setattr(scripted, step, [BUSY, LOST, *getattr(scripted, step)])
        client.login()
        assert client.session is not None

    @pytest.mark.parametrize("failure", [LOST, Canned(502), Canned(504), Canned(302), Canned(303)])
    def test_modifying_action_is_not_retried(self, client: Console, scripted: Script, failure: Canned) -> None:
        client.call("GetIt")
        scripted.actions = [failure, SUCCESS]
        with pytest.raises((errors.ConnectionFailed, errors.ServerError, errors.LoginRequired)):
            client.call("DeleteIt")
        assert len(scripted.action_requests) == 2

    def test_modifying_action_is_retried_if_certainly_not_executed(self, client: Console, scripted: Script) -> None:
        scripted.actions = [BUSY, SUCCESS]
        assert client.call("DeleteIt") == {"done": True}

    @pytest.mark.parametrize("code", [400, 404, 500, 501])
    def test_permanent_error_is_not_retried(self, client: Console, scripted: Script, code: int) -> None:
        scripted.actions = [envelope({}, code=code, status=code), SUCCESS]
        with pytest.raises(errors.ConsoleError):
            client.call("GetIt")
        assert len(scripted.action_requests) == 1

    def test_retry_after_beyond_the_deadline_fails_at_once(
        self, client: Console, scripted: Script, retry_clock: RetryClock
    ) -> None:
        scripted.actions = [envelope({}, code=429, status=429, headers=[("Retry-After", "60")])]
        with pytest.raises(errors.RateLimited):
            client.call("GetIt")
        assert len(scripted.action_requests) == 1
        assert retry_clock.pauses == []

    def test_error_response_is_raised_at_the_deadline_rather_than_a_lost_connection(
        self, client: Console, scripted: Script, retry_clock: RetryClock
    ) -> None:
        scripted.actions = [Canned(503), LOST]
        with pytest.raises(errors.ServerError):
            client.call("GetIt")
        assert len(scripted.action_requests) > 2
        assert sum(retry_clock.pauses) < 5


def test_an_estimate_of_one_item_needs_a_list(client: Console) -> None:
    item: Any = {"res_type": "loadbalance"}
    with pytest.raises(TypeError, match="items must be a list such as"):
        client.estimate(item)


def test_an_estimate_of_other_items_is_an_error(client: Console, scripted: Script) -> None:
    nothing = dict.fromkeys(("hour", "day", "month", "year", "hours", "cost"))
    scripted.actions = [envelope({"items": [], **nothing, "priced": True, "fits": True, "quotas": []})]
    with pytest.raises(errors.ProtocolError, match="other items than requested"):
        client.estimate([{"res_type": "loadbalance"}])


class TestPages:
    @staticmethod
    def page(first: int, size: int) -> list[dict[str, str]]:
        more = {"domainName": "a.example", "enabled": "true", "status": "Deployed", "serviceType": "web"}
        return [{"domainId": f"{number:09}", **more} for number in range(first, first + size)]

    def test_all_pages_are_one_list(self, client: Console, scripted: Script) -> None:
        scripted.actions = [envelope(self.page(0, 1000)), envelope(self.page(1000, 1000)), envelope([])]
        assert [domain.id for domain in client.domains()] == [f"{number:09}" for number in range(2000)]
        markers = [json.loads(request.body).get("marker") for request in scripted.action_requests]
        assert markers == [None, "000000999", "000001999"]

    def test_a_repeated_page_is_an_error(self, client: Console, scripted: Script) -> None:
        scripted.actions = [envelope(self.page(0, 1000))]
        with pytest.raises(errors.ProtocolError, match="repeats a page"):
            client.domains()
        assert len(scripted.action_requests) == 2


class TestExportPages:
    @staticmethod
    def page(row: str, next_marker: str | None, *columns: str) -> Canned:
        return envelope({"columns": columns or ["a", "b"], "rows": [[row, ""]], "next_marker": next_marker})

    def test_all_pages_are_one_export(self, client: Console, scripted: Script) -> None:
        scripted.actions = [self.page("1", "x"), self.page("2", "y"), self.page("3", None)]
        export = client.cost_export("2026-10", format="csv")
        assert export.columns == ("a", "b")
        assert export.rows == tuple(export) == (("1", ""), ("2", ""), ("3", ""))
        sent = [json.loads(request.body) for request in scripted.action_requests]
        assert [request.get("marker") for request in sent] == [None, "x", "y"]
        assert {(request["month"], request["format"]) for request in sent} == {("2026-10", "csv")}

    @pytest.mark.parametrize(
        ("second", "field"),
        [(("2", "x"), "next_marker"), (("2", None, "b", "a"), "columns"), (("2", None, "a"), "columns")],
    )
    def test_pages_that_do_not_follow_are_errors(
        self, client: Console, scripted: Script, second: tuple[Any, ...], field: str
    ) -> None:
        scripted.actions = [self.page("1", "x"), self.page(*second)]
        with pytest.raises(errors.ProtocolError) as raised:
            client.cost_export("2026-10")
        assert raised.value.field == field

    def test_a_row_needs_a_value_for_each_column(self, client: Console, scripted: Script) -> None:
        scripted.actions = [self.page("1", None, "a")]
        with pytest.raises(errors.ProtocolError, match=r"rows\[0\]"):
            client.cost_export("2026-10")
