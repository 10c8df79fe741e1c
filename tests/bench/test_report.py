"""Results: saved, printed, and written into the pages."""

import importlib
import re
from pathlib import Path

import pytest
from bench.cli import Suite, main, parse
from bench.machine import Machine
from bench.measurements import InvalidRun, Latencies, Measurement, PartResult, Table, UpperLimit, ratio
from bench.openstack import __main__ as openstack
from bench.report import Chart, Results
from bench.rounds import RunLength
from bench.scale import __main__ as scale
from bench.tables import ratio_table

from bench import __main__ as console
from bench import report

MACHINE = Machine("2026-11-15", "A processor", 2, 8, "Linux 6", "3.11.9", "4.1.0", {"uvicorn": "0.54.0"})
SUITES = [pytest.param(suite, id=suite.package) for suite in (console.SUITE, openstack.SUITE, scale.SUITE)]
PAGE = "\n".join(
    f"text\n<!--begin:{name}-->\nold numbers\n<!--end:{name}-->\n" for name in ("environment", "actions", "timed")
)


def results() -> Results:
    ours, bare = Measurement("console", "requests/s", [50, 60]), Measurement("bare", "requests/s", [100, 100])
    ratios = [ratio("console / bare", ours, bare, 0.6)]
    part = PartResult("actions", ratios, [ours, bare], [UpperLimit("memory", "MB", 80, 120)], ["A note."])
    latencies = Latencies("alone", [[float(number) for number in range(1, 101)]])
    bounded = ratio(
        "total / alone", Measurement("total", "ms", [60, 70]), Measurement("alone", "ms", [50, 50]), at_most=1.3
    )
    tables = [Table(["table", "rows"], [["news", "10"]])]
    timed = PartResult("timed", [bounded], [], latencies=[latencies], tables=tables)
    return Results(MACHINE, RunLength(2, 1), [part, timed])


def tables(part: PartResult) -> list[Table]:
    return [ratio_table(part), *part.tables]


@pytest.fixture
def page(tmp_path: Path) -> Path:
    file = tmp_path / "internals" / "page.md"
    file.parent.mkdir()
    file.write_text(PAGE)
    return file


def test_saved_results_can_be_loaded(tmp_path: Path) -> None:
    report.save(tmp_path / "new" / "results.json", results())
    assert report.load(tmp_path / "new" / "results.json") == results()


def test_the_terminal_shows_ratios_before_measurements() -> None:
    text = report.format_for_terminal(results())
    assert "0.55 (0.50–0.60)" in text
    assert "≥0.6: missed" in text
    assert "<120 MB: met" in text
    assert "≤1.3: met" in text
    assert "p50 50 ms, p99 99 ms" in text
    assert "news  10" in text
    assert text.index("0.55") < text.index("requests/s")


def test_only_the_generated_sections_of_a_page_change(page: Path) -> None:
    for _ in range(2):
        report.write_page(page, report.page_sections(results(), tables))
        text = page.read_text()
        assert re.sub(r"(<!--begin:.*?\n).*?(<!--end)", r"\1old numbers\n\2", text, flags=re.DOTALL) == PAGE
        assert "Measured on 2026-11-15: A processor, 2 cores, 8 GB" in text
        assert "A note." in text
        assert "| console / bare | 0.55 (0.50–0.60) | ≥0.6: missed |" in text
        assert "| table | rows |\n|---|---|\n| news | 10 |" in text
        assert "old numbers" not in text


def test_charts_are_written_to_the_images_and_shown_in_their_section(page: Path) -> None:
    charts = [Chart("timed", "timed.svg", "Latency", "<svg/>")]
    report.write_page(page, report.page_sections(results(), tables, charts), charts)
    assert (page.parent / "images" / "timed.svg").read_text() == "<svg/>"
    assert "![Latency](images/timed.svg)" in report.read_sections(page)["timed"]


def test_a_page_without_a_marker_is_not_changed(page: Path) -> None:
    page.write_text(PAGE.replace("<!--end:timed-->", ""))
    with pytest.raises(InvalidRun, match="must have the lines"):
        report.write_page(page, report.page_sections(results(), tables))
    assert page.read_text() == PAGE.replace("<!--end:timed-->", "")


@pytest.mark.parametrize("content", [None, b"", b"{}"])
def test_missing_and_broken_results_are_reported(
    content: bytes | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "results.json"
    if content is not None:
        file.write_bytes(content)
    assert main(console.SUITE, ["--document", "--results", str(file)]) == 1
    assert "run the benchmark first" in capsys.readouterr().err


@pytest.mark.parametrize("suite", SUITES)
def test_the_page_matches_the_saved_results(suite: Suite) -> None:
    saved = report.load(suite.results)
    charts = suite.charts(saved)
    assert [part.name for part in saved.parts] == list(suite.parts)
    assert report.read_sections(suite.page) == report.page_sections(saved, suite.tables, charts)
    images = report.images_directory(suite.page)
    assert [(images / chart.file_name).read_text() for chart in charts] == [chart.svg for chart in charts]


@pytest.mark.parametrize("suite", SUITES)
def test_every_part_is_a_module_that_measures_and_renders(suite: Suite) -> None:
    for part in suite.parts:
        module = importlib.import_module(f"{suite.package}.{part}")
        assert callable(module.run)
        assert callable(module.tables)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--only", "actions,speed"], "unknown part 'speed'; choose from actions, cache_misses,"),
        (["--rounds", "0"], "'0' is not a positive integer"),
        (["--seconds", "1.5"], "'1.5' is not a positive integer"),
    ],
)
def test_invalid_arguments_are_rejected(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parse(console.SUITE, arguments)
    assert message in capsys.readouterr().err
