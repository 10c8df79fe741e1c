"""The commands that run, save, check and record."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from consistency.checker import Anomaly, CheckResult, check
from consistency.deployment import DEPLOYMENTS
from consistency.history import AnyOperation, Healed, HistoryError, HistoryRecorder, load
from consistency.report import INTRODUCTION, Result
from consistency.runner import Round

from consistency import cli
from tests.consistency.history_builder import QUOTA, HistoryBuilder, limited
from tests.consistency.test_coverage import SUFFICIENT

HEALED = Healed(begin=0, end=0)


def test_a_saved_history_can_be_checked_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    builder, file = HistoryBuilder(), tmp_path / "history.jsonl"
    builder.write(1, 2, QUOTA, limited(20))
    builder.history.save(file)
    assert cli.main(["check", str(file)]) == 0
    builder.usage(3, 4)
    builder.history.save(file)
    assert cli.main(["check", str(file)]) == 1
    assert "GetUsageLimits: stale read" in capsys.readouterr().out
    file.write_text("nonsense")
    assert cli.main(["check", str(file)]) == 2


@pytest.fixture
def fake_rounds(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> list[Round]:
    """Rounds that are not run and have sufficient coverage; the third has an anomaly."""
    made: list[Round] = []
    counts: Any = getattr(request, "param", SUFFICIENT)

    def fake_run(round_: Round, _store: str, save_to: Path, **_: Any) -> Result:
        made.append(round_)
        anomalies = [Anomaly("a problem", HEALED)] if len(made) == 3 else []
        return Result(round_.seed, 1.0, "3 replicas", CheckResult(anomalies, counts), save_to)

    monkeypatch.setattr(cli, "run", fake_run)
    return made


def test_a_full_run_is_recorded_with_its_anomalies(
    fake_rounds: list[Round], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["run", "--seed", "7", "--record", str(tmp_path / "report.md")]) == 1
    written = (tmp_path / "report.md").read_text()
    assert len(fake_rounds) == 10
    assert written.startswith(INTRODUCTION)
    assert "100,000 operations on 3 replicas in 10 rounds" in written
    assert "seeds 7 to 16. Anomalies: 1.\n\n```\na problem" in written
    assert "|request|200|401|503|\n" in written
    assert "To check again: python -m consistency check history-9.jsonl\n" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("fake_rounds", "operations", "code", "reason"),
    [
        (SUFFICIENT, "10000", 0, "fewer than 50,000"),
        (Counter({("login", "200"): 5000}), "50000", 1, "insufficient coverage: GetUsageLimits: 200 (0 times); "),
    ],
    indirect=["fake_rounds"],
)
def test_a_small_or_insufficient_run_is_not_recorded(
    fake_rounds: list[Round],
    operations: str,
    code: int,
    reason: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    report = tmp_path / "report.md"
    assert cli.main(["run", "--operations", operations, "--record", str(report)]) == code
    assert not report.exists()
    assert f"not updated: {reason}" in capsys.readouterr().out.replace("the run has ", "")


def test_the_document_has_the_current_introduction() -> None:
    document = Path(__file__).parents[2] / "docs/internals/consistency-testing.md"
    assert document.read_text().startswith(INTRODUCTION)


class FakeDeployment:
    """A deployment without servers, with a log."""

    name = "nothing"
    replicas = ()

    def __init__(self, folder: Path, _cloud: object) -> None:
        self.logs = [folder / "server.log"]

    def __enter__(self) -> "FakeDeployment":
        self.logs[0].write_text("a log line")
        return self

    def __exit__(self, *_: object) -> None:
        pass


def run_fake_round(
    monkeypatch: pytest.MonkeyPatch, save_to: Path, operation: AnyOperation = HEALED, error: Exception | None = None
) -> Result:
    async def run_round(recorder: HistoryRecorder, *_: object) -> None:
        recorder.add(operation)
        if error is not None:
            raise error

    monkeypatch.setitem(DEPLOYMENTS, "test", FakeDeployment)
    monkeypatch.setattr(cli, "run_round", run_round)
    return cli.run(Round(1, 200, 2), "test", save_to)


def test_only_a_round_with_anomalies_is_saved_with_its_logs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "saved.jsonl"
    result = run_fake_round(monkeypatch, file)
    assert (result.checked.anomalies, result.saved, list(tmp_path.iterdir())) == ([], None, [])
    builder = HistoryBuilder()
    builder.login(1, 2, 500)
    result = run_fake_round(monkeypatch, file, builder.history.operations[-1])
    assert result.saved == file
    assert check(load(file)).anomalies == result.checked.anomalies != []
    assert (tmp_path / "saved.server.log").read_text() == "a log line"


@pytest.mark.parametrize("error", [OSError(), TimeoutError(), HistoryError()], ids=["failed", "late", "unchecked"])
def test_a_round_that_fails_is_saved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    def fail_check(_: object) -> None:
        raise error

    monkeypatch.setattr(cli, "check", fail_check)
    with pytest.raises(type(error)):
        run_fake_round(monkeypatch, tmp_path / "saved.jsonl", error=None if isinstance(error, HistoryError) else error)
    assert load(tmp_path / "saved.jsonl").operations == [HEALED]
    assert (tmp_path / "saved.server.log").exists()
