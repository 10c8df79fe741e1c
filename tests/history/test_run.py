"""A short history of real servers, and the command that makes, keeps and checks histories."""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from history.checker import Checked, Finding, check
from history.cloud import Cloud
from history.deployment import DEPLOYMENTS
from history.faults import Breakage
from history.operators import Operators
from history.plan import Change
from history.recording import Call, Quiet, Recording, RecordingError, Stored, Write, load
from history.report import PAGE, Result, write_report
from history.running import Round, record

from history import run, running
from tests.e2e.processes import eventually
from tests.history.story import QUOTA, Story, limited
from tests.history.test_floor import ENOUGH
from tests.history.warm import Warm

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Recording]:
    cloud = Cloud(2)
    with Warm(tmp_path_factory.mktemp("history"), cloud) as deployed:
        yield asyncio.run(record(Round(1, 300, 4, cloud), deployed))


def test_a_history_of_real_servers_could_have_been_so(recording: Recording) -> None:
    checked = check(recording)
    assert checked.findings == []
    assert checked.counts.total() >= 300
    seen = {what for what, _ in checked.counts}
    assert {"login", "logout", "GetNews", "login at the pages", "operators' page"} <= seen
    assert {"quota change", "resource add"} <= {what.removesuffix(" at the pages") for what in seen}


def test_at_its_end_nothing_is_broken_and_the_store_is_asked(recording: Recording) -> None:
    assert isinstance(recording.operations[-1], Stored)
    (quiet,) = (operation for operation in recording.operations if isinstance(operation, Quiet))
    assert all(operation.end <= quiet.begin for operation in recording.operations if isinstance(operation, Write))


def test_had_one_change_not_been_made_it_would_have_been_found_out(recording: Recording) -> None:
    """The checker can fail: on a real history, too, of which one acknowledged change is taken away."""
    last = {operation.register: operation for operation in recording.operations if isinstance(operation, Write)}
    assert last
    for change in last.values():
        others = [operation for operation in recording.operations if operation is not change]
        assert check(Recording(recording.beginning, others)).findings, change


def test_a_kept_recording_is_checked_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    story, file = Story(), tmp_path / "history.jsonl"
    story.write(1, 2, QUOTA, limited(20))
    story.recording.save(file)
    assert run.main(["check", str(file)]) == 0
    assert capsys.readouterr().out == "1 operations, 0 findings\n"
    story.usage(3, 4)
    story.recording.save(file)
    assert run.main(["check", str(file)]) == 1
    out = capsys.readouterr().out
    assert "GetUsageLimits: stale" in out
    assert "3 operations, 1 findings" in out


@pytest.mark.parametrize("content", [None, "nonsense"])
def test_what_cannot_be_checked_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: str | None
) -> None:
    file = tmp_path / "history.jsonl"
    if content is not None:
        file.write_text(content)
    assert run.main(["check", str(file)]) == 2
    assert str(file) in capsys.readouterr().err


