"""The judge of answers lets good ones pass and finds whatever is wrong with others."""

import json
from dataclasses import replace

import pytest
from fuzz.judge import Finding, Judge, Sent

from cloudconsole.server.openapi.document import build_document
from tests.harness import JSON, Caller, HeaderPairs, Reply

JUDGE = Judge(json.loads(json.dumps(build_document())))
NEWS = b'{"action": "GetNews"}'
CALL = Sent("POST", "/api/", [("X-Request-ID", "mine-1")])


def news(demo: Caller) -> Reply:
    return demo.send("POST", "/api/", {"Content-Type": JSON, "X-CSRFToken": demo.token, **dict(CALL.headers)}, NEWS)


def with_headers(reply: Reply, change: str, value: str | None) -> Reply:
    kept: HeaderPairs = [header for header in reply.headers if header[0] != change]
    return replace(reply, headers=kept if value is None else [*kept, (change, value)])


def finding(sent: Sent, reply: Reply) -> str:
    with pytest.raises(Finding) as found:
        JUDGE.check(sent, reply)
    return str(found.value)


def refusal(like: Reply, status: int, error: str, **more: object) -> Reply:
    body = {"message": "No.", "code": status, "data": {}, "error": error, **more}
    return replace(like, status=status, body=json.dumps(body).encode())


def test_a_good_answer_passes(demo: Caller) -> None:
    JUDGE.check(CALL._replace(action="GetNews"), news(demo))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("x-request-id", None),
        ("x-request-id", "another"),
        ("x-request-id", "a b"),
        ("content-type", "text/plain"),
        ("cache-control", None),
        ("content-security-policy", None),
        ("x-content-type-options", None),
    ],
)
def test_a_wrong_header_is_found(demo: Caller, name: str, value: str | None) -> None:
    assert finding(CALL, with_headers(news(demo), name, value))


def test_data_of_another_action_is_found(demo: Caller) -> None:
    JUDGE.check(CALL, news(demo))
    assert "GetFlavors" in finding(CALL._replace(action="GetFlavors"), news(demo))


@pytest.mark.parametrize(
    "answered", [None, 1, [{"date": "today", "url": "u", "title": "t"}], [{"date": "2026-01-01 00:00:00"}], {"a": 1}]
)
def test_data_of_no_action_is_found(demo: Caller, answered: object) -> None:
    body = json.dumps({"message": "News.", "code": 200, "data": answered}).encode()
    assert finding(CALL, replace(news(demo), body=body))


def test_a_field_too_many_is_found(demo: Caller) -> None:
    body = json.dumps({"message": "News.", "code": 200, "data": [], "more": 1}).encode()
    assert "more" in finding(CALL, replace(news(demo), body=body))


@pytest.mark.parametrize(("status", "error"), [(400, "missing_field"), (403, "csrf_failed"), (502, "upstream_failed")])
def test_a_declared_refusal_passes(demo: Caller, status: int, error: str) -> None:
    JUDGE.check(CALL, refusal(news(demo), status, error))


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (400, "unknown_region"),
        (401, "invalid_credentials"),
        (405, "method_not_allowed"),
        (404, "not_found"),
        (418, "x"),
    ],
)
def test_a_refusal_that_is_not_declared_is_found(demo: Caller, status: int, error: str) -> None:
    assert finding(CALL, refusal(news(demo), status, error))


def test_a_refusal_with_another_status_than_its_own_is_found(demo: Caller) -> None:
    assert finding(CALL, refusal(news(demo), 404, "csrf_failed"))


@pytest.mark.parametrize("more", [{"data": {"a": "b"}}, {"code": 401}, {"extra": 1}, {"field": None}, {"message": ""}])
def test_a_refusal_of_another_shape_is_found(demo: Caller, more: dict[str, object]) -> None:
    assert finding(CALL, refusal(news(demo), 400, "malformed_body", **more))


@pytest.mark.parametrize("value", [None, "soon", "0", "61"])
def test_a_refusal_without_a_good_retry_after_is_found(demo: Caller, value: str | None) -> None:
    unavailable = refusal(news(demo), 503, "unavailable")
    JUDGE.check(CALL, with_headers(unavailable, "retry-after", "1"))
    assert "Retry-After" in finding(CALL, with_headers(unavailable, "retry-after", value))


def test_a_good_call_that_is_refused_is_found(demo: Caller) -> None:
    reply = refusal(news(demo), 400, "malformed_body")
    assert "GetNews" in finding(CALL._replace(action="GetNews"), reply)


def test_a_good_call_may_ask_for_what_there_is_not(demo: Caller) -> None:
    reply = refusal(news(demo), 404, "domain_not_found", field="domainId")
    JUDGE.check(CALL._replace(action="GetDomainDetail"), reply)
    assert finding(CALL._replace(action="GetNews"), reply)


def test_a_traceback_is_found(demo: Caller) -> None:
    assert "traceback" in finding(CALL, replace(news(demo), body=b"Traceback (most recent call last)"))


def test_a_body_after_logout_is_found(demo: Caller) -> None:
    sent = Sent("POST", "/auth/logout/", [])
    good = demo.logout()
    JUDGE.check(sent, good)
    assert finding(sent, replace(good, body=b"{}"))
    assert "Set-Cookie" in finding(sent, with_headers(good, "set-cookie", None))


def test_outside_of_the_operations_only_what_meets_anyone_passes(demo: Caller) -> None:
    sent = Sent("GET", "/nowhere", [])
    JUDGE.check(sent, refusal(news(demo), 404, "not_found"))
    assert finding(sent, refusal(news(demo), 401, "login_required"))
    assert "Allow" in finding(sent, refusal(news(demo), 405, "method_not_allowed"))
