"""The commands that run, save, check and record, and the coverage that a recorded run needs."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from consistency.checker import Anomaly, CheckResult
from consistency.coverage import FAULTS, unmet
from consistency.history import Healed
from consistency.report import INTRODUCTION, Result
from consistency.runner import Round

from consistency import cli
from tests.consistency.history_builder import QUOTA, HistoryBuilder, limited

SUFFICIENT = Counter(
    {
        **{(action, "200"): 400 for action in ("GetUsageLimits", "GetConsumptionsEstimated", "GetNews")},
        ("GetNews", "401 login_required"): 300,
        ("login", "200"): 100,
        ("login (admin UI)", "200"): 20,
        ("logout", "200"): 30,
        **{
            (f"{entity} {verb}{path}", "ok"): 2
            for path in ("", " (admin UI)")
            for entity, verbs in {
                "account": ("disable", "enable", "end-sessions", "password"),
                "news": ("add",),
                "price": ("change",),
                "quota": ("change",),
                "resource": ("add", "remove"),
            }.items()
            for verb in verbs
        },
        **{(f"fault: {target}{'1' if target.endswith('-') else ''}", kind): 1 for target, kind in FAULTS},
    }
)
SUFFICIENT["GetNews", "503 unavailable"] = 10_000 - SUFFICIENT.total()


@pytest.mark.parametrize(
    ("operation", "left", "gap"),
    [
        (("GetUsageLimits", "200"), 399, "GetUsageLimits: 200 (399 times)"),
        (("GetNews", "401 login_required"), 299, "reads in ended sessions: 401 (299 times)"),
        (("login", "200"), 99, "login: 200 (99 times)"),
        (("login (admin UI)", "200"), 19, "login (admin UI): 200 (19 times)"),
        (("logout", "200"), 29, "logout: 200 (29 times)"),
        (("price change", "ok"), 0, "price: ok via a command (0 times)"),
        (("price change (admin UI)", "ok"), 1, "price: ok via the admin UI (1 times)"),
        (("fault: replica-1", "killed"), 0, "fault: replica-: killed (0 times)"),
        (("fault: PostgreSQL", "restarted"), 0, "fault: PostgreSQL: restarted (0 times)"),
        (("fault: proxy of replica-1", "reset"), 0, "fault: proxy of replica-: reset (0 times)"),
    ],
)
def test_a_gap_is_reported(operation: tuple[str, str], left: int, gap: str) -> None:
    difference = SUFFICIENT[operation] - left
    counts = SUFFICIENT + Counter({("GetNews", "503 unavailable"): difference})
    counts[operation] = left
    assert unmet(counts) == [gap]


def test_revoking_operator_sessions_is_not_a_write_via_a_command() -> None:
    counts = Counter(SUFFICIENT)
    for verb in ("disable", "enable", "end-sessions", "password"):
        counts[f"account {verb} (admin UI)", "ok"] += counts.pop((f"account {verb}", "ok"))
    counts["account revoke-sessions", "ok"] = 10
    counts["GetNews", "503 unavailable"] -= 10
    assert unmet(counts) == ["account: ok via a command (0 times)"]


def test_faults_of_other_targets_do_not_count_for_replicas() -> None:
    counts = Counter(SUFFICIENT)
    counts["fault: PostgreSQL", "killed"] = counts.pop(("fault: replica-1", "killed"))
    counts["fault: proxy of operators", "delay"] = counts.pop(("fault: proxy of replica-1", "delay"))
    assert set(unmet(counts)) == {"fault: replica-: killed (0 times)", "fault: proxy of replica-: delay (0 times)"}


# Commands


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
    ("fake_rounds", "operations", "code", "why"),
    [
        (SUFFICIENT, "10000", 0, "fewer than 50,000"),
        (Counter({("login", "200"): 5000}), "50000", 1, "insufficient coverage: GetUsageLimits: 200 (0 times); "),
    ],
    indirect=["fake_rounds"],
)
def test_a_small_or_insufficient_run_is_not_recorded(
    fake_rounds: list[Round], operations: str, code: int, why: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report = tmp_path / "report.md"
    assert cli.main(["run", "--operations", operations, "--record", str(report)]) == code
    assert not report.exists()
    assert f"not updated: {why}" in capsys.readouterr().out.replace("the run has ", "")


def test_the_document_has_the_current_introduction() -> None:
    document = Path(__file__).parents[2] / "docs/internals/consistency-testing.md"
    assert document.read_text().startswith(INTRODUCTION)
