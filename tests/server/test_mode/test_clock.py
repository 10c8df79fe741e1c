"""The clock of test mode: everything that depends on time follows it; seeded random bytes."""

import os
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from cloudconsole.server.app import Console
from cloudconsole.server.config.settings import Settings
from cloudconsole.server.test_mode.clock import ControllableClock, SeededRandomSource, read_moment
from cloudconsole.testing import ConsoleServer
from tests.harness import ApiClient, FakeClock, InProcessTransport
from tests.server.test_mode.conftest import START, Control

MOMENT = 1_767_229_170.0
LAST_SECOND = "2026-04-15T12:59:59Z"
"""The end of the last hour in which one of the sample's servers costs anything."""


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The machine's clock, which only the test advances."""
    now = [2_000_000_000.0]
    monkeypatch.setattr(time, "time", lambda: now[0])
    return now


@pytest.mark.parametrize("fixed", [False, True])
@pytest.mark.parametrize("start", [None, MOMENT])
def test_clock_runs_from_its_start_unless_it_is_fixed(machine: list[float], start: float | None, fixed: bool) -> None:
    clock, started_at = ControllableClock(start, fixed=fixed), start or machine[0]
    machine[0] += 5
    assert (clock.now(), clock.is_fixed) == (started_at if fixed else started_at + 5, fixed)


def test_setting_the_clock_keeps_it_running_or_fixed(machine: list[float]) -> None:
    running, stopped = ControllableClock(), ControllableClock(fixed=True)
    for clock in (running, stopped):
        clock.set(MOMENT)
    machine[0] += 5
    assert (running.now(), stopped.now()) == (MOMENT + 5, MOMENT)


def test_fixed_clock_resumes_where_it_stopped(machine: list[float]) -> None:
    clock = ControllableClock(MOMENT)
    clock.fix()
    machine[0] += 5
    assert clock.now() == MOMENT
    clock.run()
    machine[0] += 5
    assert clock.now() == MOMENT + 5


@pytest.mark.parametrize("fixed", [False, True])
@pytest.mark.parametrize("start", [None, MOMENT])
def test_reset_restores_the_initial_clock(machine: list[float], start: float | None, fixed: bool) -> None:
    clock, started_at = ControllableClock(start, fixed=fixed), machine[0]
    clock.set(1.0)
    (clock.run if fixed else clock.fix)()
    machine[0] += 5
    clock.reset()
    expected = MOMENT if start else (started_at if fixed else machine[0])
    assert (clock.now(), clock.is_fixed) == (expected, fixed)


def test_time_without_offset_is_in_the_operators_zone() -> None:
    assert read_moment("2026-01-01T00:59:30", UTC) == MOMENT


def draw(source: SeededRandomSource) -> list[bytes]:
    return [source.token_bytes(24) for _ in range(3)]


def test_seed_determines_all_bytes_on_every_machine() -> None:
    assert SeededRandomSource("7").token_bytes(8).hex() == "eb6f99900b21c3f7"
    assert len({*draw(SeededRandomSource("a")), *draw(SeededRandomSource("b"))}) == 6


def test_seeded_bytes_restart_at_the_saved_position() -> None:
    source = SeededRandomSource("a")
    source.token_bytes(32)
    source.save_position()
    first = draw(source)
    source.restart()
    assert draw(source) == first


@pytest.fixture
def system_bytes(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """All bytes drawn from the system's random source."""
    drawn: list[bytes] = []
    real: Callable[[int], bytes] = os.urandom

    def record(size: int) -> bytes:
        drawn.append(real(size))
        return drawn[-1]

    monkeypatch.setattr(os, "urandom", record)
    return drawn


def test_unseeded_tokens_use_system_randomness(settings: Settings, clock: FakeClock, system_bytes: list[bytes]) -> None:
    transport = InProcessTransport(Console(settings, clock))
    client = ApiClient(transport)
    client.open()
    anonymous = client.cookies["sessionid"]
    assert client.login().status == 200
    transport.close()
    key, token, anonymous_bytes, session_bytes = system_bytes
    assert len(key) == 32
    assert client.token.startswith(token.hex())
    assert anonymous == "a" + anonymous_bytes.hex()
    assert client.cookies["sessionid"] == "s" + session_bytes.hex()


def clock_state(client: ApiClient) -> Any:
    return client.send("GET", "/_test/clock").data


def costs(client: ApiClient) -> Any:
    return client.call("GetConsumptionsEstimated").data


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
        *((body, "missing_field", "now") for body in (b"{}", b'{"now": null}')),
        *(
            (b'{"now": %b}' % moment, "invalid_field", "now")
            for moment in (b'"soon"', b"1767225600", b'"1970-12-31T23:59:59Z"', b'"9000-01-01T00:00:00Z"')
        ),
        (b'{"now": "2026-01-01T00:00:00Z", "advance": 1}', "invalid_field", "advance"),
        *(
            (b'{"advance": %b}' % seconds, "invalid_field", "advance")
            for seconds in (b'"1"', b"true", b"1e999", b"-2000000000", b"999999999999")
        ),
        (b'{"fixed": 1}', "invalid_field", "fixed"),
        (b'{"fixed": true, "when": "now"}', "invalid_field", "when"),
        *((body, "malformed_body", None) for body in (b"[]", b"", b'{"now": "\xff"}')),
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


def test_bills_follow_the_clock_over_the_end_of_a_month(console: ConsoleServer, client: ApiClient) -> None:
    console.set_clock("2026-10-31T23:59:59Z")
    assert client.login().status == 200

    def bills() -> dict[str, str]:
        return {bill["bill_month"]: bill["total"] for bill in client.call("GetBillingReportList4NearlyYear").data}

    before = bills()
    console.advance(1)
    after = bills()
    hour = sum(Decimal(cost["hour"]) for cost in costs(client))
    assert list(after) == [*list(before)[1:], "2026-11"]
    assert after["2026-10"] == before["2026-10"]
    assert Decimal(after["2026-11"]) == hour
    forecast = client.call("GetForecast").data
    assert (forecast["month"], forecast["hours_left"]) == ("2026-11", 719)
    assert Decimal(forecast["total"]) == hour * 720
    console.advance(-1)
    assert bills() == before