@pytest.mark.parametrize("count", ["0", "-1", "many", "²", ""])
def test_a_number_of_operations_is_one(count: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        run.main(["run", "--operations", count])
    assert "is no number of operations" in capsys.readouterr().err


def test_many_operations_are_made_in_rounds_with_seeds_of_their_own() -> None:
    made = list(run.rounds(12_000, 7))
    assert [(each.seed, each.operations) for each in made] == [(7, 5000), (8, 5000), (9, 2000)]


@pytest.fixture
def rounds_are_made_up(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> list[Round]:
    """Rounds that only say what they would have been and have seen enough, the third of them with a finding."""
    made: list[Round] = []
    seen_in_round: Any = getattr(request, "param", ENOUGH)

    def made_up(round_: Round, _store: str, keep: Path, **_: Any) -> Result:
        made.append(round_)
        findings = [Finding("a problem", Quiet(begin=0, end=0))] if len(made) == 3 else []
        return Result(round_.seed, 1.0, "3 replicas", Checked(findings, seen_in_round), keep)

    monkeypatch.setattr(run, "run", made_up)
    return made


def test_a_whole_run_is_recorded(rounds_are_made_up: list[Round], tmp_path: Path) -> None:
    assert run.main(["run", "--seed", "7", "--record", str(tmp_path / "history.md")]) == 1
    written = (tmp_path / "history.md").read_text()
    assert len(rounds_are_made_up) == 10
    assert written.startswith(PAGE)
    assert "100,000 operations on 3 replicas in 10 rounds" in written
    assert "seeds from 7 to 16." in written
    assert "Findings: 1\n\n```\na problem" in written
    assert "| login | 200 | 1,000 |" in written


@pytest.mark.parametrize("rounds_are_made_up", [Counter({("login", "200"): 5000})], indirect=True)
def test_a_run_that_saw_too_little_is_not_recorded(
    rounds_are_made_up: list[Round], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run.main(["run", "--record", str(tmp_path / "history.md")]) == 1
    assert not (tmp_path / "history.md").exists()
    assert "proves too little: GetUsageLimits: 200 (0 times); " in capsys.readouterr().out


def test_the_document_begins_as_the_next_record_would() -> None:
    document = Path(__file__).parents[2] / "docs/internals/consistency-testing.md"
    assert document.read_text().startswith(PAGE)


def test_a_smaller_run_leaves_the_record_alone(
    rounds_are_made_up: list[Round], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    record_ = tmp_path / "history.md"
    assert run.main(["run", "--operations", "10000", "--record", str(record_)]) == 0
    assert not record_.exists()
    assert "stays as it is" in capsys.readouterr().out


def broken_by(harm: Callable[[Warm], None]) -> type[Warm]:
    """A deployment to which something is done that is no part of the history."""

    class Broken(Warm):
        servers = 1

        def breakages(self) -> list[list[Breakage]]:
            return [[Breakage("it", "broken", lambda: harm(self), lambda: None, (0.0, 0.0))]]

    return Broken


def fail(deployment: Warm) -> None:
    # More calls are answered than can be under way at once, so that some were recorded.
    eventually(lambda: deployment.logs[0].read_text().count("GetNews") > 20)
    raise OSError("no such process")


def meddle(deployment: Warm) -> None:
    """A change that nobody recorded."""
    Operators(deployment.settings, Cloud(1)).make(Change(("quota", "t1"), "change", {}, {"personality": 77}))


def tried(deployment: type[Warm], keep: Path, monkeypatch: pytest.MonkeyPatch) -> Result:
    monkeypatch.setitem(DEPLOYMENTS, "tried", deployment)
    return run.run(Round(1, 200, 2, Cloud(1), (0.2, 0.2)), "tried", keep)


def test_a_round_without_findings_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result = tried(Warm, tmp_path / "kept.jsonl", monkeypatch)
    assert (result.checked.findings, result.kept) == ([], None)
    assert list(tmp_path.iterdir()) == []


def test_a_round_with_findings_is_kept_with_its_logs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result = tried(broken_by(meddle), tmp_path / "kept.jsonl", monkeypatch)
    assert result.kept == tmp_path / "kept.jsonl"
    assert check(load(tmp_path / "kept.jsonl")).findings == result.checked.findings != []
    assert "GetNews" in (tmp_path / "kept.server.log").read_text()


def test_a_round_that_fails_is_kept_as_far_as_it_came(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(ExceptionGroup, match="TaskGroup"):
        tried(broken_by(fail), tmp_path / "kept.jsonl", monkeypatch)
    assert any(isinstance(operation, Call) for operation in load(tmp_path / "kept.jsonl").operations)
    assert (tmp_path / "kept.server.log").exists()
    assert str(tmp_path / "kept.jsonl") in capsys.readouterr().err


def test_a_round_that_takes_too_long_is_kept_as_far_as_it_came(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "PATIENCE_SECONDS", -19.8)
    with pytest.raises(TimeoutError):
        tried(Warm, tmp_path / "kept.jsonl", monkeypatch)
    assert (tmp_path / "kept.server.log").exists()
    assert not any(isinstance(operation, Quiet) for operation in load(tmp_path / "kept.jsonl").operations)


def test_a_round_that_cannot_be_checked_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: Recording) -> Checked:
        raise RecordingError("two writers")

    monkeypatch.setattr(run, "check", refuse)
    with pytest.raises(RecordingError):
        tried(Warm, tmp_path / "kept.jsonl", monkeypatch)
    assert check(load(tmp_path / "kept.jsonl")).findings == []


def test_a_finding_is_told_with_how_to_check_it_again(tmp_path: Path) -> None:
    story = Story()
    story.login(1, 2, 500)
    result = Result(7, 1.0, "3 replicas", check(story.recording), tmp_path / "kept.jsonl")
    assert "1 operations on 3 replicas in 1 s, seed 7: 1 findings" in result.summary()
    assert f"Again: python -m history check {tmp_path / 'kept.jsonl'}\n" in result.summary()
    write_report([result], tmp_path / "history.md")
    assert "no answer that there should be: 500" in (tmp_path / "history.md").read_text()
