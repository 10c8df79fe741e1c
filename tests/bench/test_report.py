"""Which results are saved, and that the pages show the saved ones."""

import sys
from pathlib import Path
from types import ModuleType

import pytest
from bench.cli import Suite, main
from bench.machine import Machine
from bench.measurements import InvalidRun, PartResult
from bench.openstack import __main__ as openstack
from bench.rounds import RunLength
from bench.scale import __main__ as scale
from msgspec.structs import replace

from bench import __main__ as console
from bench import datasets, report

MACHINE = Machine("2026-11-16", "A processor", 2, 8, "Linux 6", "3.11.9", "4.1.0", {})
SUITES = [pytest.param(suite, id=suite.package) for suite in (console.SUITE, openstack.SUITE, scale.SUITE)]


@pytest.mark.parametrize("suite", SUITES)
def test_the_page_matches_the_saved_results(suite: Suite) -> None:
    saved = report.load(suite.results)
    charts = suite.charts(saved)
    assert [part.name for part in saved.parts] == list(suite.parts)
    assert report.read_sections(suite.page) == report.page_sections(saved, suite.tables, charts)
    images = report.images_directory(suite.page)
    assert [(images / chart.file_name).read_text() for chart in charts] == [chart.svg for chart in charts]


def fake_part(name: str, directory: Path) -> ModuleType:
    """A part that records its run; the second is invalid until the file `fixed` exists."""

    def run(_length: RunLength) -> PartResult:
        with (directory / "order").open("a") as order:
            order.write(f"{name} ")
        if name == "second" and not (directory / "fixed").exists():
            raise InvalidRun("a wrong response")
        return PartResult(name, [], [])

    module = ModuleType(name)
    module.run = run  # type: ignore[attr-defined]
    return module


@pytest.fixture
def suite(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Suite:
    suite = Suite("two", "two_parts", ("first", "second"), tmp_path / "results.json", tmp_path, RunLength(2, 1))
    for name in suite.parts:
        monkeypatch.setitem(sys.modules, f"two_parts.{name}", fake_part(name, tmp_path))
    monkeypatch.setattr(datasets, "DIRECTORY", tmp_path)
    monkeypatch.setattr("bench.cli.check_machine", lambda: None)
    monkeypatch.setattr("bench.cli.machine.describe", lambda: MACHINE)
    assert main(suite, []) == 1
    assert not suite.results.exists()
    (tmp_path / "fixed").touch()
    return suite


def test_an_invalid_run_is_not_saved_and_can_be_resumed(suite: Suite, tmp_path: Path) -> None:
    assert main(suite, ["--resume"]) == 0
    assert (tmp_path / "order").read_text() == "first second second "
    assert [part.name for part in report.load(suite.results).parts] == ["first", "second"]


@pytest.mark.parametrize(
    ("arguments", "day"), [(["--seconds", "5"], MACHINE.date), ([], "2026-11-17"), (["--only", "second"], MACHINE.date)]
)
def test_a_different_run_cannot_be_resumed(
    suite: Suite, arguments: list[str], day: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bench.cli.machine.describe", lambda: replace(MACHINE, date=day))
    assert main(suite, ["--resume", *arguments]) == 1
    assert not suite.results.exists()
