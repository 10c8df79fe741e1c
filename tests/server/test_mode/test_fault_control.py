"""Failures to order: which calls they strike, what a caller then sees, and how often."""

import http.client
import json
import time
from contextlib import closing
from typing import Any

import pytest

from cloudconsole.server.test_mode.faults import CATALOGUE
from cloudconsole.spec.errors import ApiError
from cloudconsole.testing import ConsoleServer, ServerNotStarted
from tests.e2e.processes import eventually
from tests.harness import Caller, OverHttp
from tests.server.test_mode.conftest import Control


def order(control: Control, **fields: Any) -> list[dict[str, Any]]:
    """The faults that are to come once this one was asked for."""
    faults: list[dict[str, Any]] = control("fault", json.dumps(fields).encode()).data["faults"]
    return faults


@pytest.mark.parametrize("kind", ApiError.__subclasses__(), ids=lambda kind: kind.error)
def test_every_error_of_the_catalogue_can_be_ordered(
    desk: ConsoleServer, visitor: Caller, kind: type[ApiError]
) -> None:
    desk.fault(kind.error)
    refused = visitor.open()
    assert (refused.status, refused.error) == (kind.code, kind.error)
    assert "{" not in refused.envelope["message"]
    assert visitor.open().status == 200


def test_the_catalogue_has_every_error() -> None:
    assert set(CATALOGUE.values()) == set(ApiError.__subclasses__())


def test_it_strikes_so_many_calls_and_no_more(desk: ConsoleServer, visitor: Caller) -> None:
    desk.fault("upstream_failed", times=3)
    assert [visitor.open().status for _ in range(4)] == [502, 502, 502, 200]


def test_every_call_of_the_interface_is_struck_unless_one_is_named(desk: ConsoleServer, demo: Caller) -> None:
    desk.fault("internal_error", times=4)
    replies = [demo.open(), demo.call("GetUrlList"), demo.login(), demo.logout()]
    assert [reply.error for reply in replies] == ["internal_error"] * 4


@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/", "/docs/", "/openapi.json"])
def test_what_is_no_call_is_not(desk: ConsoleServer, visitor: Caller, path: str) -> None:
    desk.fault("internal_error")
    assert visitor.send("GET", path).status == 200
    assert visitor.open().error == "internal_error"


@pytest.mark.parametrize("as_form", [False, True])
def test_one_action_is_struck_and_the_others_are_not(desk: ConsoleServer, demo: Caller, as_form: bool) -> None:
    desk.fault("unavailable", call="GetDomainDetail")
    assert demo.call("GetNews", as_form=as_form).status == 200
    assert demo.open().status == 200
    assert demo.call("GetDomainDetail", as_form=as_form, domainId="206813").error == "unavailable"
    assert demo.call("GetDomainDetail", as_form=as_form, domainId="206813").data["domainId"] == "206813"


@pytest.mark.parametrize("call", ["login", "logout", "welcome"])
def test_one_other_call_is_struck(desk: ConsoleServer, demo: Caller, call: str) -> None:
    desk.fault("unavailable", call=call)
    calls = {"login": demo.login, "logout": demo.logout, "welcome": demo.open}
    assert demo.call("GetNews").status == 200
    assert calls[call]().error == "unavailable"


@pytest.mark.parametrize("body", [b"", b"[]", b'{"action": 1}', b"\xff", b'{"action": "GetNewss"}'])
def test_bodies_without_an_action_are_refused_as_ever(desk: ConsoleServer, demo: Caller, body: bytes) -> None:
    desk.fault("unavailable", call="GetNews")
    headers = {"Content-Type": "application/json", "X-CSRFToken": demo.token}
    assert demo.send("POST", "/api/", headers, body).status in (400, 404)
    assert demo.call("GetNews").error == "unavailable"


def test_a_body_that_is_too_large_is_refused_as_ever(desk: ConsoleServer, demo: Caller) -> None:
    desk.fault("unavailable", call="GetNews")
    assert demo.call("GetNews", more="x" * 70_000).error == "body_too_large"


def test_several_strike_in_the_order_of_asking(desk: ConsoleServer, demo: Caller) -> None:
    desk.fault("unavailable", call="login")
    desk.fault("upstream_timeout")
    desk.fault(status=418)
    assert demo.open().error == "upstream_timeout"
    assert demo.login().error == "unavailable"
    assert demo.open().status == 418


def test_a_bare_status_has_no_envelope(desk: ConsoleServer, visitor: Caller) -> None:
    desk.fault(status=503, retry_after=9)
    reply = visitor.open()
    assert (reply.status, reply.body, reply.header("Retry-After")) == (503, b"", "9")
    assert reply.set_cookies == {}


@pytest.mark.parametrize("status", [200, 204, 304, 599])
def test_any_status_can_be_ordered(desk: ConsoleServer, visitor: Caller, status: int) -> None:
    desk.fault(status=status)
    assert (visitor.open().status, visitor.open().status) == (status, 200)


@pytest.mark.parametrize("error", ["too_many_requests", "unavailable", "upstream_failed"])
def test_the_wait_can_be_chosen(desk: ConsoleServer, visitor: Caller, error: str) -> None:
    desk.fault(error, retry_after=0)
    assert visitor.open().header("Retry-After") == "0"


def test_a_dropped_connection_gives_no_answer(desk: ConsoleServer, visitor: Caller) -> None:
    desk.fault(drop=True)
    with pytest.raises((http.client.RemoteDisconnected, ConnectionResetError)):
        visitor.open()
    assert visitor.open().status == 200


