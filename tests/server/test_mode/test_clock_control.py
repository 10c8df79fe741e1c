"""Moving the served clock: everything that reads time follows at once, forwards and back."""

from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Any

import pytest

from cloudconsole.testing import ConsoleServer
from tests.harness import Caller
from tests.server.test_mode.conftest import START, Control, costs

LAST_SECOND = "2026-04-15T12:59:59Z"
"""Of the last hour in which one of the sample's servers costs anything."""


def dates(caller: Caller) -> list[str]:
    return [item["date"] for item in caller.call("GetNews").data]


def told(visitor: Caller) -> Any:
    return visitor.send("GET", "/_test/clock").data


def test_the_console_begins_at_the_given_time_and_stands_there(visitor: Caller) -> None:
    assert told(visitor) == {"now": START, "fixed": True}


def test_it_goes_to_a_moment(desk: ConsoleServer) -> None:
    moment = datetime(2030, 6, 1, 12, tzinfo=UTC)
    assert desk.set_clock(moment) == moment
    assert desk.set_clock("2020-02-29T00:00:00+08:00") == datetime(2020, 2, 28, 16, tzinfo=UTC)


def test_it_advances_and_goes_back(desk: ConsoleServer) -> None:
    start = datetime.fromisoformat(START)
    assert desk.advance(timedelta(hours=2)) == start + timedelta(hours=2)
    assert desk.advance(-7200.5) == start - timedelta(seconds=1)


def test_it_runs_and_stands(desk: ConsoleServer, visitor: Caller) -> None:
    assert desk.run_clock() >= datetime.fromisoformat(START)
    assert not told(visitor)["fixed"]
    stands = desk.fix_clock()
    assert desk.now() == stands
    assert told(visitor)["fixed"]


def test_it_goes_to_a_moment_and_stands_there_in_one_step(control: Control) -> None:
    control("clock", b'{"fixed": false}')
    moved = control("clock", b'{"now": "2026-03-01T00:00:00Z", "fixed": true}')
    assert moved.data == {"now": "2026-03-01T00:00:00Z", "fixed": True}


def test_costs_change_with_the_hour_and_back(desk: ConsoleServer, visitor: Caller) -> None:
    desk.set_clock(LAST_SECOND)
    assert visitor.login().status == 200
    before = costs(visitor)
    desk.advance(1)
    after = costs(visitor)
    assert after != before
    desk.advance(-1)
    assert costs(visitor) == before
    desk.advance(1)
    assert costs(visitor) == after


def test_news_appear_when_their_time_comes_and_go_again(desk: ConsoleServer, demo: Caller) -> None:
    before = dates(demo)
    desk.set_clock("2026-01-20T08:00:00Z")
    # By then the session has long ended.
    assert demo.login().status == 200
    assert dates(demo) == ["2026-01-20 08:00:00", *before]
    desk.set_clock(START)
    assert dates(demo) == before


def test_a_session_ends_by_idle_time(desk: ConsoleServer, demo: Caller) -> None:
    desk.advance(1799)
    assert demo.call("GetUrlList").status == 200
    desk.advance(1799)
    assert demo.call("GetUrlList").status == 200
    desk.advance(1800)
    assert demo.call("GetUrlList").error == "login_required"


def test_a_session_ends_by_its_lifetime_and_lives_again_when_the_clock_goes_back(
    desk: ConsoleServer, demo: Caller
) -> None:
    desk.advance(43_200)
    assert demo.call("GetUrlList").error == "login_required"
    desk.set_clock(START)
    assert demo.call("GetUrlList").status == 200


def test_a_session_of_later_lives_on_when_the_clock_goes_back_and_idles_out_from_there(
    desk: ConsoleServer, visitor: Caller
) -> None:
    desk.advance(10_000)
    assert visitor.login().status == 200
    desk.advance(-9000)
    assert visitor.call("GetUrlList").status == 200
    desk.advance(1800)
    assert visitor.call("GetUrlList").error == "login_required"


