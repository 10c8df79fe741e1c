"""A short run on real servers, and the commands that run, save and check."""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from consistency.admin_commands import AdminCommands
from consistency.checker import Anomaly, CheckResult, check
from consistency.deployment import DEPLOYMENTS
from consistency.fault_injection import FaultAction
from consistency.generators import Change
from consistency.history import FinalRead, Healed, History, HistoryError, Read, Write, load
from consistency.initial_cloud import Cloud
from consistency.report import INTRODUCTION, Result, write_report
from consistency.runner import Round, record_round

from consistency import cli, runner
from tests.consistency.fault_free_deployment import FaultFreeDeployment
from tests.consistency.history_builder import QUOTA, HistoryBuilder, limited
from tests.consistency.test_coverage import SUFFICIENT
from tests.e2e.processes import eventually

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> Iterator[History]:
    cloud = Cloud(2)
    with FaultFreeDeployment(tmp_path_factory.mktemp("history"), cloud) as deployed:
        yield asyncio.run(record_round(Round(1, 300, 4, cloud), deployed))


def test_a_history_of_real_servers_has_no_anomalies(history: History) -> None:
    checked = check(history)
    assert checked.anomalies == []
    assert checked.counts.total() >= 300
    seen = {what for what, _ in checked.counts}
    assert {"login", "logout", "GetNews", "login (admin UI)", "admin page"} <= seen
    assert {"quota change", "resource add"} <= {what.removesuffix(" (admin UI)") for what in seen}


def test_a_round_ends_with_a_final_read_after_healing(history: History) -> None:
    assert isinstance(history.operations[-1], FinalRead)
    (healed,) = (operation for operation in history.operations if isinstance(operation, Healed))
    assert all(operation.end <= healed.begin for operation in history.operations if isinstance(operation, Write))


def test_removing_any_last_write_from_the_history_is_detected(history: History) -> None:
    """Mutation test of the checker on a real history."""
    last = {operation.register: operation for operation in history.operations if isinstance(operation, Write)}
    assert last
    for change in last.values():
        others = [operation for operation in history.operations if operation is not change]
        assert check(History(history.initial_state, others)).anomalies, change


def test_a_saved_history_can_be_checked_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    builder, file = HistoryBuilder(), tmp_path / "history.jsonl"
    builder.write(1, 2, QUOTA, limited(20))
    builder.history.save(file)
    assert cli.main(["check", str(file)]) == 0
    assert capsys.readouterr().out == "1 operations, 0 anomalies\n"
    builder.usage(3, 4)
    builder.history.save(file)
    assert cli.main(["check", str(file)]) == 1
    out = capsys.readouterr().out
    assert "GetUsageLimits: stale read" in out
    assert "3 operations, 1 anomalies" in out


@pytest.mark.parametrize("content", [None, "nonsense"])
def test_an_unreadable_history_is_an_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: str | None
) -> None:
    file = tmp_path / "history.jsonl"
    if content is not None:
        file.write_text(content)
    assert cli.main(["check", str(file)]) == 2
    assert str(file) in capsys.readouterr().err


