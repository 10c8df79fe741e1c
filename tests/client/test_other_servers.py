"""Consoles that are not ours: other logins, other statuses, faults under way, and answers that are none."""

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
from tests.client.scripted_server import LOGGED_IN, LOST, WELCOME, Canned, ScriptedServer, envelope
from tests.client.sync_async import together

pytestmark = pytest.mark.long

IN_ANOTHER_ZONE = [format_datetime((datetime.now(UTC) + timedelta(hours=1)).astimezone(timezone(timedelta(hours=8))))]
DONE = envelope({"done": True})
BUSY = envelope({}, code=503, status=503, headers=[("Retry-After", "0")])


class TestLogin:
    @pytest.mark.parametrize(
        "answer",
        [
            Canned(302, headers=[("Location", "/"), *LOGGED_IN.headers]),
            Canned(204, headers=LOGGED_IN.headers),
            Canned(200, b"<html>Welcome!</html>", LOGGED_IN.headers),
            envelope({}, headers=LOGGED_IN.headers),
        ],
    )
    def test_any_2xx_and_302_are_success(self, guest: Any, other: ScriptedServer, answer: Canned) -> None:
        other.login, other.actions = [answer], [DONE]
        assert guest.call("GetIt") == {"done": True}
        assert other.calls[0].cookies["sessionid"] == "guest"

    @pytest.mark.parametrize(
        ("answer", "expected"),
        [
            (Canned(401), InvalidCredentials),
            (envelope({}, code=401), InvalidCredentials),
            (Canned(403, b"<h1>CSRF</h1>"), CsrfFailed),
            (envelope({}, code=403, status=403, error="no_project"), RequestRefused),
            (Canned(400), RequestRefused),
            (Canned(500), ServerError),
        ],
    )
    def test_what_is_refused(
        self, guest: Any, other: ScriptedServer, answer: Canned, expected: type[ConsoleError]
    ) -> None:
        other.login = [answer]
        with pytest.raises(expected):
            guest.call("GetIt")
        assert len(other.logins) == 1
        assert other.calls == []

    @pytest.mark.parametrize(
        "answer", [envelope({}, code=401), Canned(401), Canned(302, headers=[("Location", "/login")])]
    )
    def test_where_wrong_credentials_get_a_200_the_first_action_tells(
        self, guest: Any, other: ScriptedServer, answer: Canned
    ) -> None:
        other.login, other.actions = [Canned(200, b"<html>Wrong!</html>")], [answer]
        with pytest.raises(InvalidCredentials):
            guest.call("GetIt")
        assert len(other.logins) == 1

    def test_and_it_tells_all_who_came_together(self, guest: Any, other: ScriptedServer) -> None:
        other.login, other.actions = [Canned(200)], [Canned(401)]
        refusals = together(20, lambda: guest.call("GetIt"))
        assert {type(refusal) for refusal in refusals} == {InvalidCredentials}
        assert len(other.logins) < 5

    def test_a_token_changed_at_login_is_used_from_then_on(self, guest: Any, other: ScriptedServer) -> None:
        other.login = [Canned(200, headers=[*LOGGED_IN.headers, ("Set-Cookie", "csrftoken=second; Path=/")])]
        guest.call("GetIt")
        assert other.logins[0].form["csrfmiddlewaretoken"] == "first"
        assert other.calls[0].headers["X-CSRFToken"] == other.calls[0].cookies["csrftoken"] == "second"

    def test_the_form_has_the_four_fields(self, guest: Any, other: ScriptedServer) -> None:
        guest.login()
        assert other.logins[0].form == {
            "csrfmiddlewaretoken": "first",
            "username": "guest",
            "password": "secret",
            "region": "http://id/v3",
        }

    def test_an_ended_session_is_renewed_once_and_the_call_repeated(self, guest: Any, other: ScriptedServer) -> None:
        other.actions = [DONE, envelope({}, code=401), DONE]
        guest.call("GetIt")
        assert guest.call("GetIt") == {"done": True}
        assert len(other.logins) == 2

    def test_a_session_that_ends_again_and_again_is_no_endless_loop(self, guest: Any, other: ScriptedServer) -> None:
        other.actions = [DONE, *[envelope({}, code=401, error="login_required")] * 9]
        guest.call("GetIt")
        with pytest.raises(LoginRequired):
            guest.call("GetIt")
        assert len(other.logins) == 2

    def test_a_token_that_is_never_taken_is_no_endless_loop(self, guest: Any, other: ScriptedServer) -> None:
        other.actions = [Canned(403)]
        with pytest.raises(CsrfFailed):
            guest.call("GetIt")
        assert len(other.logins) == 1

    def test_without_a_logout_path_the_session_is_forgotten_here(self, guest: Any) -> None:
        guest.login()
        guest.logout()
        assert guest.session is None

    @pytest.mark.parametrize("regions", [["http://a/v3", "http://b/v3"], []])
    def test_a_region_is_needed_where_there_is_not_exactly_one(
        self, connect: Connect, other: ScriptedServer, regions: list[str]
    ) -> None:
        other.opening = [envelope({"regions": regions}, headers=WELCOME.headers)]
        with pytest.raises(RegionRequired) as refused:
            connect(other.base, username="guest", password="secret").call("GetIt")
        assert refused.value.regions == tuple(regions)
        assert other.logins == []

    def test_without_a_csrftoken_there_is_no_login(self, guest: Any, other: ScriptedServer) -> None:
        other.opening = [Canned(200)]
        with pytest.raises(ProtocolError, match="csrftoken"):
            guest.call("GetIt")
        assert other.logins == []

    @pytest.mark.parametrize("status", [301, 307, 308])
    def test_a_login_that_has_moved_is_no_success(self, guest: Any, other: ScriptedServer, status: int) -> None:
        other.login = [Canned(status, headers=[("Location", "/elsewhere/")])]
        with pytest.raises(ProtocolError, match="redirects to /elsewhere/"):
            guest.login()

    @pytest.mark.parametrize("status", [302, 401, 403, 405])
    def test_an_opening_that_sets_the_cookies_is_good_whatever_it_says(
        self, guest: Any, other: ScriptedServer, status: int
    ) -> None:
        other.opening = [Canned(status, headers=WELCOME.headers)]
        guest.login()
        assert guest.session.region == "http://id/v3"

    def test_a_kept_session_that_is_over_is_renewed(self, guest: Any, connect: Connect, other: ScriptedServer) -> None:
        guest.login()
        other.actions = [envelope({}, code=401), DONE]
        again = connect(other.base, password="secret", session=guest.session)
        assert again.call("GetIt") == {"done": True}

    def test_a_session_is_renewed_also_after_a_logout_and_a_new_login(self, guest: Any, other: ScriptedServer) -> None:
        guest.login()
        guest.logout()
        guest.login()
        other.actions = [DONE, envelope({}, code=401), DONE]
        guest.call("GetIt")
        assert guest.call("GetIt") == {"done": True}

    def test_after_wrong_credentials_the_next_call_tries_again(self, guest: Any, other: ScriptedServer) -> None:
        other.actions = [Canned(401), DONE]
        with pytest.raises(InvalidCredentials):
            guest.call("GetIt")
        assert guest.call("GetIt") == {"done": True}
        assert len(other.logins) == 2

    def test_posts_say_where_they_come_from(self, guest: Any, other: ScriptedServer) -> None:
        guest.call("GetIt")
        assert {seen.headers["Referer"] for seen in other.seen if seen.method == "POST"} == {f"{other.base}/api/"}

    def test_a_password_that_cannot_be_sent_is_not_told(self, connect: Connect, other: ScriptedServer) -> None:
        with pytest.raises(ValueError, match="the password cannot be encoded") as refused:
            connect(other.base, username="guest", password="sec\udc80ret")
        assert "sec" not in f"{refused.value!r} {refused.value.__context__!r}"

    @pytest.mark.parametrize("given", [None, "sec\udc80ret"])
    def test_nor_one_that_a_function_gives(self, connect: Connect, other: ScriptedServer, given: Any) -> None:
        with pytest.raises(LoginRequired, match="no password"):
            connect(other.base, region="r", username="guest", password=lambda: given).login()
        assert other.logins == []

    def test_one_callers_short_time_is_no_answer_for_another(self, connect: Connect, other: ScriptedServer) -> None:
        other.opening = [Canned(200, headers=WELCOME.headers, delay=1.5), WELCOME]
        guest = connect(other.base, region="r", username="guest", password="secret", timeout=1.0, deadline=1.2)
        first, second = together(2, lambda: guest.call("GetIt"))
        assert {type(first), type(second)} <= {ConnectionFailed, dict}
        assert guest.call("GetIt") == {}

    def test_a_console_that_has_moved_is_not_followed(self, guest: Any, other: ScriptedServer) -> None:
        other.opening = [Canned(301, headers=[("Location", "https://elsewhere.example.com/api/")])]
        with pytest.raises(ProtocolError, match=r"redirects to https://elsewhere\.example\.com/api/"):
            guest.login()

    @pytest.mark.parametrize("welcome", [b"<html>", b"[]", b'{"code": 200, "data": {"regions": 7, "monthDays": "x"}}'])
    def test_whatever_it_says_of_itself_is_no_obstacle(self, guest: Any, other: ScriptedServer, welcome: bytes) -> None:
        other.opening, other.actions = [Canned(200, welcome, WELCOME.headers)], [envelope([])]
        assert guest.news() == []
        assert guest.about().month_days is None


