"""Fault injection: which requests are affected, what the client sees, and how often."""

import http.client
import json
import time
from contextlib import closing
from typing import Any

import pytest

from cloudconsole.spec.errors import ERRORS, ApiError
from cloudconsole.testing import ConsoleServer
from tests.e2e.processes import eventually
from tests.harness import ApiClient, HttpTransport
from tests.server.test_mode.conftest import Control


def inject(control: Control, **fields: Any) -> list[dict[str, Any]]:
    """Inject a fault and return all pending ones."""
    faults: list[dict[str, Any]] = control("fault", json.dumps(fields).encode()).data["faults"]
    return faults


@pytest.mark.parametrize("kind", ERRORS, ids=lambda kind: kind.error)
def test_every_error_can_be_injected(console: ConsoleServer, client: ApiClient, kind: type[ApiError]) -> None:
    console.fault(kind.error)
    reply = client.open()
    assert (reply.status, reply.error) == (kind.code, kind.error)
    assert "{" not in reply.envelope["message"]
    assert client.open().status == 200


def test_fault_affects_the_given_number_of_requests(console: ConsoleServer, client: ApiClient) -> None:
    console.fault("upstream_failed", times=3)
    seen = [(client.open().status, console.faults()) for _ in range(4)]
    left = [[{"left": number, "error": "upstream_failed"}] for number in (2, 1)]
    assert seen == [(502, left[0]), (502, left[1]), (502, []), (200, [])]


def test_fault_affects_every_api_request_by_default(console: ConsoleServer, demo: ApiClient) -> None:
    console.fault("internal_error", times=4)
    replies = [demo.open(), demo.call("GetUrlList"), demo.login(), demo.logout()]
    assert [reply.error for reply in replies] == ["internal_error"] * 4


@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/", "/docs/", "/openapi.json"])
def test_fault_does_not_affect_other_paths(console: ConsoleServer, client: ApiClient, path: str) -> None:
    console.fault("internal_error")
    assert client.send("GET", path).status == 200
    assert client.open().error == "internal_error"


@pytest.mark.parametrize("as_form", [False, True])
def test_fault_can_be_limited_to_one_action(console: ConsoleServer, demo: ApiClient, as_form: bool) -> None:
    console.fault("unavailable", call="GetDomainDetail")
    assert demo.call("GetNews", as_form=as_form).status == 200
    assert demo.open().status == 200
    assert demo.call("GetDomainDetail", as_form=as_form, domainId="206813").error == "unavailable"
    assert demo.call("GetDomainDetail", as_form=as_form, domainId="206813").data["domainId"] == "206813"


@pytest.mark.parametrize("call", ["login", "logout", "welcome"])
def test_fault_can_be_limited_to_one_operation(console: ConsoleServer, demo: ApiClient, call: str) -> None:
    console.fault("unavailable", call=call)
    operations = {"login": demo.login, "logout": demo.logout, "welcome": demo.open}
    assert demo.call("GetNews").status == 200
    assert operations[call]().error == "unavailable"


@pytest.mark.parametrize("body", [b"", b'{"action": 1}', b'{"action": "GetNewss"}', b"x" * 70_000])
def test_invalid_body_does_not_trigger_a_fault(console: ConsoleServer, demo: ApiClient, body: bytes) -> None:
    console.fault("unavailable", call="GetNews")
    headers = {"Content-Type": "application/json", "X-CSRFToken": demo.token}
    assert demo.send("POST", "/api/", headers, body).status in (400, 404, 413)
    assert demo.call("GetNews").error == "unavailable"


def test_faults_apply_in_the_order_of_injection(console: ConsoleServer, demo: ApiClient) -> None:
    console.fault("unavailable", call="login")
    console.fault("upstream_timeout")
    console.fault(status=418)
    assert demo.open().error == "upstream_timeout"
    assert demo.login().error == "unavailable"
    console.clear_faults()
    assert demo.open().status == 200


@pytest.mark.parametrize("status", [200, 304, 599])
def test_any_status_can_be_injected_without_an_envelope(console: ConsoleServer, client: ApiClient, status: int) -> None:
    console.fault(status=status, retry_after=9)
    reply = client.open()
    assert (reply.status, reply.body, reply.header("Retry-After")) == (status, b"", "9")
    assert reply.set_cookies == {}
    assert client.open().status == 200


@pytest.mark.parametrize("error", ["too_many_requests", "upstream_failed"])
def test_retry_after_can_be_set(console: ConsoleServer, client: ApiClient, error: str) -> None:
    console.fault(error, retry_after=0)
    assert client.open().header("Retry-After") == "0"