@pytest.mark.parametrize("count", ["0", "-1", "many", "²", ""])
def test_the_number_of_operations_must_be_a_positive_integer(count: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        cli.main(["run", "--operations", count])
    assert "is not a positive integer" in capsys.readouterr().err


def test_a_long_run_is_split_into_rounds_with_consecutive_seeds() -> None:
    made = list(cli.rounds(12_000, 7))
    assert [(each.seed, each.operations) for each in made] == [(7, 5000), (8, 5000), (9, 2000)]


@pytest.fixture
def fake_rounds(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> list[Round]:
    """Rounds that are not run and have sufficient coverage; the third has an anomaly."""
    made: list[Round] = []
    counts: Any = getattr(request, "param", SUFFICIENT)

    def fake_run(round_: Round, _store: str, save_to: Path, **_: Any) -> Result:
        made.append(round_)
        anomalies = [Anomaly("a problem", Healed(begin=0, end=0))] if len(made) == 3 else []
        return Result(round_.seed, 1.0, "3 replicas", CheckResult(anomalies, counts), save_to)

    monkeypatch.setattr(cli, "run", fake_run)
    return made


def test_a_full_run_is_recorded(fake_rounds: list[Round], tmp_path: Path) -> None:
    assert cli.main(["run", "--seed", "7", "--record", str(tmp_path / "report.md")]) == 1
    written = (tmp_path / "report.md").read_text()
    assert len(fake_rounds) == 10
    assert written.startswith(INTRODUCTION)
    assert "100,000 operations on 3 replicas in 10 rounds" in written
    assert "seeds 7 to 16. Anomalies: 1.\n\n```\na problem" in written
    assert "|request|200|401|503|\n" in written


@pytest.mark.parametrize("fake_rounds", [Counter({("login", "200"): 5000})], indirect=True)
def test_a_run_with_insufficient_coverage_is_not_recorded(
    fake_rounds: list[Round], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["run", "--record", str(tmp_path / "report.md")]) == 1
    assert not (tmp_path / "report.md").exists()
    assert "insufficient coverage: GetUsageLimits: 200 (0 times); " in capsys.readouterr().out


def test_the_document_has_the_current_introduction() -> None:
    document = Path(__file__).parents[2] / "docs/internals/consistency-testing.md"
    assert document.read_text().startswith(INTRODUCTION)


def test_a_smaller_run_is_not_recorded(
    fake_rounds: list[Round], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report = tmp_path / "report.md"
    assert cli.main(["run", "--operations", "10000", "--record", str(report)]) == 0
    assert not report.exists()
    assert "not updated" in capsys.readouterr().out


def deployment_with(fault: Callable[[FaultFreeDeployment], None]) -> type[FaultFreeDeployment]:
    """A deployment with a fault that the history does not explain."""

    class FaultyDeployment(FaultFreeDeployment):
        servers = 1

        def fault_groups(self) -> list[list[FaultAction]]:
            return [[FaultAction("it", "broken", lambda: fault(self), lambda: None, (0.0, 0.0))]]

    return FaultyDeployment


def fail(deployment: FaultFreeDeployment) -> None:
    # More responses than there are concurrent requests: some reads have been recorded.
    eventually(lambda: deployment.logs[0].read_text().count("GetNews") > 20)
    raise OSError("no such process")


def change_unrecorded(deployment: FaultFreeDeployment) -> None:
    """Make a change that is not in the history."""
    AdminCommands(deployment.settings, Cloud(1)).apply(Change(("quota", "t1"), "change", {}, {"personality": 77}))


def run_short_round(deployment: type[FaultFreeDeployment], save_to: Path, monkeypatch: pytest.MonkeyPatch) -> Result:
    monkeypatch.setitem(DEPLOYMENTS, "test", deployment)
    return cli.run(Round(1, 200, 2, Cloud(1), (0.2, 0.2)), "test", save_to)


def test_a_round_without_anomalies_saves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result = run_short_round(FaultFreeDeployment, tmp_path / "saved.jsonl", monkeypatch)
    assert (result.checked.anomalies, result.saved) == ([], None)
    assert list(tmp_path.iterdir()) == []


def test_a_round_with_anomalies_is_saved_with_its_logs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result = run_short_round(deployment_with(change_unrecorded), tmp_path / "saved.jsonl", monkeypatch)
    assert result.saved == tmp_path / "saved.jsonl"
    assert check(load(tmp_path / "saved.jsonl")).anomalies == result.checked.anomalies != []
    assert "GetNews" in (tmp_path / "saved.server.log").read_text()


def test_a_failed_round_is_saved_incomplete(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(ExceptionGroup, match="TaskGroup"):
        run_short_round(deployment_with(fail), tmp_path / "saved.jsonl", monkeypatch)
    assert any(isinstance(operation, Read) for operation in load(tmp_path / "saved.jsonl").operations)
    assert (tmp_path / "saved.server.log").exists()
    assert str(tmp_path / "saved.jsonl") in capsys.readouterr().err


def test_a_timed_out_round_is_saved_incomplete(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "BASE_TIMEOUT_SECONDS", -19.8)
    with pytest.raises(TimeoutError):
        run_short_round(FaultFreeDeployment, tmp_path / "saved.jsonl", monkeypatch)
    assert (tmp_path / "saved.server.log").exists()
    assert not any(isinstance(operation, Healed) for operation in load(tmp_path / "saved.jsonl").operations)


def test_a_round_that_cannot_be_checked_is_saved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail_check(_: History) -> CheckResult:
        raise HistoryError("concurrent writes")

    monkeypatch.setattr(cli, "check", fail_check)
    with pytest.raises(HistoryError):
        run_short_round(FaultFreeDeployment, tmp_path / "saved.jsonl", monkeypatch)
    assert check(load(tmp_path / "saved.jsonl")).anomalies == []


def test_an_anomaly_is_reported_with_the_command_to_check_it_again(tmp_path: Path) -> None:
    builder = HistoryBuilder()
    builder.login(1, 2, 500)
    result = Result(7, 1.0, "3 replicas", check(builder.history), tmp_path / "saved.jsonl")
    assert "1 operations on 3 replicas in 1 s, seed 7: 1 anomalies" in result.summary()
    assert f"To check again: python -m consistency check {tmp_path / 'saved.jsonl'}\n" in result.summary()
    write_report([result], tmp_path / "report.md")
    assert "unexpected response: 500" in (tmp_path / "report.md").read_text()