class TestLogout:
    @pytest.mark.parametrize("code", [200, 401, 404, 405])
    def test_the_code_decides_here_too(self, guest: Any, other: ScriptedServer, code: int) -> None:
        guest.login()
        other.logout = [envelope({}, code=code)]
        guest.logout()
        assert guest.session is None

    def test_a_fault_is_told_but_the_session_is_forgotten(self, guest: Any, other: ScriptedServer) -> None:
        guest.login()
        other.logout = [Canned(500)]
        with pytest.raises(ServerError):
            guest.logout()
        assert guest.session is None


class TestMeaning:
    @pytest.mark.parametrize(
        ("code", "error", "expected"),
        [(503, "not_found", ServerError), (400, "too_many_requests", RequestRefused), (401, "made_up", LoginRequired)],
    )
    def test_the_code_decides_whatever_the_error(
        self, guest: Any, other: ScriptedServer, code: int, error: str, expected: type[ConsoleError]
    ) -> None:
        guest.call("GetIt")
        other.actions = [envelope({}, code=code, error=error)]
        with pytest.raises(expected):
            guest.call("DoIt" if code == 503 else "GetIt")

    def test_a_message_is_one_line(self, guest: Any, other: ScriptedServer) -> None:
        other.actions = [Canned(200, b'{"code": 400, "message": "a\\n b\\u001b[2J", "data": {}}')]
        with pytest.raises(RequestRefused) as refused:
            guest.call("GetIt")
        assert str(refused.value) == "a b [2J"

    def test_a_byte_order_mark_is_skipped(self, guest: Any, other: ScriptedServer) -> None:
        other.actions = [Canned(200, b"\xef\xbb\xbf" + DONE.body)]
        assert guest.call("GetIt") == {"done": True}

    def test_the_action_is_the_one_that_was_named(self, guest: Any, other: ScriptedServer) -> None:
        guest.call("GetIt", action="Other")
        assert b"GetIt" in other.calls[0].body

    @pytest.mark.parametrize("value", [None, True, ["x"], 1.5])
    def test_a_form_takes_text_and_whole_numbers_only(
        self, connect: Connect, other: ScriptedServer, value: Any
    ) -> None:
        guest = connect(other.base, region="r", username="guest", password="secret", send_as="form")
        with pytest.raises(TypeError, match="name must be str or int"):
            guest.call("GetIt", name=value)

    @pytest.mark.parametrize("status", [200, 201, 404, 500])
    def test_the_code_decides_whatever_the_status(self, guest: Any, other: ScriptedServer, status: int) -> None:
        other.actions = [envelope({"done": True}, code=200, status=status)]
        assert guest.call("GetIt") == {"done": True}

    @pytest.mark.parametrize(
        ("answer", "expected", "code"),
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
    def test_refusals(
        self, guest: Any, other: ScriptedServer, answer: Canned, expected: type[ConsoleError], code: int
    ) -> None:
        other.actions = [answer]
        with pytest.raises(expected) as refused:
            guest.call("GetIt")
        assert refused.value.code == code
        assert str(refused.value)

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
    def test_what_is_no_envelope(self, guest: Any, other: ScriptedServer, body: bytes, field: str) -> None:
        other.actions = [Canned(200, body, [("X-Request-ID", "r-1")])]
        with pytest.raises(ProtocolError) as refused:
            guest.call("GetIt")
        assert refused.value.field == field
        assert refused.value.request_id == "r-1"
        assert refused.value.payload is not None


class TestRepeating:
    @pytest.mark.parametrize(
        "trouble",
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
    def test_what_passes_is_repeated(self, guest: Any, other: ScriptedServer, trouble: Canned) -> None:
        other.actions = [trouble, trouble, DONE]
        assert guest.call("GetIt") == {"done": True}
        assert len(other.calls) == 3
        assert len(other.logins) == 1

    @pytest.mark.parametrize("step", ["opening", "login"])
    def test_so_are_the_steps_of_a_login(self, guest: Any, other: ScriptedServer, step: str) -> None:
        setattr(other, step, [BUSY, LOST, *getattr(other, step)])
        guest.login()
        assert guest.session.username == "guest"

    @pytest.mark.parametrize("trouble", [LOST, Canned(502), Canned(504)])
    def test_what_may_change_something_is_not(self, guest: Any, other: ScriptedServer, trouble: Canned) -> None:
        other.actions = [trouble, DONE]
        with pytest.raises((ConnectionFailed, ServerError)):
            guest.call("DeleteIt")
        assert len(other.calls) == 1

    @pytest.mark.parametrize("status", [302, 303])
    def test_nor_after_the_way_to_another_page(self, guest: Any, other: ScriptedServer, status: int) -> None:
        guest.call("GetIt")
        other.actions = [Canned(status, headers=[("Location", "/done/")]), DONE]
        with pytest.raises(LoginRequired):
            guest.call("DeleteIt")
        assert len(other.calls) == 2

    def test_unless_it_surely_was_not_done(self, guest: Any, other: ScriptedServer) -> None:
        other.actions = [BUSY, DONE]
        assert guest.call("DeleteIt") == {"done": True}

    @pytest.mark.parametrize("code", [400, 404, 500, 501])
    def test_what_does_not_pass_is_not(self, guest: Any, other: ScriptedServer, code: int) -> None:
        other.actions = [envelope({}, code=code, status=code), DONE]
        with pytest.raises(ConsoleError):
            guest.call("GetIt")
        assert len(other.calls) == 1

    @pytest.mark.parametrize(
        "header",
        ["60", "9" * 400, format_datetime(datetime.now(UTC) + timedelta(hours=1), usegmt=True), *IN_ANOTHER_ZONE],
        ids=["seconds", "many", "date", "zone"],
    )
    def test_a_longer_wait_than_there_is_time_for_is_told_at_once(
        self, guest: Any, other: ScriptedServer, header: str
    ) -> None:
        other.actions = [envelope({}, code=429, status=429, headers=[("Retry-After", header)])]
        with pytest.raises(RateLimited) as refused:
            guest.call("GetIt")
        assert (refused.value.retry_after or 0) >= 60
        assert len(other.calls) == 1

    def test_retry_after_is_waited_for(self, guest: Any, other: ScriptedServer) -> None:
        other.actions = [DONE, envelope({}, code=503, status=503, headers=[("Retry-After", "1")]), DONE]
        guest.call("GetIt")
        began = time.monotonic()
        guest.call("GetIt")
        assert time.monotonic() - began >= 1

    def test_it_ends_with_the_last_refusal(self, connect: Connect, other: ScriptedServer) -> None:
        other.actions = [Canned(503)]
        guest = connect(other.base, region="r", username="guest", password="secret", deadline=0.6)
        with pytest.raises(ServerError):
            guest.call("GetIt")
        assert len(other.calls) > 1


class TestConnections:
    def test_nobody_listens(self, connect: Connect) -> None:
        with ScriptedServer() as gone:
            base = gone.base
        with pytest.raises(ConnectionFailed, match="cannot reach http://127"):
            connect(base, username="guest", password="secret", region="r", deadline=0.5).news()

    def test_no_answer_in_time(self, connect: Connect, other: ScriptedServer) -> None:
        def silence() -> Iterator[bytes]:
            time.sleep(1.5)
            yield b"{}"

        other.trickle = silence
        guest = connect(other.base, region="r", username="guest", password="secret", timeout=0.3, deadline=0.5)
        with pytest.raises(ConnectionFailed, match="in time"):
            guest.call("GetIt")

    @pytest.mark.parametrize("timeout", [0.5, 60.0])
    def test_an_answer_that_never_ends_is_bounded_by_timeout_and_deadline(
        self, connect: Connect, other: ScriptedServer, timeout: float
    ) -> None:
        def drops() -> Iterator[bytes]:
            for _ in range(200):
                time.sleep(0.05)
                yield b" "

        other.trickle = drops
        guest = connect(other.base, region="r", username="guest", password="secret", timeout=timeout, deadline=0.8)
        with pytest.raises(ConnectionFailed, match="in time"):
            guest.call("GetIt")

    def test_whoever_waits_for_anothers_login_does_not_wait_longer_than_the_deadline(
        self, connect: Connect, other: ScriptedServer
    ) -> None:
        guest = connect(other.base, region="r", username="guest", password="secret", deadline=0.3)
        hold_turn(guest)
        for call in (guest.login, guest.logout, lambda: guest.call("GetIt")):
            with pytest.raises(ConnectionFailed, match="a concurrent login"):
                call()
        assert other.seen == []

    def test_an_answer_without_measure(
        self, guest: Any, other: ScriptedServer, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(transport, "MAX_BYTES", 1 << 20)

        def flood() -> Iterator[bytes]:
            while True:
                yield b" " * 65536

        other.trickle = flood
        with pytest.raises(ProtocolError, match="larger than 1048576 bytes"):
            guest.call("GetIt")

    def test_a_connection_is_free_again_after_it(
        self, guest: Any, other: ScriptedServer, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(transport, "MAX_BYTES", 1000)
        other.actions = [*[envelope("x" * 2000)] * 120, DONE]
        refusals = [refusal for _ in range(4) for refusal in together(30, lambda: guest.call("GetIt"))]
        assert {type(refusal) for refusal in refusals} == {ProtocolError}
        assert guest.call("GetIt") == {"done": True}

    def test_more_callers_than_connections_wait_for_one(self, guest: Any, other: ScriptedServer) -> None:
        other.actions = [DONE]
        assert together(150, lambda: guest.call("GetIt")) == [{"done": True}] * 150

    def test_no_secret_is_told(self, guest: Any, other: ScriptedServer) -> None:
        other.login = [Canned(500)]
        with pytest.raises(ServerError) as refused:
            guest.login()
        facts = f"{refused.value!r} {vars(refused.value)} {refused.value.__context__!r}"
        assert "secret" not in facts
        assert "first" not in facts

    def test_nor_is_the_request_held_by_what_failed(self, guest: Any, other: ScriptedServer) -> None:
        other.login = [LOST]
        with pytest.raises(ConnectionFailed) as refused:
            guest.login()
        assert refused.value.__cause__ is None
        assert refused.value.__context__ is None


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
def test_what_is_no_address(connect: Connect, base: str) -> None:
    with pytest.raises(ValueError, match="invalid console URL"):
        connect(base)


@pytest.mark.parametrize("seconds", [0, -1, float("nan"), float("inf"), 1e12])
@pytest.mark.parametrize("name", ["timeout", "deadline"])
def test_what_is_no_time(connect: Connect, name: str, seconds: float) -> None:
    with pytest.raises(ValueError, match=name):
        connect("http://x", **{name: seconds})


def hold_turn(guest: Any) -> None:
    """As if another caller were logging in, and never came to an end."""
    acquire = guest._login_lock.acquire
    guest._portal.call(acquire) if hasattr(guest, "_portal") else acquire()


def test_a_console_under_a_path(connect: Connect, other: ScriptedServer) -> None:
    guest = connect(f"{other.base}/console/", region="r", username="guest", password="secret")
    with pytest.raises(NotFound):
        guest.login()
    assert other.seen[0].path == "/console/api/"
