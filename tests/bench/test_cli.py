"""Runs of several parts, and resuming an aborted run."""

from pathlib import Path

import pytest
from bench.cli import Suite, main
from bench.machine import Machine
from bench.rounds import RunLength
from msgspec.structs import replace

from bench import datasets, report

MACHINE = Machine("2026-11-16", "A processor", 2, 8, "Linux 6", "3.11.9", "4.1.0", {})
FIRST = """
from pathlib import Path
from bench.measurements import Measurement, PartResult

def run(length):
    with Path({runs!r}).open("a") as runs:
        runs.write("x")
    return PartResult("first", [], [Measurement("a request", "ms", [float(length.seconds)])])
"""
SECOND = """
from pathlib import Path
from bench.measurements import InvalidRun, PartResult

def run(length):
    if not Path({fixed!r}).exists():
        raise InvalidRun("the second part failed")
    return PartResult("second", [], [])
"""


class Runs:
    """A suite of two parts; the second fails until `fix` is called."""

    def __init__(self, directory: Path) -> None:
        self._counted = directory / "runs"
        self._fixed = directory / "fixed"
        package = directory / f"parts_of_{directory.name}"
        package.mkdir()
        (package / "first.py").write_text(FIRST.format(runs=str(self._counted)))
        (package / "second.py").write_text(SECOND.format(fixed=str(self._fixed)))
        results = directory / "results.json"
        self.suite = Suite("bench of two", package.name, ("first", "second"), results, directory, RunLength(2, 1))

    def fix(self) -> None:
        self._fixed.touch()

    @property
    def of_the_first(self) -> int:
        return len(self._counted.read_text())


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Runs:
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(datasets, "DIRECTORY", tmp_path)
    monkeypatch.setattr("bench.cli.check_machine", lambda: None)
    monkeypatch.setattr("bench.cli.machine.describe", lambda: MACHINE)
    return Runs(tmp_path)


def test_a_failed_part_saves_only_the_parts_before_it_for_a_resume(
    runs: Runs, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(runs.suite, []) == 1
    output = capsys.readouterr()
    assert "invalid run: the second part failed" in output.err
    assert "--resume" in output.err
    assert not output.out
    assert not runs.suite.results.exists()
    runs.fix()
    assert main(runs.suite, ["--resume"]) == 0
    assert runs.of_the_first == 1
    assert [part.name for part in report.load(runs.suite.results).parts] == ["first", "second"]


def test_a_new_run_measures_all_parts_again(runs: Runs) -> None:
    main(runs.suite, [])
    runs.fix()
    assert main(runs.suite, []) == 0
    assert runs.of_the_first == 2


def test_a_complete_run_cannot_be_resumed(runs: Runs, capsys: pytest.CaptureFixture[str]) -> None:
    runs.fix()
    assert main(runs.suite, []) == 0
    assert main(runs.suite, ["--resume"]) == 1
    assert "no aborted run" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "day", "message"),
    [
        (["--seconds", "5"], MACHINE.date, "different date, machine or length"),
        ([], "2026-11-17", "different date, machine or length"),
        (["--only", "second"], MACHINE.date, "the aborted run measured first"),
    ],
)
def test_a_different_run_cannot_be_resumed(
    arguments: list[str],
    day: str,
    message: str,
    runs: Runs,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    main(runs.suite, [])
    runs.fix()
    monkeypatch.setattr("bench.cli.machine.describe", lambda: replace(MACHINE, date=day))
    assert main(runs.suite, ["--resume", *arguments]) == 1
    assert message in capsys.readouterr().err
    assert not runs.suite.results.exists()
