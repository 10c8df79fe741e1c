"""The short form of the fuzzing run, and the run itself: it repeats, it counts, and it tells what it found."""

from pathlib import Path
from random import Random
from typing import Any

import pytest
from fuzz.making import Maker, Session
from fuzz.report import PAGE, write_report
from fuzz.run import fuzz

from cloudconsole.server.app import Console
from cloudconsole.server.openapi.document import build_document
from cloudconsole.spec.actions import ACTIONS
from cloudconsole.spec.errors import ApiError
from fuzz import run

RARE = {"internal_error", "no_project", "upstream_failed", "upstream_timeout", "unavailable"}
"""What a healthy console never answers, or none without a cloud behind it."""


def test_a_console_in_process_keeps_to_its_document() -> None:
    result = fuzz(4000, seed=3)
    assert result.findings == []
    assert result.requests >= 4000
    seen = {error for _, _, error in result.counts if error}
    assert {error.error for error in ApiError.__subclasses__()} - seen <= RARE | {"too_many_requests"}


def test_a_listening_console_keeps_to_its_document() -> None:
    result = fuzz(1000, seed=4, socket=True)
    assert result.findings == []
    assert result.requests >= 1000


def test_the_same_seed_makes_the_same_requests() -> None:
    sessions = [Session("s" * 49, "0" * 64)]
    makers = [Maker(Random(seed), build_document(), "http://127.0.0.1", sessions) for seed in (1, 1, 2)]
    first, same, other = ([maker.next() for _ in range(300)] for maker in makers)
    assert first == same
    assert first != other


def test_every_action_is_called_in_both_forms() -> None:
    maker = Maker(Random(5), build_document(), "http://127.0.0.1", [Session("s" * 49, "0" * 64)])
    calls = {(sent.action, dict(sent.headers)["Content-Type"]) for sent in (maker.good_call() for _ in range(400))}
    assert {action for action, _ in calls} == {action.name for action in ACTIONS}
    assert len(calls) == 2 * len(ACTIONS)


@pytest.fixture
def broken(monkeypatch: pytest.MonkeyPatch) -> None:
    """A console that fails at every `HEAD`, as a mistake of ours might make it."""
    dispatch: Any = Console._dispatch

    async def fail(self: Console, request: Any, front: Any) -> Any:
        if request.method == "HEAD":
            raise RuntimeError("a mistake")
        return await dispatch(self, request, front)

    monkeypatch.setattr(Console, "_dispatch", fail)


def test_a_finding_is_told_with_its_request_and_how_to_repeat_it(broken: None, tmp_path: Path) -> None:
    result = fuzz(400, seed=6)
    assert result.findings
    summary = result.summary()
    assert "HEAD /api/" in summary
    assert f"Again: python -m fuzz.run --requests {result.requests} --seed 6\n" in summary
    write_report(result, tmp_path / "fuzzing.md")
    written = (tmp_path / "fuzzing.md").read_text()
    assert f"Findings: {len(result.findings)}\n" in written
    assert result.findings[0] in written


def test_a_run_of_fewer_than_a_million_leaves_the_record_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    record = tmp_path / "fuzzing.md"
    record.write_text("a million")
    assert run.main(["--requests", "50", "--seed", "7", "--record", str(record)]) == 0
    assert record.read_text() == "a million"
    assert f"{record} stays as it is" in capsys.readouterr().out


def test_a_whole_run_is_recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "WHOLE", 50)
    assert run.main(["--requests", "50", "--seed", "7", "--record", str(tmp_path / "fuzzing.md")]) == 0
    assert "50 requests to a console in one process, seed 7" in (tmp_path / "fuzzing.md").read_text()


def test_the_document_begins_as_the_next_record_would() -> None:
    document = Path(__file__).parents[2] / "docs/internals/fuzzing.md"
    assert document.read_text().startswith(PAGE)
