"""Results, kept and shown."""

import importlib
from pathlib import Path

import pytest
from bench.command import Suite, main, parse
from bench.figures import Ceiling, Measured, PartResult, Refused, Table, Times, ratio
from bench.machine import Machine
from bench.openstack import __main__ as openstack
from bench.report import BEGIN, END, Plot, Results
from bench.rounds import Pace
from bench.scale import __main__ as scale

from bench import __main__ as console
from bench import report

MACHINE = Machine("2026-11-15", "A processor", 2, 8, "Linux 6", "3.11.9", "4.1.0", {"uvicorn": "0.54.0"})
SUITES = [pytest.param(suite, id=suite.package) for suite in (console.SUITE, openstack.SUITE, scale.SUITE)]


def results() -> Results:
    console, bare = Measured("console", "calls/s", [50, 60]), Measured("bare", "calls/s", [100, 100])
    ratios = [ratio("console / bare", console, bare, 0.6)]
    part = PartResult("actions", ratios, [console, bare], [Ceiling("memory", "MB", 80, 120)], ["A note."])
    times = Times("alone", [[float(number) for number in range(1, 101)]])
    limited = ratio("whole / alone", Measured("whole", "ms", [60, 70]), Measured("alone", "ms", [50, 50]), limit=1.3)
    timed = PartResult("waiting", [limited], [], times=[times], tables=[Table(["table", "rows"], [["news", "10"]])])
    return Results(MACHINE, Pace(2, 1), [part, timed])


def test_results_are_read_back_as_they_were_kept(tmp_path: Path) -> None:
    report.keep(tmp_path / "new" / "results.json", results())
    assert report.read(tmp_path / "new" / "results.json") == results()


def test_the_terminal_shows_ratios_before_figures() -> None:
    text = report.for_terminal(results())
    assert "0.55 (0.50–0.60)" in text
    assert "at least 0.6: missed" in text
    assert "under 120 MB: met" in text
    assert "at most 1.3: met" in text
    assert "p50 50 ms, p99 99 ms" in text
    assert "news  10" in text
    assert text.index("0.55") < text.index("calls/s")


def test_the_document_keeps_all_but_the_results(tmp_path: Path) -> None:
    document = tmp_path / "page.md"
    document.write_text(f"before\n{BEGIN}\nold figures\n{END}\nafter\n")
    for _ in range(2):
        report.write_document(document, results())
        text = document.read_text()
        assert text.startswith(f"before\n{BEGIN}\nMeasured on 2026-11-15: A processor, 2 cores, 8 GB")
        assert text.endswith(f"{END}\nafter\n")
        assert "| console / bare | 0.55 (0.50–0.60) | at least 0.6: missed |" in text
        assert "| alone | 50 ms | 99 ms | 100 |" in text
        assert "| table | rows |\n| --- | --- |\n| news | 10 |" in text
        assert "old figures" not in text


def test_plots_are_written_beside_the_document_and_shown_in_their_part(tmp_path: Path) -> None:
    document = tmp_path / "page.md"
    document.write_text(f"{BEGIN}\n{END}\n")
    report.write_document(document, results(), [Plot("waiting", "waiting.svg", "How long", "<svg/>")])
    assert (tmp_path / "images" / "waiting.svg").read_text() == "<svg/>"
    text = document.read_text()
    assert text.index("### Waiting") < text.index("![How long](images/waiting.svg)")


def test_a_document_that_lost_its_marks_is_left_alone(tmp_path: Path) -> None:
    document = tmp_path / "page.md"
    document.write_text(f"no end\n{BEGIN}\n")
    with pytest.raises(Refused, match="has lost the lines"):
        report.write_document(document, results())
    assert document.read_text() == f"no end\n{BEGIN}\n"


@pytest.mark.parametrize("content", [None, b"", b"{}"])
def test_results_that_are_missing_or_broken_are_refused(
    content: bytes | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "results.json"
    if content is not None:
        file.write_bytes(content)
    assert main(console.SUITE, ["--document", "--results", str(file)]) == 1
    assert "run the benchmark first" in capsys.readouterr().err


@pytest.mark.parametrize("suite", SUITES)
def test_the_document_says_what_the_kept_results_say(suite: Suite) -> None:
    shown = suite.document.read_text().partition(f"{BEGIN}\n")[2].partition(END)[0]
    if not suite.results.exists():
        assert shown == ""
        return
    kept = report.read(suite.results)
    plots = suite.plots(kept)
    assert shown == report.for_document(kept, plots)
    assert [(report.images_of(suite.document) / plot.name).read_text() for plot in plots] == [
        plot.svg for plot in plots
    ]


@pytest.mark.parametrize("suite", SUITES)
def test_every_part_is_a_module_that_runs(suite: Suite) -> None:
    for part in suite.parts:
        assert callable(importlib.import_module(f"{suite.package}.{part}").run)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--only", "actions,speed"], "no part 'speed'; there are actions, cold,"),
        (["--rounds", "0"], "'0' is no whole number from 1 on"),
        (["--seconds", "1.5"], "'1.5' is no whole number from 1 on"),
    ],
)
def test_wrong_arguments_are_refused(arguments: list[str], told: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parse(console.SUITE, arguments)
    assert told in capsys.readouterr().err
