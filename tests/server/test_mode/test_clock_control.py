"""Moving the clock of a console: everything that depends on time follows at once, forward and back."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from cloudconsole.testing import ConsoleServer
from tests.harness import ApiClient
from tests.server.test_mode.conftest import START, Control, costs

LAST_SECOND = "2026-04-15T12:59:59Z"
"""The end of the last hour in which one of the sample's servers costs anything."""


def clock_state(client: ApiClient) -> Any:
    return client.send("GET", "/_test/clock").data


def test_clock_can_be_set_and_moved_forward_and_back(console: ConsoleServer) -> None:
    assert console.set_clock("2020-02-29T00:00:00+08:00") == datetime(2020, 2, 28, 16, tzinfo=UTC)
    moment = datetime(2030, 6, 1, 12, tzinfo=UTC)
    assert console.set_clock(moment) == moment
    assert console.advance(timedelta(hours=2)) == moment + timedelta(hours=2)
    assert console.advance(-7200.5) == moment - timedelta(seconds=1)


def test_clock_can_be_run_and_fixed(console: ConsoleServer, client: ApiClient) -> None:
    assert console.run_clock() >= datetime.fromisoformat(START)
    assert not clock_state(client)["fixed"]
    stopped_at = console.fix_clock()
    assert console.now() == stopped_at
    assert clock_state(client)["fixed"]


def test_clock_can_be_set_and_fixed_in_one_request(control: Control) -> None:
    control("clock", b'{"fixed": false}')
    moved = control("clock", b'{"now": "2026-03-01T00:00:00Z", "fixed": true}')
    assert moved.data == {"now": "2026-03-01T00:00:00Z", "fixed": True}


def test_costs_follow_the_clock_forward_and_back(console: ConsoleServer, client: ApiClient) -> None:
    console.set_clock(LAST_SECOND)
    assert client.login().status == 200
    before = costs(client)
    console.advance(1)
    after = costs(client)
    assert after != before
    console.advance(-1)
    assert costs(client) == before
    console.advance(1)
    assert costs(client) == after


def test_expired_session_is_valid_again_when_the_clock_goes_back(console: ConsoleServer, demo: ApiClient) -> None:
    console.advance(43_200)
    assert demo.call("GetUrlList").error == "login_required"
    console.set_clock(START)
    assert demo.call("GetUrlList").status == 200


def test_session_survives_when_the_clock_goes_back_before_it(console: ConsoleServer, client: ApiClient) -> None:
    console.advance(10_000)
    assert client.login().status == 200
    console.advance(-9000)
    assert client.call("GetUrlList").status == 200
    console.advance(1800)
    assert client.call("GetUrlList").error == "login_required"


def test_failed_logins_count_only_in_their_window_of_the_clock(console: ConsoleServer, client: ApiClient) -> None:
    for _ in range(10):
        assert client.login(password="wrong").error == "invalid_credentials"
    assert client.login().error == "too_many_requests"
    console.advance(-3600)
    assert client.login(password="wrong").error == "invalid_credentials"
    console.advance(3600 + 300)
    assert client.login().status == 200


@pytest.mark.parametrize("moment", ["1971-01-01T00:00:00Z", "8999-12-31T23:59:59Z"])
def test_console_works_at_the_limits_of_the_clock(console: ConsoleServer, client: ApiClient, moment: str) -> None:
    console.set_clock(moment)
    assert client.login().status == 200
    for action in ("GetConsumptionsEstimated", "GetNews", "GetUsageLimits"):
        assert client.call(action).status == 200


def test_time_without_a_zone_is_not_sent(console: ConsoleServer) -> None:
    with pytest.raises(ValueError, match="time zone"):
        console.set_clock(datetime(2026, 1, 1))  # noqa: DTZ001


@pytest.mark.parametrize(
    ("body", "error", "field"),
    [
        (b"{}", "missing_field", "now"),
        (b'{"now": null}', "missing_field", "now"),
        (b'{"now": "soon"}', "invalid_field", "now"),
        (b'{"now": 1767225600}', "invalid_field", "now"),
        (b'{"now": "1970-12-31T23:59:59Z"}', "invalid_field", "now"),
        (b'{"now": "9000-01-01T00:00:00Z"}', "invalid_field", "now"),
        (b'{"now": "2026-01-01T00:00:00Z", "advance": 1}', "invalid_field", "advance"),
        (b'{"advance": "1"}', "invalid_field", "advance"),
        (b'{"advance": true}', "invalid_field", "advance"),
        (b'{"advance": 1e999}', "invalid_field", "advance"),
        (b'{"advance": -2000000000}', "invalid_field", "advance"),
        (b'{"advance": 999999999999}', "invalid_field", "advance"),
        (b'{"fixed": 1}', "invalid_field", "fixed"),
        (b'{"fixed": true, "when": "now"}', "invalid_field", "when"),
        (b"[]", "malformed_body", None),
        (b"", "malformed_body", None),
        (b'{"now": "\xff"}', "malformed_body", None),
    ],
)
def test_invalid_clock_request_is_rejected_and_changes_nothing(
    control: Control, client: ApiClient, body: bytes, error: str, field: str | None
) -> None:
    reply = control("clock", body)
    assert (reply.error, reply.envelope.get("field")) == (error, field)
    assert clock_state(client) == {"now": START, "fixed": True}


def test_clock_error_is_explained_in_both_languages(control: Control) -> None:
    english = control("clock", b'{"now": "soon"}').envelope["message"]
    assert english == "The field 'now' must be a time, such as 2026-01-31T08:00:00Z."
    chinese = control("clock", b'{"now": "soon"}', Accept_Language="zh").envelope["message"]
    assert chinese == "字段“now”必须是一个可用的时间。"