def test_failed_logins_are_forgotten_when_their_time_has_passed(desk: ConsoleServer, visitor: Caller) -> None:
    for _ in range(10):
        assert visitor.login(password="wrong").error == "invalid_credentials"
    refused = visitor.login()
    assert refused.error == "too_many_requests"
    assert refused.header("Retry-After") == "60"
    desk.advance(300)
    assert visitor.login().status == 200


def test_and_when_the_clock_goes_back_before_it(desk: ConsoleServer, visitor: Caller) -> None:
    for _ in range(10):
        assert visitor.login(password="wrong").error == "invalid_credentials"
    desk.advance(-3600)
    assert visitor.login().status == 200


def test_the_token_cookie_expires_by_the_served_clock(desk: ConsoleServer, visitor: Caller) -> None:
    desk.set_clock("2027-01-01T00:00:00Z")
    cookie = visitor.open().set_cookies["csrftoken"]
    expires = parsedate_to_datetime(cookie.partition("Expires=")[2].partition(";")[0])
    assert expires == datetime(2027, 12, 31, tzinfo=UTC)


@pytest.mark.parametrize("moment", ["1971-01-01T00:00:00Z", "8999-12-31T23:59:59Z"])
def test_all_works_at_the_ends_of_time(desk: ConsoleServer, visitor: Caller, moment: str) -> None:
    desk.set_clock(moment)
    assert visitor.login().status == 200
    for action in ("GetConsumptionsEstimated", "GetNews", "GetUsageLimits"):
        assert visitor.call(action).status == 200


def test_a_moment_without_its_zone_is_not_sent(desk: ConsoleServer) -> None:
    with pytest.raises(ValueError, match="time zone"):
        desk.set_clock(datetime(2026, 1, 1))  # noqa: DTZ001


@pytest.mark.parametrize(
    ("body", "error", "field"),
    [
        (b"{}", "missing_field", "now"),
        (b'{"now": null}', "missing_field", "now"),
        (b'{"now": "soon"}', "invalid_field", "now"),
        (b'{"now": ""}', "invalid_field", "now"),
        (b'{"now": 1767225600}', "invalid_field", "now"),
        (b'{"now": "2026-02-30T00:00:00Z"}', "invalid_field", "now"),
        (b'{"now": "1970-12-31T23:59:59Z"}', "invalid_field", "now"),
        (b'{"now": "9000-01-01T00:00:00Z"}', "invalid_field", "now"),
        (b'{"now": "2026-01-01T00:00:00Z", "advance": 1}', "invalid_field", "advance"),
        (b'{"advance": "1"}', "invalid_field", "advance"),
        (b'{"advance": true}', "invalid_field", "advance"),
        (b'{"advance": 1e999}', "invalid_field", "advance"),
        (b'{"advance": -2000000000}', "invalid_field", "advance"),
        (b'{"advance": 999999999999}', "invalid_field", "advance"),
        (b'{"fixed": 1}', "invalid_field", "fixed"),
        (b'{"fixed": "true"}', "invalid_field", "fixed"),
        (b'{"fixed": true, "when": "now"}', "invalid_field", "when"),
        (b"[]", "malformed_body", None),
        (b"", "malformed_body", None),
        (b'{"now": "\xff"}', "malformed_body", None),
    ],
)
def test_what_cannot_be_done_is_refused_and_the_clock_left_alone(
    control: Control, visitor: Caller, body: bytes, error: str, field: str | None
) -> None:
    refused = control("clock", body)
    assert (refused.error, refused.envelope.get("field")) == (error, field)
    assert told(visitor) == {"now": START, "fixed": True}


def test_a_refusal_says_what_must_be_given_in_both_languages(control: Control) -> None:
    english = control("clock", b'{"now": "soon"}').envelope["message"]
    assert english == "The field 'now' must be a time, such as 2026-01-31T08:00:00Z."
    chinese = control("clock", b'{"now": "soon"}', Accept_Language="zh").envelope["message"]
    assert chinese == "字段“now”必须是一个可用的时间。"
