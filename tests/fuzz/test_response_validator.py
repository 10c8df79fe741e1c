"""The validator accepts valid responses and rejects all others."""

import json
from dataclasses import replace

import pytest
from fuzz.response_validator import ContractViolation, Request, ResponseValidator

from cloudconsole.server.openapi.document import build_document
from tests.harness import JSON, ApiClient, HeaderPairs, Reply

VALIDATOR = ResponseValidator(json.loads(json.dumps(build_document())))
NEWS = b'{"action": "GetNews"}'
CALL = Request("POST", "/api/", [("X-Request-ID", "mine-1")])


def news(demo: ApiClient) -> Reply:
    return demo.send("POST", "/api/", {"Content-Type": JSON, "X-CSRFToken": demo.token, **dict(CALL.headers)}, NEWS)


def with_headers(reply: Reply, name: str, value: str | None) -> Reply:
    others: HeaderPairs = [header for header in reply.headers if header[0] != name]
    return replace(reply, headers=others if value is None else [*others, (name, value)])


def violation(request: Request, reply: Reply) -> str:
    with pytest.raises(ContractViolation) as found:
        VALIDATOR.check(request, reply)
    return str(found.value)


def error_reply(like: Reply, status: int, error: str, **more: object) -> Reply:
    body = {"message": "No.", "code": status, "data": {}, "error": error, **more}
    return replace(like, status=status, body=json.dumps(body).encode())


def test_a_valid_response_passes(demo: ApiClient) -> None:
    VALIDATOR.check(CALL._replace(action="GetNews"), news(demo))


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
def test_a_wrong_header_is_rejected(demo: ApiClient, name: str, value: str | None) -> None:
    assert violation(CALL, with_headers(news(demo), name, value))


def test_data_of_another_action_is_rejected(demo: ApiClient) -> None:
    VALIDATOR.check(CALL, news(demo))
    assert "GetFlavors" in violation(CALL._replace(action="GetFlavors"), news(demo))


@pytest.mark.parametrize(
    "payload", [None, 1, [{"date": "today", "url": "u", "title": "t"}], [{"date": "2026-01-01 00:00:00"}], {"a": 1}]
)
def test_data_of_no_action_is_rejected(demo: ApiClient, payload: object) -> None:
    body = {"message": "News.", "code": 200, "data": payload}
    assert violation(CALL, replace(news(demo), body=json.dumps(body).encode()))
    with_more = json.dumps({**body, "data": [], "more": 1}).encode()
    assert "more" in violation(CALL, replace(news(demo), body=with_more))


@pytest.mark.parametrize(("status", "error"), [(400, "missing_field"), (403, "csrf_failed"), (502, "upstream_failed")])
def test_a_declared_error_passes(demo: ApiClient, status: int, error: str) -> None:
    VALIDATOR.check(CALL, error_reply(news(demo), status, error))


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (400, "unknown_region"),
        (401, "invalid_credentials"),
        (405, "method_not_allowed"),
        (404, "not_found"),
        (418, "x"),
        (404, "csrf_failed"),
    ],
)
def test_an_undeclared_error_is_rejected(demo: ApiClient, status: int, error: str) -> None:
    assert violation(CALL, error_reply(news(demo), status, error))


@pytest.mark.parametrize("more", [{"data": {"a": "b"}}, {"code": 401}, {"extra": 1}, {"field": None}, {"message": ""}])
def test_an_invalid_error_envelope_is_rejected(demo: ApiClient, more: dict[str, object]) -> None:
    assert violation(CALL, error_reply(news(demo), 400, "malformed_body", **more))


@pytest.mark.parametrize("value", [None, "soon", "0", "61"])
def test_an_invalid_retry_after_is_rejected(demo: ApiClient, value: str | None) -> None:
    unavailable = error_reply(news(demo), 503, "unavailable")
    VALIDATOR.check(CALL, with_headers(unavailable, "retry-after", "1"))
    assert "Retry-After" in violation(CALL, with_headers(unavailable, "retry-after", value))


def test_a_valid_call_is_only_rejected_for_an_unknown_domain(demo: ApiClient) -> None:
    reply = error_reply(news(demo), 404, "domain_not_found", field="domainId")
    VALIDATOR.check(CALL._replace(action="GetDomainDetail"), reply)
    for other in (reply, error_reply(news(demo), 400, "malformed_body")):
        assert violation(CALL._replace(action="GetNews"), other)


def test_a_traceback_is_rejected(demo: ApiClient) -> None:
    assert "traceback" in violation(CALL, replace(news(demo), body=b"Traceback (most recent call last)"))


def test_a_body_after_logout_is_rejected(demo: ApiClient) -> None:
    request = Request("POST", "/auth/logout/", [])
    valid = demo.logout()
    VALIDATOR.check(request, valid)
    assert violation(request, replace(valid, body=b"{}"))
    assert "Set-Cookie" in violation(request, with_headers(valid, "set-cookie", None))


def test_outside_of_the_operations_only_global_errors_pass(demo: ApiClient) -> None:
    request = Request("GET", "/nowhere", [])
    VALIDATOR.check(request, error_reply(news(demo), 404, "not_found"))
    assert violation(request, error_reply(news(demo), 401, "login_required"))
    assert "Allow" in violation(request, error_reply(news(demo), 405, "method_not_allowed"))
