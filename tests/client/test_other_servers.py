"""Third-party consoles: other login responses and statuses, network failures, and invalid responses."""

import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone
from email.utils import format_datetime
from typing import Any

import pytest

from cloudconsole import (
    ConnectionFailed,
    ConsoleError,
    CsrfFailed,
    InvalidCredentials,
    LoginRequired,
    NotFound,
    ProtocolError,
    RateLimited,
    RegionRequired,
    RequestRefused,
    ServerError,
)
from cloudconsole.client import transport
from tests.client.conftest import Connect
from tests.client.scripted_server import LOGGED_IN, LOST, OPENED, Canned, ScriptedServer, envelope
from tests.client.sync_async import run_concurrently

pytestmark = pytest.mark.slow

IN_ANOTHER_ZONE = [format_datetime((datetime.now(UTC) + timedelta(hours=1)).astimezone(timezone(timedelta(hours=8))))]
SUCCESS = envelope({"done": True})
BUSY = envelope({}, code=503, status=503, headers=[("Retry-After", "0")])


class TestLogin:
    @pytest.mark.parametrize(
        "response",
        [
            Canned(302, headers=[("Location", "/"), *LOGGED_IN.headers]),
            Canned(204, headers=LOGGED_IN.headers),
            Canned(200, b"<html>Welcome!</html>", LOGGED_IN.headers),
            envelope({}, headers=LOGGED_IN.headers),
        ],
    )
    def test_any_2xx_and_302_are_success(self, client: Any, scripted: ScriptedServer, response: Canned) -> None:
        scripted.login, scripted.actions = [response], [SUCCESS]
        assert client.call("GetIt") == {"done": True}
        assert scripted.action_requests[0].cookies["sessionid"] == "guest"

    @pytest.mark.parametrize(
        ("response", "expected"),
        [
            (Canned(401), InvalidCredentials),
            (envelope({}, code=401), InvalidCredentials),
            (Canned(403, b"<h1>CSRF</h1>"), CsrfFailed),
            (envelope({}, code=403, status=403, error="no_project"), RequestRefused),
            (Canned(400), RequestRefused),
            (Canned(500), ServerError),
        ],
    )
    def test_failed_login_raises_an_error(
        self, client: Any, scripted: ScriptedServer, response: Canned, expected: type[ConsoleError]
    ) -> None:
        scripted.login = [response]
        with pytest.raises(expected):
            client.call("GetIt")
        assert len(scripted.logins) == 1
        assert scripted.action_requests == []

    @pytest.mark.parametrize(
        "response", [envelope({}, code=401), Canned(401), Canned(302, headers=[("Location", "/login")])]
    )
    def test_wrong_credentials_with_status_200_fail_the_first_action(
        self, client: Any, scripted: ScriptedServer, response: Canned
    ) -> None:
        scripted.login, scripted.actions = [Canned(200, b"<html>Wrong!</html>")], [response]
        with pytest.raises(InvalidCredentials):
            client.call("GetIt")
        assert len(scripted.logins) == 1

    def test_concurrent_requests_share_the_wrong_credentials(self, client: Any, scripted: ScriptedServer) -> None:
        scripted.login, scripted.actions = [Canned(200)], [Canned(401)]
        errors = run_concurrently(20, lambda: client.call("GetIt"))
        assert {type(error) for error in errors} == {InvalidCredentials}
        assert len(scripted.logins) < 5

    def test_a_token_changed_at_login_is_used_from_then_on(self, client: Any, scripted: ScriptedServer) -> None:
        scripted.login = [Canned(200, headers=[*LOGGED_IN.headers, ("Set-Cookie", "csrftoken=second; Path=/")])]
        client.call("GetIt")
        assert scripted.logins[0].form["csrfmiddlewaretoken"] == "first"
        assert (
            scripted.action_requests[0].headers["X-CSRFToken"]
            == scripted.action_requests[0].cookies["csrftoken"]
            == "second"
        )

    def test_login_form_has_the_four_fields(self, client: Any, scripted: ScriptedServer) -> None:
        client.login()
        assert scripted.logins[0].form == {
            "csrfmiddlewaretoken": "first",
            "username": "guest",
            "password": "secret",
            "region": "http://id/v3",
        }

    def test_ended_session_is_renewed_once_and_the_request_repeated(
        self, client: Any, scripted: ScriptedServer
    ) -> None:
        scripted.actions = [SUCCESS, envelope({}, code=401), SUCCESS]
        client.call("GetIt")
        assert client.call("GetIt") == {"done": True}
        assert len(scripted.logins) == 2

    def test_repeatedly_ended_session_does_not_loop(self, client: Any, scripted: ScriptedServer) -> None:
        scripted.actions = [SUCCESS, *[envelope({}, code=401, error="login_required")] * 9]
        client.call("GetIt")
        with pytest.raises(LoginRequired):
            client.call("GetIt")
        assert len(scripted.logins) == 2

    def test_always_rejected_token_does_not_loop(self, client: Any, scripted: ScriptedServer) -> None:
        scripted.actions = [Canned(403)]
        with pytest.raises(CsrfFailed):
            client.call("GetIt")
        assert len(scripted.logins) == 1

    def test_session_is_dropped_locally_without_a_logout_path(self, client: Any) -> None:
        client.login()
        client.logout()
        assert client.session is None

    @pytest.mark.parametrize("regions", [["http://a/v3", "http://b/v3"], []])
    def test_region_is_required_unless_there_is_exactly_one(
        self, connect: Connect, scripted: ScriptedServer, regions: list[str]
    ) -> None:
        scripted.opening = [envelope({"regions": regions}, headers=OPENED.headers)]
        with pytest.raises(RegionRequired) as raised:
            connect(scripted.base, username="guest", password="secret").call("GetIt")
        assert raised.value.regions == tuple(regions)
        assert scripted.logins == []

    def test_no_login_is_sent_without_a_csrftoken(self, client: Any, scripted: ScriptedServer) -> None:
        scripted.opening = [Canned(200)]
        with pytest.raises(ProtocolError, match="csrftoken"):
            client.call("GetIt")
        assert scripted.logins == []

    @pytest.mark.parametrize("status", [301, 307, 308])
    def test_redirected_login_is_an_error(self, client: Any, scripted: ScriptedServer, status: int) -> None:
        scripted.login = [Canned(status, headers=[("Location", "/elsewhere/")])]
        with pytest.raises(ProtocolError, match="redirects to /elsewhere/"):
            client.login()

    @pytest.mark.parametrize("status", [302, 401, 403, 405])
    def test_opening_that_sets_cookies_is_accepted_with_any_status(
        self, client: Any, scripted: ScriptedServer, status: int
    ) -> None:
        scripted.opening = [Canned(status, headers=OPENED.headers)]
        client.login()
        assert client.session.region == "http://id/v3"

    def test_ended_saved_session_is_renewed(self, client: Any, connect: Connect, scripted: ScriptedServer) -> None:
        client.login()
        scripted.actions = [envelope({}, code=401), SUCCESS]
        again = connect(scripted.base, password="secret", session=client.session)
        assert again.call("GetIt") == {"done": True}

    def test_session_is_renewed_after_a_logout_and_a_new_login(self, client: Any, scripted: ScriptedServer) -> None:
        client.login()
        client.logout()
        client.login()
        scripted.actions = [SUCCESS, envelope({}, code=401), SUCCESS]
        client.call("GetIt")
        assert client.call("GetIt") == {"done": True}

    def test_login_is_retried_after_wrong_credentials(self, client: Any, scripted: ScriptedServer) -> None:
        scripted.actions = [Canned(401), SUCCESS]
        with pytest.raises(InvalidCredentials):
            client.call("GetIt")
        assert client.call("GetIt") == {"done": True}
        assert len(scripted.logins) == 2

    def test_posts_have_a_referer(self, client: Any, scripted: ScriptedServer) -> None:
        client.call("GetIt")
        assert {request.headers["Referer"] for request in scripted.requests if request.method == "POST"} == {
            f"{scripted.base}/api/"
        }

    def test_unencodable_password_is_not_disclosed(self, connect: Connect, scripted: ScriptedServer) -> None:
        with pytest.raises(ValueError, match="the password cannot be encoded") as raised:
            connect(scripted.base, username="guest", password="sec\udc80ret")
        assert "sec" not in f"{raised.value!r} {raised.value.__context__!r}"

    @pytest.mark.parametrize("given", [None, "sec\udc80ret"])
    def test_invalid_password_from_a_callback_is_not_sent(
        self, connect: Connect, scripted: ScriptedServer, given: Any
    ) -> None:
        with pytest.raises(LoginRequired, match="no password"):
            connect(scripted.base, region="r", username="guest", password=lambda: given).login()
        assert scripted.logins == []

    def test_timeout_of_a_login_does_not_fail_later_requests(self, connect: Connect, scripted: ScriptedServer) -> None:
        scripted.opening = [Canned(200, headers=OPENED.headers, delay=1.5), OPENED]
        client = connect(scripted.base, region="r", username="guest", password="secret", timeout=1.0, deadline=1.2)
        first, second = run_concurrently(2, lambda: client.call("GetIt"))
        assert {type(first), type(second)} <= {ConnectionFailed, dict}
        assert client.call("GetIt") == {}

    def test_redirected_console_is_not_followed(self, client: Any, scripted: ScriptedServer) -> None:
        scripted.opening = [Canned(301, headers=[("Location", "https://elsewhere.example.com/api/")])]
        with pytest.raises(ProtocolError, match=r"redirects to https://elsewhere\.example\.com/api/"):
            client.login()

    @pytest.mark.parametrize("body", [b"<html>", b"[]", b'{"code": 200, "data": {"regions": 7, "monthDays": "x"}}'])
    def test_invalid_metadata_is_ignored(self, client: Any, scripted: ScriptedServer, body: bytes) -> None:
        scripted.opening, scripted.actions = [Canned(200, body, OPENED.headers)], [envelope([])]
        assert client.news() == []
        assert client.about().month_days is None