def test_other_connections_stand_when_one_is_dropped(desk: ConsoleServer, visitor: Caller) -> None:
    other = OverHttp(desk.address)
    assert other.send("GET", "/api/", []).status == 200
    desk.fault(drop=True)
    with pytest.raises((http.client.RemoteDisconnected, ConnectionResetError)):
        visitor.open()
    assert other.send("GET", "/api/", []).status == 200
    other.close()


def test_a_delayed_call_is_answered_as_ever_but_later(desk: ConsoleServer, visitor: Caller) -> None:
    desk.fault(delay=0.3)
    started = time.monotonic()
    assert visitor.open().status == 200
    assert time.monotonic() - started >= 0.3


def test_a_delay_comes_before_an_error(desk: ConsoleServer, visitor: Caller) -> None:
    desk.fault("unavailable", delay=0.3)
    started = time.monotonic()
    assert visitor.open().error == "unavailable"
    assert time.monotonic() - started >= 0.3


def test_others_are_answered_during_a_delay(desk: ConsoleServer, visitor: Caller) -> None:
    desk.fault(delay=60, call="welcome")
    with closing(http.client.HTTPConnection(desk.address.partition("//")[2], timeout=30)) as waiting:
        waiting.request("GET", "/api/")
        assert visitor.send("GET", "/healthz").status == 200


def test_a_reset_drops_what_is_being_delayed(desk: ConsoleServer) -> None:
    desk.fault(delay=60, call="welcome")
    with closing(http.client.HTTPConnection(desk.address.partition("//")[2], timeout=30)) as waiting:
        waiting.request("GET", "/api/")
        eventually(lambda: not desk.faults())
        desk.reset()
        with pytest.raises((http.client.RemoteDisconnected, ConnectionResetError)):
            waiting.getresponse()


def test_what_is_to_come_is_told_and_can_be_cleared(control: Control, visitor: Caller) -> None:
    assert order(control, error="unavailable", times=2) == [{"left": 2, "error": "unavailable"}]
    assert order(control, delay=1.5, call="login") == [
        {"left": 2, "error": "unavailable"},
        {"left": 1, "call": "login", "delay": 1.5},
    ]
    assert order(control, clear=True) == []
    assert visitor.open().status == 200


def test_those_that_are_left_are_told(desk: ConsoleServer, visitor: Caller) -> None:
    desk.fault("unavailable", times=3)
    visitor.open()
    assert desk.faults() == [{"left": 2, "error": "unavailable"}]
    desk.clear_faults()
    assert desk.faults() == []


def test_clearing_and_asking_in_one_step(control: Control) -> None:
    order(control, error="unavailable")
    assert order(control, clear=True, drop=True) == [{"left": 1, "drop": True}]


@pytest.mark.parametrize(
    ("fields", "error", "field"),
    [
        ({}, "missing_field", "error"),
        ({"times": 3}, "missing_field", "error"),
        ({"clear": False}, "missing_field", "error"),
        ({"drop": False}, "missing_field", "error"),
        ({"delay": 0}, "missing_field", "error"),
        ({"error": ""}, "invalid_field", "error"),
        ({"error": "no_such_error"}, "invalid_field", "error"),
        ({"error": 503}, "invalid_field", "error"),
        ({"error": ["unavailable"]}, "invalid_field", "error"),
        ({"status": 199}, "invalid_field", "status"),
        ({"status": 600}, "invalid_field", "status"),
        ({"status": "503"}, "invalid_field", "status"),
        ({"status": 503.0}, "invalid_field", "status"),
        ({"status": True}, "invalid_field", "status"),
        ({"drop": "yes"}, "invalid_field", "drop"),
        ({"delay": -1}, "invalid_field", "delay"),
        ({"delay": 61}, "invalid_field", "delay"),
        ({"delay": "1"}, "invalid_field", "delay"),
        ({"delay": True}, "invalid_field", "delay"),
        ({"error": "unavailable", "status": 503}, "invalid_field", "status"),
        ({"error": "unavailable", "drop": True}, "invalid_field", "drop"),
        ({"error": "unavailable", "times": 0}, "invalid_field", "times"),
        ({"error": "unavailable", "times": 1_000_001}, "invalid_field", "times"),
        ({"error": "unavailable", "times": 1.5}, "invalid_field", "times"),
        ({"error": "unavailable", "call": "GetNewss"}, "invalid_field", "call"),
        ({"error": "unavailable", "call": "healthz"}, "invalid_field", "call"),
        ({"error": "unavailable", "retryAfter": -1}, "invalid_field", "retryAfter"),
        ({"error": "unavailable", "retryAfter": 3601}, "invalid_field", "retryAfter"),
        ({"drop": True, "retryAfter": 1}, "invalid_field", "retryAfter"),
        ({"error": "unavailable", "clear": 1}, "invalid_field", "clear"),
        ({"error": "unavailable", "time": 3}, "invalid_field", "time"),
    ],
)
def test_what_cannot_be_done_is_refused_and_nothing_is_to_come(
    control: Control, visitor: Caller, fields: dict[str, Any], error: str, field: str
) -> None:
    refused = control("fault", json.dumps(fields).encode())
    assert (refused.error, refused.envelope["field"]) == (error, field)
    assert visitor.open().status == 200


def test_a_refusal_leaves_what_was_asked_before(control: Control) -> None:
    order(control, error="unavailable")
    assert control("fault", b'{"clear": true, "error": "nonsense"}').error == "invalid_field"
    assert order(control, drop=True) == [{"left": 1, "error": "unavailable"}, {"left": 1, "drop": True}]


def test_the_handle_tells_a_refusal(desk: ConsoleServer) -> None:
    with pytest.raises(ServerNotStarted, match="The field 'times' must be a whole number from 1 to 1000000"):
        desk.fault("unavailable", times=0)
