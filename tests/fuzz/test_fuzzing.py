"""Short fuzzing runs and their reports; the validator accepts valid responses and rejects all others."""

import asyncio
import json
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest
from fuzz.report import INTRODUCTION, write_report
from fuzz.request_generator import RequestGenerator, Session
from fuzz.response_validator import ContractViolation, Request, ResponseValidator
from fuzz.runner import fuzz
from fuzz.stream_splits import fuzz_streams

from cloudconsole.server.app import Console
from cloudconsole.server.http.connection import Connection
from cloudconsole.server.openapi.document import build_document
from cloudconsole.spec.actions import ACTIONS
from cloudconsole.spec.errors import ERRORS
from cloudconsole.spec.extensions import EXTENSIONS
from fuzz import runner
from tests.harness import JSON, ApiClient, HeaderPairs, Reply

RARE = {"internal_error", "no_project", "project_required", "upstream_failed", "upstream_timeout", "unavailable"}
"""Errors that a healthy console without a cloud backend does not return."""


def test_an_in_process_console_conforms_to_its_document() -> None:
    result = fuzz(2000, seed=2)
    assert result.failures == []
    assert result.requests >= result.streams == 2000
    seen = {error for _, _, error in result.counts if error}
    assert {error.error for error in ERRORS} - seen <= RARE | {"too_many_requests"}


def test_every_action_is_called_in_both_body_formats() -> None:
    generator = RequestGenerator(Random(5), build_document(), "http://127.0.0.1", [Session("s" * 49, "0" * 64)])
    calls = {
        (request.action, dict(request.headers)["Content-Type"])
        for request in (generator.valid_call() for _ in range(400))
    }
    assert {action for action, _ in calls} == {action.name for action in (*ACTIONS, *EXTENSIONS)}
    assert len(calls) == 2 * len((*ACTIONS, *EXTENSIONS))


@pytest.fixture
def broken(monkeypatch: pytest.MonkeyPatch) -> None:
    """A console that fails on every `HEAD`."""
    route: Any = Console._route

    def fail(self: Console, request: Any) -> Any:
        if request.method == "HEAD":
            raise RuntimeError("a bug")
        return route(self, request)

    monkeypatch.setattr(Console, "_route", fail)


def test_a_failure_is_reported_with_its_request_and_the_command_to_repeat_it(broken: None, tmp_path: Path) -> None:
    result = fuzz(50, seed=6)
    assert result.failures
    summary = result.summary()
    assert "HEAD /api/" in summary
    assert f"To repeat: python -m fuzz --requests {result.requests} --seed 6\n" in summary
    write_report(result, tmp_path / "fuzzing.md")
    written = (tmp_path / "fuzzing.md").read_text()
    assert f"Failures: {len(result.failures)}.\n" in written
    assert result.failures[0] in written


def test_a_stream_whose_pieces_get_other_responses_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    receive = Connection.data_received

    def lose_short_reads(self: Connection, data: bytes) -> None:
        if len(data) > 3:
            receive(self, data)

    monkeypatch.setattr(Connection, "data_received", lose_short_reads)
    failures = asyncio.run(fuzz_streams(200, seed=1, max_failures=2))
    assert [failure.startswith("stream ") for failure in failures] == [True, True]


def test_only_a_full_run_is_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    record = tmp_path / "fuzzing.md"
    arguments = ["--requests", "20", "--seed", "7", "--record", str(record)]
    assert runner.main(arguments) == 0
    assert not record.exists()
    assert f"{record} not updated" in capsys.readouterr().out
    monkeypatch.setattr(runner, "FULL_RUN", 20)
    assert runner.main(arguments) == 0
    assert "20 requests to an in-process console, seed 7" in record.read_text()


def test_the_document_has_the_current_introduction() -> None:
    document = Path(__file__).parents[2] / "docs/internals/fuzzing.md"
    assert document.read_text().startswith(INTRODUCTION)


# Validator


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
    VALIDATOR.check(CALL._replace(action="GetNews"), news(demo))
    assert "GetFlavors" in violation(CALL._replace(action="GetFlavors"), news(demo))


@pytest.mark.parametrize(
    "payload", [None, 1, [{"date": "today", "url": "u", "title": "t"}], [{"date": "2026-01-01 00:00:00"}], {"a": 1}]
)
def test_data_of_no_action_is_rejected(demo: ApiClient, payload: object) -> None:
    body = {"message": "News.", "code": 200, "data": payload}
    assert violation(CALL, replace(news(demo), body=json.dumps(body).encode()))
    with_more = json.dumps({**body, "data": [], "more": 1}).encode()
    assert "more" in violation(CALL, replace(news(demo), body=with_more))


@pytest.mark.parametrize(
    ("status", "error"), [(400, "unknown_region"), (404, "not_found"), (418, "x"), (404, "csrf_failed")]
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