class TestLogout:
    @pytest.mark.parametrize("code", [200, 401, 404, 405])
    def test_logout_accepts_a_missing_session_or_path(self, client: Any, scripted: ScriptedServer, code: int) -> None:
        client.login()
        scripted.logout = [envelope({}, code=code)]
        client.logout()
        assert client.session is None

    def test_server_error_is_raised_but_the_session_is_dropped(self, client: Any, scripted: ScriptedServer) -> None:
        client.login()
        scripted.logout = [Canned(500)]
        with pytest.raises(ServerError):
            client.logout()
        assert client.session is None


class TestEnvelopes:
    @pytest.mark.parametrize(
        ("code", "error", "expected"),
        [(503, "not_found", ServerError), (400, "too_many_requests", RequestRefused), (401, "made_up", LoginRequired)],
    )
    def test_code_takes_precedence_over_the_error(
        self, client: Any, scripted: ScriptedServer, code: int, error: str, expected: type[ConsoleError]
    ) -> None:
        client.call("GetIt")
        scripted.actions = [envelope({}, code=code, error=error)]
        with pytest.raises(expected):
            client.call("DoIt" if code == 503 else "GetIt")

    def test_message_is_reduced_to_one_line(self, client: Any, scripted: ScriptedServer) -> None:
        scripted.actions = [Canned(200, b'{"code": 400, "message": "a\\n b\\u001b[2J", "data": {}}')]
        with pytest.raises(RequestRefused) as raised:
            client.call("GetIt")
        assert str(raised.value) == "a b [2J"

    def test_a_byte_order_mark_is_skipped(self, client: Any, scripted: ScriptedServer) -> None:
        scripted.actions = [Canned(200, b"\xef\xbb\xbf" + SUCCESS.body)]
        assert client.call("GetIt") == {"done": True}

    def test_action_cannot_be_overridden_by_a_field(self, client: Any, scripted: ScriptedServer) -> None:
        client.call("GetIt", action="Other")
        assert b"GetIt" in scripted.action_requests[0].body

    @pytest.mark.parametrize("value", [None, True, ["x"], 1.5])
    def test_form_accepts_only_strings_and_integers(
        self, connect: Connect, scripted: ScriptedServer, value: Any
    ) -> None:
        client = connect(scripted.base, region="r", username="guest", password="secret", send_as="form")
        with pytest.raises(TypeError, match="name must be str or int"):
            client.call("GetIt", name=value)

    @pytest.mark.parametrize("status", [200, 201, 404, 500])
    def test_code_takes_precedence_over_the_status(self, client: Any, scripted: ScriptedServer, status: int) -> None:
        scripted.actions = [envelope({"done": True}, code=200, status=status)]
        assert client.call("GetIt") == {"done": True}

    @pytest.mark.parametrize(
        ("response", "expected", "code"),
        [
            (envelope({}, code=404), NotFound, 404),
            (envelope({}, code=400), RequestRefused, 400),
            (envelope({}, code=1), RequestRefused, 1),
            (envelope({}, code=500), ServerError, 500),
            (Canned(404, b"<h1>Not Found</h1>"), NotFound, 404),
            (Canned(500), ServerError, 500),
            (Canned(413, b"too large"), RequestRefused, 413),
        ],
    )
    def test_failures_raise_the_matching_error(
        self, client: Any, scripted: ScriptedServer, response: Canned, expected: type[ConsoleError], code: int
    ) -> None:
        scripted.actions = [response]
        with pytest.raises(expected) as raised:
            client.call("GetIt")
        assert raised.value.code == code
        assert str(raised.value)

    @pytest.mark.parametrize(
        ("body", "field"),
        [
            (b"", "code"),
            (b"[1, 2]", "code"),
            (b"<html>", "code"),
            (b"\xff\xfe", "code"),
            (b"[" * 100_000, "code"),
            (b'{"code": "200", "data": {}}', "code"),
            (b'{"code": true, "data": {}}', "code"),
            (b'{"code": 200, "message": "no data"}', "data"),
        ],
    )
    def test_invalid_envelope_is_a_protocol_error(
        self, client: Any, scripted: ScriptedServer, body: bytes, field: str
    ) -> None:
        scripted.actions = [Canned(200, body, [("X-Request-ID", "r-1")])]
        with pytest.raises(ProtocolError) as raised:
            client.call("GetIt")
        assert raised.value.field == field
        assert raised.value.request_id == "r-1"
        assert raised.value.payload is not None


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
    def test_transient_failure_is_retried(self, client: Any, scripted: ScriptedServer, failure: Canned) -> None:
        scripted.actions = [failure, failure, SUCCESS]
        assert client.call("GetIt") == {"done": True}
        assert len(scripted.action_requests) == 3
        assert len(scripted.logins) == 1

    @pytest.mark.parametrize("step", ["opening", "login"])
    def test_login_steps_are_retried(self, client: Any, scripted: ScriptedServer, step: str) -> None:
        setattr(scripted, step, [BUSY, LOST, *getattr(scripted, step)])
        client.login()
        assert client.session.username == "guest"

    @pytest.mark.parametrize("failure", [LOST, Canned(502), Canned(504)])
    def test_modifying_action_is_not_retried(self, client: Any, scripted: ScriptedServer, failure: Canned) -> None:
        scripted.actions = [failure, SUCCESS]
        with pytest.raises((ConnectionFailed, ServerError)):
            client.call("DeleteIt")
        assert len(scripted.action_requests) == 1

    @pytest.mark.parametrize("status", [302, 303])
    def test_modifying_action_is_not_retried_after_a_redirect(
        self, client: Any, scripted: ScriptedServer, status: int
    ) -> None:
        client.call("GetIt")
        scripted.actions = [Canned(status, headers=[("Location", "/done/")]), SUCCESS]
        with pytest.raises(LoginRequired):
            client.call("DeleteIt")
        assert len(scripted.action_requests) == 2

    def test_modifying_action_is_retried_if_certainly_not_executed(self, client: Any, scripted: ScriptedServer) -> None:
        scripted.actions = [BUSY, SUCCESS]
        assert client.call("DeleteIt") == {"done": True}

    @pytest.mark.parametrize("code", [400, 404, 500, 501])
    def test_permanent_error_is_not_retried(self, client: Any, scripted: ScriptedServer, code: int) -> None:
        scripted.actions = [envelope({}, code=code, status=code), SUCCESS]
        with pytest.raises(ConsoleError):
            client.call("GetIt")
        assert len(scripted.action_requests) == 1

    @pytest.mark.parametrize(
        "header",
        ["60", "9" * 400, format_datetime(datetime.now(UTC) + timedelta(hours=1), usegmt=True), *IN_ANOTHER_ZONE],
        ids=["seconds", "many", "date", "zone"],
    )
    def test_retry_after_beyond_the_deadline_fails_at_once(
        self, client: Any, scripted: ScriptedServer, header: str
    ) -> None:
        scripted.actions = [envelope({}, code=429, status=429, headers=[("Retry-After", header)])]
        with pytest.raises(RateLimited) as raised:
            client.call("GetIt")
        assert (raised.value.retry_after or 0) >= 60
        assert len(scripted.action_requests) == 1

    def test_retry_after_is_honoured(self, client: Any, scripted: ScriptedServer) -> None:
        scripted.actions = [SUCCESS, envelope({}, code=503, status=503, headers=[("Retry-After", "1")]), SUCCESS]
        client.call("GetIt")
        started = time.monotonic()
        client.call("GetIt")
        assert time.monotonic() - started >= 1

    def test_last_error_is_raised_at_the_deadline(self, connect: Connect, scripted: ScriptedServer) -> None:
        scripted.actions = [Canned(503)]
        client = connect(scripted.base, region="r", username="guest", password="secret", deadline=0.6)
        with pytest.raises(ServerError):
            client.call("GetIt")
        assert len(scripted.action_requests) > 1


