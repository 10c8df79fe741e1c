"""A run of several parts: what was measured before one of them is refused is kept for the next run."""

from pathlib import Path

import pytest
from bench.command import Suite, main
from bench.machine import Machine
from bench.rounds import Pace
from msgspec.structs import replace

from bench import data, report

MACHINE = Machine("2026-11-16", "A processor", 2, 8, "Linux 6", "3.11.9", "4.1.0", {})
FIRST = """
from pathlib import Path
from bench.figures import Measured, PartResult

def run(pace):
    with Path({runs!r}).open("a") as runs:
        runs.write("x")
    return PartResult("first", [], [Measured("a call", "ms", [float(pace.seconds)])])
"""
SECOND = """
from pathlib import Path
from bench.figures import PartResult, Refused

def run(pace):
    if not Path({mended!r}).exists():
        raise Refused("the second part broke")
    return PartResult("second", [], [])
"""


class Runs:
    """A suite of two parts, the second of which is refused until it is mended."""

    def __init__(self, folder: Path) -> None:
        self._counted = folder / "runs"
        self._mended = folder / "mended"
        package = folder / f"parts_of_{folder.name}"
        package.mkdir()
        (package / "first.py").write_text(FIRST.format(runs=str(self._counted)))
        (package / "second.py").write_text(SECOND.format(mended=str(self._mended)))
        self.suite = Suite("bench of two", package.name, ("first", "second"), folder / "kept.json", folder, Pace(2, 1))

    def mend(self) -> None:
        self._mended.touch()

    @property
    def of_the_first(self) -> int:
        return len(self._counted.read_text())


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Runs:
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(data, "FOLDER", tmp_path)
    monkeypatch.setattr("bench.command.check_machine", lambda: None)
    monkeypatch.setattr("bench.command.machine.describe", lambda: MACHINE)
    return Runs(tmp_path)


def test_a_refused_part_keeps_no_results_but_what_came_before_it(
    runs: Runs, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(runs.suite, []) == 1
    said = capsys.readouterr()
    assert "refused: the second part broke" in said.err
    assert "--resume" in said.err
    assert not said.out
    assert not runs.suite.results.exists()
    runs.mend()
    assert main(runs.suite, ["--resume"]) == 0
    assert runs.of_the_first == 1
    assert [part.name for part in report.read(runs.suite.results).parts] == ["first", "second"]


def test_a_new_run_measures_all_anew(runs: Runs) -> None:
    main(runs.suite, [])
    runs.mend()
    assert main(runs.suite, []) == 0
    assert runs.of_the_first == 2


def test_a_run_that_has_come_to_its_end_is_not_resumed(runs: Runs, capsys: pytest.CaptureFixture[str]) -> None:
    runs.mend()
    assert main(runs.suite, []) == 0
    assert main(runs.suite, ["--resume"]) == 1
    assert "no refused run" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "day", "told"),
    [
        (["--seconds", "5"], MACHINE.date, "another day's, machine's or pace's"),
        ([], "2026-11-17", "another day's, machine's or pace's"),
        (["--only", "second"], MACHINE.date, "had measured first"),
    ],
)
def test_what_was_measured_otherwise_is_not_gone_on_with(
    arguments: list[str],
    day: str,
    told: str,
    runs: Runs,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    main(runs.suite, [])
    runs.mend()
    monkeypatch.setattr("bench.command.machine.describe", lambda: replace(MACHINE, date=day))
    assert main(runs.suite, ["--resume", *arguments]) == 1
    assert told in capsys.readouterr().err
    assert not runs.suite.results.exists()
