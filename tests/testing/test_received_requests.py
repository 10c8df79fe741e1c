"""Filters and assertions of received requests."""

from datetime import UTC, datetime
from typing import Any

import pytest

from cloudconsole.testing import ReceivedRequest, ReceivedRequests


def received(call: str, **values: Any) -> ReceivedRequest:
    defaults: dict[str, Any] = {
        "time": datetime(2026, 1, 1, tzinfo=UTC),
        "method": "POST",
        "path": "/api/",
        "query": "",
        "headers": {},
        "fields": {"action": call},
        "body": "",
        "user": "demo",
        "status": 200,
        "error": None,
        "request_id": "r",
    }
    return ReceivedRequest(call=call, **{**defaults, **values})


WELCOME = received("welcome", method="GET", user=None, fields={})
NEWS = received("GetNews")
FAILED = received("GetNews", status=503, error="unavailable")
DOMAIN = received("GetDomainDetail", fields={"action": "GetDomainDetail", "domainId": "1"})
DROPPED = received("login", path="/auth/login/", status=None)
REQUESTS = ReceivedRequests([WELCOME, NEWS, FAILED, DOMAIN, DROPPED])


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({}, [WELCOME, NEWS, FAILED, DOMAIN, DROPPED]),
        ({"call": "GetNews"}, [NEWS, FAILED]),
        ({"call": "GetNews", "status": 200}, [NEWS]),
        ({"method": "GET"}, [WELCOME]),
        ({"path": "/auth/login/"}, [DROPPED]),
        ({"error": "unavailable"}, [FAILED]),
        ({"user": "demo", "method": "POST", "call": "GetDomainDetail"}, [DOMAIN]),
        ({"fields": {"domainId": "1"}}, [DOMAIN]),
        ({"fields": {"domainId": "2"}}, []),
    ],
)
def test_filter(filters: dict[str, Any], expected: list[ReceivedRequest]) -> None:
    assert list(REQUESTS.filter(**filters)) == expected


def test_unknown_filter_is_an_error() -> None:
    with pytest.raises(TypeError, match="action"):
        REQUESTS.assert_received(action="GetNews")


@pytest.mark.parametrize(
    ("filters", "error", "problem"),
    [
        ({"call": "GetNewz"}, ValueError, "call: 'GetNewz' is no action .*; did you mean 'GetNews'"),
        ({"call": "/"}, ValueError, "call: '/' is no action .*; known: GetUsageLimits, .*, welcome, login, "),
        ({"call": 5}, TypeError, "call must be a str"),
        ({"path": b"/api/"}, TypeError, "path must be a str"),
        ({"status": "200"}, TypeError, "status must be an int"),
        ({"status": True}, TypeError, "status must be an int"),
        ({"fields": ["domainId"]}, TypeError, "fields must be a mapping"),
    ],
)
def test_wrong_filter_is_an_error(filters: dict[str, Any], error: type[Exception], problem: str) -> None:
    with pytest.raises(error, match=problem):
        REQUESTS.assert_not_received(**filters)


def test_received_action_that_the_console_does_not_know_can_be_filtered() -> None:
    requests = ReceivedRequests([received("GetNewz")])
    assert requests.filter("GetNewz") == requests
    assert requests.filter("GetDomains") == ()


def test_last_matching_request_is_returned() -> None:
    assert REQUESTS.assert_received("GetNews") is FAILED
    assert REQUESTS.assert_received("GetNews", times=2) is FAILED
    REQUESTS.assert_not_received("GetFlavors")


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"call": "GetFlavors"}, "expected at least 1 of GetFlavors, received 0"),
        ({"call": "GetNews", "times": 1}, "expected 1 of GetNews, received 2"),
        ({"times": 3, "status": 503}, "expected 3 of status=503, received 1"),
    ],
)
def test_failed_assertion_lists_all_requests(arguments: dict[str, Any], expected: str) -> None:
    with pytest.raises(AssertionError) as raised:
        REQUESTS.assert_received(**arguments)
    assert str(raised.value) == "\n  ".join(
        (
            f"{expected}:",
            "welcome (GET /api/) -> 200",
            "GetNews (POST /api/) -> 200",
            "GetNews (POST /api/) -> 503 unavailable",
            "GetDomainDetail (POST /api/) {'domainId': '1'} -> 200",
            "login (POST /auth/login/) -> closed",
        )
    )


def test_failed_assertion_without_requests() -> None:
    with pytest.raises(AssertionError, match="expected at least 1 of any request, received 0; there were no requests"):
        ReceivedRequests().assert_received()


def test_unexpected_request_is_reported() -> None:
    with pytest.raises(AssertionError, match="expected none of GetNews status=503, received 1:"):
        REQUESTS.assert_not_received("GetNews", status=503)


def test_no_times_is_an_error() -> None:
    with pytest.raises(ValueError, match="assert_not_received"):
        REQUESTS.assert_received("GetNews", times=0)
    with pytest.raises(TypeError, match="times must be an int"):
        REQUESTS.assert_received("GetNews", times="1")  # type: ignore[arg-type]