class TestConnections:
    def test_refused_connection_is_an_error(self, connect: Connect) -> None:
        with ScriptedServer() as gone:
            base = gone.base
        with pytest.raises(ConnectionFailed, match="cannot reach http://127"):
            connect(base, username="guest", password="secret", region="r", deadline=0.5).news()

    def test_missing_response_times_out(self, connect: Connect, scripted: ScriptedServer) -> None:
        def silence() -> Iterator[bytes]:
            time.sleep(1.5)
            yield b"{}"

        scripted.trickle = silence
        client = connect(scripted.base, region="r", username="guest", password="secret", timeout=0.3, deadline=0.5)
        with pytest.raises(ConnectionFailed, match="in time"):
            client.call("GetIt")

    @pytest.mark.parametrize("timeout", [0.5, 60.0])
    def test_endless_response_is_bounded_by_timeout_and_deadline(
        self, connect: Connect, scripted: ScriptedServer, timeout: float
    ) -> None:
        def drops() -> Iterator[bytes]:
            for _ in range(200):
                time.sleep(0.05)
                yield b" "

        scripted.trickle = drops
        client = connect(scripted.base, region="r", username="guest", password="secret", timeout=timeout, deadline=0.8)
        with pytest.raises(ConnectionFailed, match="in time"):
            client.call("GetIt")

    def test_waiting_for_a_concurrent_login_ends_at_the_deadline(
        self, connect: Connect, scripted: ScriptedServer
    ) -> None:
        client = connect(scripted.base, region="r", username="guest", password="secret", deadline=0.3)
        hold_login_lock(client)
        for call in (client.login, client.logout, lambda: client.call("GetIt")):
            with pytest.raises(ConnectionFailed, match="a concurrent login"):
                call()
        assert scripted.requests == []

    def test_oversized_response_is_rejected(
        self, client: Any, scripted: ScriptedServer, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(transport, "MAX_BYTES", 1 << 20)

        def flood() -> Iterator[bytes]:
            while True:
                yield b" " * 65536

        scripted.trickle = flood
        with pytest.raises(ProtocolError, match="larger than 1048576 bytes"):
            client.call("GetIt")

    def test_oversized_response_releases_its_connection(
        self, client: Any, scripted: ScriptedServer, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(transport, "MAX_BYTES", 1000)
        scripted.actions = [*[envelope("x" * 2000)] * 120, SUCCESS]
        errors = [error for _ in range(4) for error in run_concurrently(30, lambda: client.call("GetIt"))]
        assert {type(error) for error in errors} == {ProtocolError}
        assert client.call("GetIt") == {"done": True}

    def test_requests_wait_for_a_free_connection(self, client: Any, scripted: ScriptedServer) -> None:
        scripted.actions = [SUCCESS]
        assert run_concurrently(150, lambda: client.call("GetIt")) == [{"done": True}] * 150

    def test_error_contains_no_secret(self, client: Any, scripted: ScriptedServer) -> None:
        scripted.login = [Canned(500)]
        with pytest.raises(ServerError) as raised:
            client.login()
        details = f"{raised.value!r} {vars(raised.value)} {raised.value.__context__!r}"
        assert "secret" not in details
        assert "first" not in details

    def test_connection_error_does_not_reference_the_request(self, client: Any, scripted: ScriptedServer) -> None:
        scripted.login = [LOST]
        with pytest.raises(ConnectionFailed) as raised:
            client.login()
        assert raised.value.__cause__ is None
        assert raised.value.__context__ is None


@pytest.mark.parametrize(
    "base",
    [
        "",
        "console",
        "ftp://x",
        "http://",
        "http://u:p@x",
        "http://x?a=1",
        "http://x#a",
        "http://x:99999",
        "http://x:0",
        " http://x",
        "http://x\ny",
        "http://a..b",
        "http://[v1.x]",
    ],
)
def test_invalid_url_is_rejected(connect: Connect, base: str) -> None:
    with pytest.raises(ValueError, match="invalid console URL"):
        connect(base)


@pytest.mark.parametrize("seconds", [0, -1, float("nan"), float("inf"), 1e12])
@pytest.mark.parametrize("name", ["timeout", "deadline"])
def test_invalid_timeout_or_deadline_is_rejected(connect: Connect, name: str, seconds: float) -> None:
    with pytest.raises(ValueError, match=name):
        connect("http://x", **{name: seconds})


def hold_login_lock(client: Any) -> None:
    """Hold the login lock, as if another login never finished."""
    acquire = client._login_lock.acquire
    client._portal.call(acquire) if hasattr(client, "_portal") else acquire()


def test_a_console_under_a_path(connect: Connect, scripted: ScriptedServer) -> None:
    client = connect(f"{scripted.base}/console/", region="r", username="guest", password="secret")
    with pytest.raises(NotFound):
        client.login()
    assert scripted.requests[0].path == "/console/api/"
