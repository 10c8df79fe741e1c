"""A console that differs from ours wherever the interface leaves a choice passes the interface profile only."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.conformance import session_mutations as sessions
from tests.conformance.conftest import FaultyServer, RunResult
from tests.conformance.faulty_console import Exchange, Fault
from tests.conformance.mutations import is_opening, respond_with
from tests.harness import FORM

EXPIRES = "; expires=Fri, 01-Jan-2100 00:00:00 GMT; path=/"
VIDEO = {"serviceAreas": "hk", "serviceType": "vod", "enabled": True, "status": "Waiting", "tags": ["not", "known"]}
EMPTY: dict[str, Any] = {"comment": "", "cacheBehaviors": [], "visitControlRules": [], "queryStringSettings": None}
ORIGIN = {"originIps": ["2001:db8::1"], "advOriginConfigs": None, "originDomainName": {"name": "o"}, "y": 1}
DATA: dict[str, Callable[[Any], Any]] = {
    "GetUsageLimits": lambda usage: {**dict.fromkeys(usage, -1), "maxTotalPorts": 5},
    "GetFlavors": lambda _: {
        "flavors": [{"id": "9", "name": "huge", "vcpus": 4, "ram": 8, "disk": 0, "gpu": None}],
        "configs": {"vcpus": [4, 2], "ram": [16, 8], "disk": [0]},
        "limits": {"4": [8], "2": []},
    },
    "GetDomainDetail": lambda domain: domain | VIDEO | EMPTY | {"originConfig": ORIGIN},
    "GetUrlList": lambda _: [{"url": "https://example.org/", "type": "Tor", "id": "url-0a1b2c3d"}],
    "GetNews": lambda _: [{"date": "2030-01-02 03:04:05", "url": "/n", "title": "", "author": "x"}],
    "GetConsumptionsEstimated": lambda _: [
        {"res_type": "volume", "hour": "0", "day": "1", "month": "31.0", "year": "365.250", "unit": "USD"},
        {"res_type": "image", "hour": "0.1", "day": "3", "month": "90", "year": "1"},
    ],
}


def change_request(exchange: Exchange) -> None:
    """Accept only forms; use the token and the session of the console behind."""
    if exchange.action and exchange.sent["content-type"] != FORM:
        exchange.body = b"{}"
    sessions.resolve_token(exchange)
    sessions.resolve_session(exchange)


def change_response(exchange: Exchange) -> None:
    """Send HTML at /api/, 302 and a new csrftoken at login, and HTTP 200 for errors; do not support logout."""
    sessions.rotate_token(exchange)
    sessions.keep_session(exchange)
    exchange.change_cookie("csrftoken", lambda line: line.partition(";")[0] + EXPIRES)
    exchange.change_cookie("sessionid", lambda line: line.partition(";")[0] + "; path=/; httponly")
    if is_opening(exchange):
        exchange.content = b"<h1>Hello</h1>"
        exchange.set_header("content-type", "text/html")
    elif exchange.is_login and exchange.status == 200:
        exchange.status = 302
    elif exchange.is_login:
        respond_with(200, b"<form>try again, %b</form>" % json.dumps(exchange.fields).encode(), "text/html")(exchange)
    elif (exchange.method, exchange.path) != ("POST", "/api/"):
        respond_with(404, b"<h1>404</h1>", "text/html")(exchange)
    elif exchange.status in (401, 403):
        respond_with(302)(exchange)
    elif exchange.is_success and exchange.action:
        data = DATA[exchange.action](exchange.envelope["data"])
        exchange.envelope = {"code": 200, "message": "成功", "data": data, "took": 0.3}
        exchange.set_header("content-type", "text/json")
    else:
        respond_with(200, json.dumps({"code": 422, "message": "参数错误"}).encode(), "text/json")(exchange)


@pytest.fixture(scope="module")
def run(faulty_server: FaultyServer) -> RunResult:
    return faulty_server.run_kit(Fault("third party", "", change_response, change_request), "all", other=None)


def test_third_party_console_passes_the_interface_profile(run: RunResult) -> None:
    assert {name: why for name, why in run.unpassed().items() if not name.startswith(("console.", "extensions."))} == {}


def test_choices_left_open_by_the_interface_are_reported(run: RunResult) -> None:
    assert run.results["forms.GetNews"].note == "form only"
    assert run.results["domain.enabled"].note == "a boolean"
    assert run.results["login.accepted"].note == "HTTP 302"
    assert run.results["errors.http-status"].note == "HTTP 200, code 422"
    assert run.results["urls.types"].note == 'besides the known ones: ["Tor"]'


def test_third_party_console_fails_the_extended_profile(run: RunResult) -> None:
    expected = {"console.welcome.data", "console.login.csrftoken-stays", "console.envelope.success"}
    assert expected <= run.failed("must")