def test_dropped_connection_gets_no_response_and_others_stay_open(console: ConsoleServer, client: ApiClient) -> None:
    other = HttpTransport(console.address)
    assert other.send("GET", "/api/", []).status == 200
    console.fault(drop=True)
    with pytest.raises((http.client.RemoteDisconnected, ConnectionResetError)):
        client.open()
    assert other.send("GET", "/api/", []).status == 200
    assert client.open().status == 200
    other.close()


@pytest.mark.parametrize(("error", "status"), [(None, 200), ("unavailable", 503)])
def test_delay_precedes_the_response(console: ConsoleServer, client: ApiClient, error: str | None, status: int) -> None:
    console.fault(error, delay=0.1)
    started = time.monotonic()
    assert client.open().status == status
    assert time.monotonic() - started >= 0.1


def test_other_requests_are_served_during_a_delay(console: ConsoleServer, client: ApiClient) -> None:
    console.fault(delay=60, call="welcome")
    with closing(http.client.HTTPConnection(console.address.partition("//")[2], timeout=120)) as waiting:
        waiting.request("GET", "/api/")
        assert client.send("GET", "/healthz").status == 200


def test_reset_drops_delayed_requests(console: ConsoleServer) -> None:
    console.fault(delay=60, call="welcome")
    with closing(http.client.HTTPConnection(console.address.partition("//")[2], timeout=120)) as waiting:
        waiting.request("GET", "/api/")
        eventually(lambda: not console.faults())
        console.reset()
        with pytest.raises((http.client.RemoteDisconnected, ConnectionResetError)):
            waiting.getresponse()


def test_pending_faults_are_listed_and_can_be_cleared(control: Control) -> None:
    first = {"left": 2, "error": "unavailable"}
    assert inject(control, error="unavailable", times=2) == [first]
    assert inject(control, delay=1.5, call="login") == [first, {"left": 1, "call": "login", "delay": 1.5}]
    assert inject(control, clear=True, drop=True) == [{"left": 1, "drop": True}]
    assert inject(control, clear=True) == []


UNAVAILABLE = {"error": "unavailable"}
INVALID: dict[str, list[dict[str, Any]]] = {
    "error": [{"error": "no_such_error"}, {"error": ["unavailable"]}],
    "status": [{"status": 199}, {"status": 600}, {"status": True}, {**UNAVAILABLE, "status": 503}],
    "drop": [{"drop": "yes"}, {**UNAVAILABLE, "drop": True}],
    "delay": [{"delay": -1}, {"delay": 61}, {"delay": True}],
    "times": [{**UNAVAILABLE, "times": 0}, {**UNAVAILABLE, "times": 1_000_001}],
    "call": [{**UNAVAILABLE, "call": "GetNewss"}, {**UNAVAILABLE, "call": "healthz"}],
    "retryAfter": [*({**UNAVAILABLE, "retryAfter": wait} for wait in (-1, 3601)), {"drop": True, "retryAfter": 1}],
    "clear": [{**UNAVAILABLE, "clear": 1}],
    "time": [{**UNAVAILABLE, "time": 3}],
}


@pytest.mark.parametrize(
    ("fields", "error", "field"),
    [
        *((fields, "missing_field", "error") for fields in ({}, {"clear": False}, {"delay": 0})),
        *((fields, "invalid_field", field) for field, each in INVALID.items() for fields in each),
    ],
)
def test_invalid_fault_is_rejected_and_not_injected(
    control: Control, client: ApiClient, fields: dict[str, Any], error: str, field: str
) -> None:
    reply = control("fault", json.dumps(fields).encode())
    assert (reply.error, reply.envelope["field"]) == (error, field)
    assert client.open().status == 200


def test_invalid_fault_leaves_pending_faults_unchanged(control: Control) -> None:
    inject(control, error="unavailable")
    assert control("fault", b'{"clear": true, "error": "nonsense"}').error == "invalid_field"
    assert inject(control, drop=True) == [{"left": 1, "error": "unavailable"}, {"left": 1, "drop": True}]


def test_invalid_fault_raises_in_the_python_api(console: ConsoleServer) -> None:
    with pytest.raises(ValueError, match=r"^times must be a whole number from 1 to 1000000"):
        console.fault("unavailable", times=0)
    with pytest.raises(ValueError, match=r"^retry_after must be a whole number"):
        console.fault("unavailable", retry_after=-1)
