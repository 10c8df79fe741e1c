"""Short fuzzing runs, reproducibility and reports."""

from pathlib import Path
from random import Random
from typing import Any

import pytest
from fuzz.report import INTRODUCTION, write_report
from fuzz.request_generator import RequestGenerator, Session
from fuzz.runner import fuzz

from cloudconsole.server.app import Console
from cloudconsole.server.openapi.document import build_document
from cloudconsole.spec.actions import ACTIONS
from cloudconsole.spec.errors import ApiError
from fuzz import runner

RARE = {"internal_error", "no_project", "upstream_failed", "upstream_timeout", "unavailable"}
"""Errors that a healthy console without a cloud backend does not return."""


def test_an_in_process_console_conforms_to_its_document() -> None:
    result = fuzz(2000, seed=3)
    assert result.failures == []
    assert result.requests >= 2000
    seen = {error for _, _, error in result.counts if error}
    assert {error.error for error in ApiError.__subclasses__()} - seen <= RARE | {"too_many_requests"}


def test_the_same_seed_generates_the_same_requests() -> None:
    sessions = [Session("s" * 49, "0" * 64)]
    generators = [RequestGenerator(Random(seed), build_document(), "http://127.0.0.1", sessions) for seed in (1, 1, 2)]
    first, same, other = ([generator.next() for _ in range(300)] for generator in generators)
    assert first == same
    assert first != other


def test_every_action_is_called_in_both_body_formats() -> None:
    generator = RequestGenerator(Random(5), build_document(), "http://127.0.0.1", [Session("s" * 49, "0" * 64)])
    calls = {
        (request.action, dict(request.headers)["Content-Type"])
        for request in (generator.valid_call() for _ in range(400))
    }
    assert {action for action, _ in calls} == {action.name for action in ACTIONS}
    assert len(calls) == 2 * len(ACTIONS)


@pytest.fixture
def broken(monkeypatch: pytest.MonkeyPatch) -> None:
    """A console that fails on every `HEAD`."""
    dispatch: Any = Console._dispatch

    async def fail(self: Console, request: Any) -> Any:
        if request.method == "HEAD":
            raise RuntimeError("a bug")
        return await dispatch(self, request)

    monkeypatch.setattr(Console, "_dispatch", fail)


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
